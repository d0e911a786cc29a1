//! The `warpt` command. All it does lives in the library beside it, so that tests and documentation generators can
//! reach it.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    warpt::run(std::env::args_os())
}
