//! What a program is compared under: a policy for all its locks, or a policy file.

use crate::policy_file::{PolicyFile, compile};
use crate::preload::{Library, Table};
use crate::target::Target;
use anyhow::Result;
use std::process::Command;
use turnwise_preload_abi::Policy;

/// One of those that are compared.
pub(crate) struct Contender {
    /// The policy's name, or the file's, as the user typed it.
    pub(crate) name: String,
    locks: Locks,
}

enum Locks {
    Policy(Policy),
    File(Table),
}

impl Contender {
    /// All locks under one policy.
    pub(crate) fn policy(policy: Policy) -> Contender {
        Contender { name: policy.name().to_owned(), locks: Locks::Policy(policy) }
    }

    /// Each lock by the rules of a policy file, and what looks wrong in it for this program (empty: nothing). The file
    /// need not lie on a disk: [`PolicyFile::parse`] takes text.
    ///
    /// # Errors
    /// The program cannot be read, or there is no place for the table.
    pub(crate) fn file(file: &PolicyFile, target: &Target) -> Result<(Contender, String)> {
        let compiled = compile(file, &target.path)?;
        let contender = Contender { name: file.origin.clone(), locks: Locks::File(Table::install(&compiled)?) };
        Ok((contender, compiled.shown_warnings(file)))
    }

    /// Whether it needs the preload library.
    pub(crate) fn is_interposed(&self) -> bool {
        match &self.locks {
            Locks::Policy(policy) => *policy != Policy::Libc,
            Locks::File(_) => true,
        }
    }

    /// Lets `command` run under it.
    pub(crate) fn apply(&self, library: &Library, command: &mut Command) {
        match &self.locks {
            Locks::Policy(policy) => library.apply(*policy, command),
            Locks::File(table) => library.apply_table(table, command),
        }
    }
}
