//! `compare --arm 'NAME: [--lock POLICY] [COMMAND …]'`: the program again, under a policy and started by a user's
//! command, such as `taskset -c 0`.

use crate::program::resolve;
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use turnwise_preload_abi::Policy;
use turnwise_present::names::suggestion;

/// The syntax of an arm.
const SHAPE: &str = "write 'NAME: [--lock POLICY] [COMMAND ...]', such as 'one CPU: taskset -c 0'";

/// An arm as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arm {
    pub(crate) name: String,
    /// The arm's policy, by default the C library's.
    pub(crate) lock: Policy,
    /// The command to put in front, and its arguments; empty: none.
    pub(crate) words: Vec<String>,
}

impl Arm {
    /// Reads an arm, whose words are split as a shell would; an error states what is wrong, and what to write.
    pub(crate) fn parse(text: &str) -> Result<Arm, String> {
        let (name, rest) = text.split_once(':').ok_or_else(|| format!("there is no colon after the name; {SHAPE}"))?;
        let name = name.trim();
        if name.is_empty() {
            return Err(format!("the name is empty; {SHAPE}"));
        }
        if name.contains(char::is_control) {
            return Err("the name has a control character, which a table cannot show; leave it out".to_owned());
        }
        let words = shlex::split(rest).ok_or_else(|| {
            format!("cannot split{rest} into words: a quote is not closed, or nothing follows the last backslash")
        })?;
        let mut words = words.into_iter().peekable();
        let mut lock = None;
        while let Some(option) = words.next_if(|word| word.starts_with('-')) {
            let named = match option.strip_prefix("--lock") {
                Some("") => words.next().ok_or("--lock needs a policy; write --lock POLICY")?,
                Some(value) if value.starts_with('=') => value[1..].to_owned(),
                _ => return Err(format!("{option} is not an option of an arm; the only one is --lock; {SHAPE}")),
            };
            if lock.replace(policy_named(&named)?).is_some() {
                return Err("--lock is given twice; name one policy".to_owned());
            }
        }
        let (lock, words) = (lock.unwrap_or(Policy::Libc), words.collect::<Vec<_>>());
        keeps_locks(lock, &words)?;
        Ok(Arm { name: name.to_owned(), lock, words })
    }
}

fn policy_named(name: &str) -> Result<Policy, String> {
    let known = Policy::ALL.map(Policy::name);
    Policy::by_name(name).ok_or_else(|| format!("no policy `{name}`; {}", suggestion(name, &known)))
}

/// Refuses a command that would silently remove the locks: the library is loaded into the command in front, so this
/// would not be detected.
fn keeps_locks(lock: Policy, words: &[String]) -> Result<(), String> {
    if lock == Policy::Libc {
        return Ok(());
    }
    if words.iter().any(|word| word.starts_with("LD_PRELOAD=")) {
        return Err(format!(
            "LD_PRELOAD= would replace the library of --lock {lock}; set it for turnwise compare as a whole, or leave \
             out --lock"
        ));
    }
    if let Some(at) = words.iter().position(|word| Path::new(word).file_name() == Some(OsStr::new("turnwise"))) {
        return Err(format!(
            "turnwise keeps other locks away from itself and from what it starts; leave out the arm's --lock, and \
             give it to that command: {} {} --lock {lock}",
            words[at],
            words.get(at + 1).map_or("profile", String::as_str)
        ));
    }
    Ok(())
}

/// A command in front of the program.
#[derive(Debug)]
pub(crate) struct Prefix {
    /// The command and its arguments, as the user wrote them.
    pub(crate) words: Vec<String>,
    path: PathBuf,
}

impl Prefix {
    pub(crate) fn find(arm: &Arm) -> Result<Option<Prefix>> {
        let Some(first) = arm.words.first() else { return Ok(None) };
        if first.is_empty() {
            bail!("--arm '{}': the command's name is empty; {SHAPE}", arm.name);
        }
        let path = resolve(first.as_ref())
            .with_context(|| format!("--arm '{}': {first} cannot be put in front of the program", arm.name))?;
        Ok(Some(Prefix { words: arm.words.clone(), path }))
    }

    /// Returns a command that starts this one, which starts `inner`, with the same changes of the environment.
    pub(crate) fn before(&self, inner: &Command) -> Command {
        let mut outer = Command::new(&self.path);
        outer.args(&self.words[1..]).arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        outer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let arm = Arm::parse("one CPU : --lock adaptive  taskset -c '0, 1' \"a b\"").unwrap();
        assert_eq!((arm.name.as_str(), arm.lock), ("one CPU", Policy::ADAPTIVE));
        assert_eq!(arm.words, ["taskset", "-c", "0, 1", "a b"]);
        assert_eq!(Arm::parse("ours:--lock=queued").unwrap().lock, Policy::QUEUED);
        let other = Arm::parse("other: env LD_PRELOAD=/lib/other.so").unwrap();
        assert_eq!((other.lock, other.words.len()), (Policy::Libc, 2));
        assert!(Arm::parse("libc again:").unwrap().words.is_empty());
    }

    #[test]
    fn what_is_wrong_is_reported() {
        for (text, shown) in [
            ("taskset -c 0", "no colon after the name"),
            (" : taskset -c 0", "the name is empty; write 'NAME:"),
            ("a\tb: true", "control character"),
            ("a: taskset '0", "a quote is not closed"),
            ("a: --lock", "needs a policy"),
            ("a: --lock adaptiv true", "no policy `adaptiv`; did you mean `adaptive`?"),
            ("a: --lock queued --lock ttas", "twice"),
            ("a: --runs 5 true", "--runs is not an option of an arm"),
            ("a: --lock adaptive env LD_PRELOAD=/x.so", "would replace the library of --lock adaptive"),
            ("a: --lock queued /opt/turnwise profile --", "/opt/turnwise profile --lock queued"),
        ] {
            let error = Arm::parse(text).unwrap_err();
            assert!(error.contains(shown), "{text}: {error}");
        }
    }

    #[test]
    fn a_prefix_passes_the_environment_on() {
        let prefix = Prefix::find(&Arm::parse("a: env A=1").unwrap()).unwrap().unwrap();
        let mut inner = Command::new("sh");
        inner.args(["-c", "echo $A$B$C"]).env("B", "2").env_remove("C");
        let output = prefix.before(&inner).env("C", "").output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "12\n");
        assert!(Prefix::find(&Arm::parse("a: --lock ttas").unwrap()).unwrap().is_none());
        let error = Prefix::find(&Arm::parse("far: no-such-command 1").unwrap()).unwrap_err();
        assert!(format!("{error:#}").contains("--arm 'far': no-such-command cannot be put in front"), "{error:#}");
    }
}
