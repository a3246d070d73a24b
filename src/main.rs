//! The command `riposte`. Its exit code is an interface: 0: done; 1: with `--strict`, done but with faults, or a "no" of `verify` and some others; 2:
//! failed, or nothing to do; 130: stopped by a second Ctrl-C. `cli/manual.toml` says what they mean for each command.
//!
//! In all commands, outputs that cannot be written, options that make no sense and damage on disk give 2; they are found before the work if possible.

#![deny(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match riposte::threads::on_enough_stack(cli::run) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            cli::say_failure(&error);
            ExitCode::from(2)
        }
    }
}
