//! The command line, read by clap; and error messages about it that state what to type.

use crate::ending::USAGE_OR_IO;
use crate::printable_message;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use std::any::TypeId;
use std::error::Error;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;

/// The other program, and its subcommands.
#[derive(Clone, Copy)]
pub struct Sibling {
    /// Its name.
    pub program: &'static str,
    /// The package that builds it.
    pub package: &'static str,
    /// Its subcommands that users may look for here.
    pub commands: &'static [&'static str],
}

/// Reads the command line, or ends the process with help or an error message.
pub fn parse<Cli: CommandFactory + FromArgMatches>(sibling: Sibling) -> Cli {
    let read = try_parse::<Cli>(std::env::args_os(), sibling);
    read.unwrap_or_else(|error| end_with(&error))
}

/// Ends the process with help or an error message. Help that could not be written is an error, except to a closed pipe.
pub fn end_with(error: &clap::Error) -> ! {
    let said = error.render().to_string();
    // Colour sequences have been removed from the words in the message.
    let plain = |word: &OsString| StyledStr::from(word.to_string_lossy().into_owned()).to_string().into();
    let words = std::env::args_os().flat_map(|word| [plain(&word), word]);
    let shown = printable_message(&said, words);
    if error.use_stderr() && shown != said {
        eprint!("{shown}");
        std::process::exit(error.exit_code())
    }
    match error.print() {
        Err(refused) if !error.use_stderr() && refused.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("cannot write to standard output: {refused}");
            std::process::exit(USAGE_OR_IO.into())
        }
        _ => std::process::exit(error.exit_code()),
    }
}

/// Parses words as [`parse`] does; an error is an error message, or requested help.
pub fn try_parse<Cli: CommandFactory + FromArgMatches>(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    sibling: Sibling,
) -> Result<Cli, clap::Error> {
    let matches = command::<Cli>().try_get_matches_from(words).map_err(|error| explained(error, sibling))?;
    Cli::from_arg_matches(&matches)
}

/// Returns the table of flags with which a command line is read.
pub fn command<Cli: CommandFactory>() -> Command {
    let plain = Cli::command();
    let mut built = plain.clone();
    built.build();
    below(plain, &built)
}

/// Makes a subcommand's usage the same in its help and in errors: clap composes one from the given flags, even from
/// those that are wrong. And -1 is a bad number, not an unknown flag.
fn below(command: Command, built: &Command) -> Command {
    let command = command.mut_args(with_negative_numbers);
    command.mut_subcommands(|inner| {
        let Some(built) = built.find_subcommand(inner.get_name()) else { return inner };
        let usage = built.clone().render_usage().to_string();
        let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
        below(inner, built).override_usage(usage)
    })
}

fn with_negative_numbers(arg: Arg) -> Arg {
    let is_file = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let takes_value = arg.get_action().takes_values() && !arg.is_positional();
    if takes_value && !is_file { arg.allow_negative_numbers(true) } else { arg }
}

/// Reports which program has a subcommand, and what number is expected, instead of the library's words.
fn explained(error: clap::Error, sibling: Sibling) -> clap::Error {
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
        && sibling.commands.contains(&name.as_str())
    {
        let Sibling { program, package, .. } = sibling;
        let message = format!(
            "'{name}' is a subcommand of {program}: {program} {name}\n\n\
             {program} is built by: cargo build --release -p {package}\n"
        );
        return clap::Error::raw(ErrorKind::InvalidSubcommand, message);
    }
    let number = error.source().and_then(|source| source.downcast_ref::<ParseIntError>());
    let (Some(number), Some(ContextValue::String(arg)), Some(ContextValue::String(value))) =
        (number, error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return error;
    };
    let what = match number.kind() {
        IntErrorKind::PosOverflow => "the number is too large",
        _ if value.starts_with('-') => "it cannot be negative",
        _ => "expected a whole number",
    };
    let message = format!("invalid value '{value}' for '{arg}': {what}\n\nFor more information, try '--help'.\n");
    clap::Error::raw(ErrorKind::ValueValidation, message)
}
