//! Two subjects measured side by side.
