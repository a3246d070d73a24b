//! The command `riposte`: exit codes 0 done, 1 done with faults, 2 could not.

use std::process::ExitCode;

fn main() -> ExitCode {
    match riposte::cli::run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("riposte: {error:#}");
            ExitCode::from(2)
        }
    }
}
