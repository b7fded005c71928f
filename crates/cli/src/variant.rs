//! A contender under which a program is compared: a policy for all its locks, or a policy file, and a command in front.

use crate::arm::{Arm, Prefix};
use crate::policy_file::{PolicyFile, compile};
use crate::preload::{self, Library, install_table};
use crate::target::Target;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use turnwise_preload_abi::{Policy, environment};

pub(crate) struct Variant {
    /// The name of the policy, the file or the arm, as the user typed it.
    pub(crate) name: String,
    locks: Locks,
    /// The command in front of the program.
    prefix: Option<Prefix>,
}

enum Locks {
    Policy(Policy),
    File(PathBuf),
}

impl Variant {
    /// Returns a contender with all locks under one policy.
    pub(crate) fn policy(policy: Policy) -> Variant {
        Variant { name: policy.name().to_owned(), locks: Locks::Policy(policy), prefix: None }
    }

    /// Returns a contender with each lock by the rules of a policy file, and warnings about the file for this program
    /// (empty: none). The file need not be on a disk: [`PolicyFile::parse`] takes text.
    pub(crate) fn file(file: &PolicyFile, target: &Target) -> Result<(Variant, String)> {
        let compiled = compile(file, &target.path)?;
        let locks = Locks::File(install_table(&compiled)?);
        let variant = Variant { name: file.origin.clone(), locks, prefix: None };
        Ok((variant, compiled.shown_warnings(file)))
    }

    /// Returns a contender by the policy file at a path; `default` replaces what that says for locks that no rule
    /// matches. Warnings about the file go to standard error.
    pub(crate) fn read(path: &Path, default: Option<Policy>, target: &Target) -> Result<Variant> {
        let mut file = PolicyFile::read(path)?;
        file.default = default.unwrap_or(file.default);
        let (variant, warnings) = Variant::file(&file, target)?;
        if !warnings.is_empty() {
            eprintln!("{warnings}");
        }
        Ok(variant)
    }

    /// Returns one with all locks under an arm's policy, started by its command; fails if there is no such command.
    pub(crate) fn arm(arm: &Arm) -> Result<Variant> {
        Ok(Variant { name: arm.name.clone(), locks: Locks::Policy(arm.lock), prefix: Prefix::find(arm)? })
    }

    /// Returns its policy; `None`: a policy file's rules.
    pub(crate) fn lock(&self) -> Option<Policy> {
        match self.locks {
            Locks::Policy(policy) => Some(policy),
            Locks::File(_) => None,
        }
    }

    /// Returns the words of the command in front of the program; empty: there is none.
    pub(crate) fn prefix(&self) -> &[String] {
        self.prefix.as_ref().map_or(&[], |prefix| &prefix.words)
    }

    /// Returns the options of `turnwise run` that give a program its locks, each followed by a space; `None`: there are
    /// none, since a command precedes the program, or the locks are the C library's.
    pub(crate) fn run_options(&self) -> Option<String> {
        match &self.locks {
            _ if self.prefix.is_some() => None,
            Locks::Policy(Policy::Libc) => None,
            Locks::Policy(policy) if *policy == Policy::ADAPTIVE => Some(String::new()),
            Locks::Policy(policy) => Some(format!("--lock {policy} ")),
            Locks::File(_) => Some(format!("--policy {} ", shlex::try_quote(&self.name).ok()?)),
        }
    }

    /// Returns the command that is run, except for the locks, as one could enter it into a shell.
    pub(crate) fn shown(&self, target: &Target) -> String {
        let prefix = self.prefix();
        let shown = shlex::try_join(prefix.iter().map(String::as_str)).unwrap_or_else(|_| prefix.join(" "));
        [shown, target.shown()].join(" ").trim_start().to_owned()
    }

    /// Returns whether it needs the preload library.
    pub(crate) fn is_interposed(&self) -> bool {
        match &self.locks {
            Locks::Policy(policy) => *policy != Policy::Libc,
            Locks::File(_) => true,
        }
    }

    /// Returns `target` under it, ready to start; `library` is given if it [needs](Variant::is_interposed) one.
    pub(crate) fn start(&self, target: &Target, library: Option<&Library>) -> Command {
        let mut command = target.start();
        if let Some(library) = library {
            self.apply(library, &mut command);
        }
        match &self.prefix {
            Some(prefix) => prefix.before(&command),
            None => command,
        }
    }

    /// Makes `command` run under its locks.
    pub(crate) fn apply(&self, library: &Library, command: &mut Command) {
        let (variable, value, other) = match &self.locks {
            Locks::Policy(Policy::Libc) => return,
            Locks::Policy(policy) => (environment::LOCK, policy.name().as_ref(), environment::POLICY_TABLE),
            Locks::File(table) => (environment::POLICY_TABLE, table.as_os_str(), environment::LOCK),
        };
        preload::set([library.path.as_path()], command);
        command.env(variable, value).env_remove(other);
    }
}
