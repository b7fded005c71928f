//! The end of a program: exit statuses, errors, and text on stdout.

use crate::{limits, printable_message};
use anyhow::Context;
use rustix::termios::tcgetwinsize;
use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// An error with its own exit status; any other error is bad usage or I/O.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

/// Returns the number of columns of the terminal on standard output; `None`: it is not a terminal.
pub fn columns() -> Option<usize> {
    /// With fewer columns, output is unreadable.
    const LEAST: u16 = 20;
    let columns = tcgetwinsize(std::io::stdout()).ok()?.ws_col;
    (columns >= LEAST).then_some(columns.into())
}

/// A check failed: other locks broke the program.
pub const CHECK_FAILED: u8 = 1;
/// Bad usage, or a file that cannot be read or written.
pub const USAGE_OR_IO: u8 = 2;
/// A simulated run made no progress.
pub const STUCK: u8 = 3;
/// As in the shell: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

impl Failure {
    /// Returns an error with this exit status.
    pub fn error(code: u8, message: String) -> anyhow::Error {
        anyhow::Error::msg(Failure { code, message })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Returns the exit status of a program, after writing its error, if any, to stderr.
#[must_use]
pub fn exit_code(program: &str, outcome: anyhow::Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        let remedy = limits::remedy(&error).map_or_else(String::new, |remedy| format!("; {remedy}"));
        let message = printable_message(&format!("{error:#}{remedy}"), std::env::args_os());
        eprintln!("{program}: {message}");
        ExitCode::from(error.downcast_ref::<Failure>().map_or(USAGE_OR_IO, |failure| failure.code))
    })
}

/// Writes to stdout. A closed pipe (`| head`) is not an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(text.as_bytes())
}

/// Prints bytes, which need not be text, as [`print()`] does.
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout();
    // Flushed here: a failure at the program's end would not be reported.
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to standard output"),
        _ => Ok(()),
    }
}
