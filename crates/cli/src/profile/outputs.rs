//! The forms that a profile can be written in: one option each.

use crate::draft::Draft;
use anyhow::{Context, Result};
use clap::{Arg, ArgMatches, Command, error::Error};
use std::path::PathBuf;
use turnwise_profile::model::Profile;
use turnwise_profile::output::{FORMATS, Format};

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs(Vec<(&'static str, PathBuf)>);

impl clap::Args for Outputs {
    fn augment_args(command: Command) -> Command {
        FORMATS.iter().fold(command, |command, format| {
            let option = Arg::new(format.flag).long(format.flag).value_name("FILE").help(format.help);
            command.arg(option.value_parser(clap::value_parser!(PathBuf)))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Outputs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let named = |format: &Format| Some((format.flag, matches.get_one::<PathBuf>(format.flag)?.clone()));
        Ok(Outputs(FORMATS.iter().filter_map(named).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Files that are open and wait for the profile.
pub(crate) struct Opened(Vec<(&'static Format, Draft)>);

impl Outputs {
    /// Opens the files: before the run, so that a wrong path costs nothing.
    ///
    /// # Errors
    /// A directory cannot be written to.
    pub(crate) fn open(&self) -> Result<Opened> {
        let open = |(flag, path): &(&str, PathBuf)| {
            let format = FORMATS.iter().find(|format| format.flag == *flag).context("no such form")?;
            Ok((format, Draft::open(&format!("--{flag}"), path)?))
        };
        self.0.iter().map(open).collect::<Result<_>>().map(Opened)
    }
}

impl Opened {
    /// Writes the profile in each form.
    ///
    /// # Errors
    /// As the system has it.
    pub(crate) fn write(self, profile: &Profile) -> Result<()> {
        for (format, draft) in self.0 {
            let mut bytes = Vec::new();
            format.write(profile, &mut bytes).with_context(|| format!("--{}", format.flag))?;
            draft.write(&bytes)?;
        }
        Ok(())
    }
}
