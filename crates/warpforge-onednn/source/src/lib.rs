//! Empty: this manifest exists to have the source of oneDNN fetched and verified, and is never compiled.
