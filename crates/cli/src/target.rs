//! The program under test: the user's, or the embedded sample.

use crate::preload::install::{Payload, install};
use crate::program;
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

const SAMPLE: Payload = Payload { stem: "sample-cache", suffix: "", content: include_bytes!(env!("TURNWISE_SAMPLE")) };
/// The name to enter for the sample, to give it arguments.
pub(crate) const SAMPLE_NAME: &str = "@sample";
/// The pattern for the sample's speed in its output.
pub(crate) const SAMPLE_METRIC: &str = r"ops_per_second: (?<throughput>[0-9.]+)";

pub(crate) const SAMPLE_HELP: &str = "\
Without CMD, a sample program runs: threads on one key-value cache under one mutex. To give it
arguments, name it: @sample [-t THREADS] [-s SECONDS] [-k KEYS] [-r READ_SHARE]; by default, 4 threads for
0.7 s on 20000 keys (the cache holds half of them), 0.9 of the operations are lookups.";

/// Returns the help on the sample, and then these examples.
pub(crate) fn long_help(examples: &str) -> String {
    format!("{SAMPLE_HELP}\n\n{examples}")
}

/// A command that exists and may be executed.
pub(crate) struct Target {
    /// The command as the user typed it.
    pub(crate) command: Vec<OsString>,
    /// The path of the program's file.
    pub(crate) path: PathBuf,
    pub(crate) is_sample: bool,
}

impl Target {
    /// Finds the program of `command`, or the sample if `command` is empty; fails if it cannot be executed.
    pub(crate) fn find(command: &[OsString]) -> Result<Target> {
        if command.first().is_some_and(|name| name.is_empty()) {
            bail!("the program's name is empty; is a variable of the shell empty? (Without CMD, the sample runs.)");
        }
        let is_sample = command.first().is_none_or(|name| name == SAMPLE_NAME);
        let command = if command.is_empty() { vec![SAMPLE_NAME.into()] } else { command.to_vec() };
        let path = if is_sample { install(&SAMPLE)? } else { program::resolve(&command[0])? };
        Ok(Target { command, path, is_sample })
    }

    /// Returns a new command, with the name that the user typed.
    pub(crate) fn start(&self) -> Command {
        let mut start = Command::new(&self.path);
        start.arg0(&self.command[0]).args(&self.command[1..]);
        start
    }

    /// Returns the command as one could enter it into a shell.
    pub(crate) fn shown(&self) -> String {
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        shlex::try_join(words.iter().map(|word| word.as_ref())).unwrap_or_else(|_| words.join(" "))
    }

    /// Returns the command, if a terminal and a shell accept it unchanged; otherwise `CMD`.
    pub(crate) fn typed(&self) -> String {
        let words: Option<Vec<String>> = self.command.iter().map(|word| Some(word.to_str()?.to_owned())).collect();
        words.and_then(|words| typed(&words)).unwrap_or_else(|| "CMD".to_owned())
    }
}

/// Formats a command for a shell; `None`: it has characters that cannot be typed, or may be truncated, as recordings
/// and the system keep only a limited number of bytes of it.
pub(crate) fn typed(words: &[String]) -> Option<String> {
    const MOST: usize = 1000;
    let is_plain = |word: &String| !word.chars().any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER);
    let length: usize = words.iter().map(|word| word.len() + 1).sum();
    // The system shows the name of a process without arguments in brackets.
    let is_name = words.first().is_none_or(|word| word.starts_with('['));
    if is_name || length > MOST || !words.iter().all(is_plain) {
        return None;
    }
    shlex::try_join(words.iter().map(String::as_str)).ok()
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn a_command_is_quoted_for_the_shell_or_not_shown() {
        let of = |words: &[&str]| typed(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["./a b", "--x=$HOME", "it's"]).unwrap(), r#"'./a b' '--x=$HOME' "it's""#);
        assert_eq!(of(&["@sample", "-t", "4"]).unwrap(), "@sample -t 4");
        for words in [&["a", "\u{1b}[2J"][..], &["[kworker]"], &[], &["a", &"x".repeat(1000)]] {
            assert_eq!(of(words), None);
        }
    }
}
