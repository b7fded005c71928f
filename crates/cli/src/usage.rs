//! The command line, read by clap; and complaints about it that say what to type.

use crate::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use std::any::TypeId;
use std::error::Error;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;

/// Reads the command line, or ends the process with help or a complaint.
pub(crate) fn parse() -> Cli {
    let matches = command().try_get_matches().unwrap_or_else(|error| explained(error).exit());
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The table of flags as a command line is read by it.
fn command() -> Command {
    let plain = Cli::command();
    let mut built = plain.clone();
    built.build();
    below(plain, &built)
}

/// A subcommand's usage is the same in its help and in complaints: clap makes one up of the flags that were given,
/// also of those that it complains of. And -1 is a bad number, not an unknown flag.
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

/// Says what number is expected, in place of the library's words.
fn explained(error: clap::Error) -> clap::Error {
    let number = error.source().and_then(|source| source.downcast_ref::<ParseIntError>());
    let (Some(number), Some(ContextValue::String(arg)), Some(ContextValue::String(value))) =
        (number, error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return error;
    };
    let what = match number.kind() {
        IntErrorKind::PosOverflow => "the number is too large",
        _ if value.starts_with('-') => "it cannot be negative",
        _ => "a whole number is expected",
    };
    let message = format!("invalid value '{value}' for '{arg}': {what}\n\nFor more information, try '--help'.\n");
    clap::Error::raw(ErrorKind::ValueValidation, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(arguments: &[&str]) -> String {
        let matches = command().try_get_matches_from([&["turnwise"], arguments].concat());
        explained(matches.expect_err("it was taken")).to_string()
    }

    #[test]
    fn the_table_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn numbers_are_explained() {
        for (arguments, expected) in [
            (&["compare", "--warmup", "-1"][..], "'-1' for '--warmup <N>': -1 is not in 0.."),
            (&["compare", "--seed", "x"], "'x' for '--seed <N>': a whole number is expected"),
            (&["compare", "--seed", "99999999999999999999"], "the number is too large"),
            (&["compare", "--runs", "-1"], "2 or more"),
            (&["compare", "--timeout", "-1"], "above zero"),
            (&["sim", "--seed", "-1"], "'-1' for '--seed <N>': it cannot be negative"),
        ] {
            let told = complaint(arguments);
            assert!(told.contains(expected) && !told.contains("invalid digit") && !told.contains("tip:"), "{told}");
        }
    }

    #[test]
    fn usage_does_not_show_what_is_refused() {
        let told = complaint(&["profile", "--pid", "1", "true"]);
        assert!(told.contains("Usage: turnwise profile [OPTIONS] [CMD]..."), "{told}");
        let told = complaint(&["policy", "check"]);
        assert!(told.contains("Usage: turnwise policy check <FILE> [CMD]..."), "{told}");
    }
}
