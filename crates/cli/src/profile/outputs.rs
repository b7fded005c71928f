//! The output formats of a profile: one option each.

use anyhow::{Context, Result, bail};
use clap::{Arg, ArgMatches, Command, error::Error};
use std::path::{Path, PathBuf};
use turnwise_present::output_file::OutputFile;
use turnwise_profile::model::Profile;
use turnwise_profile::output::{FORMATS, Format};

/// The formats that the user requested.
pub(crate) struct Outputs(Vec<(&'static Format, PathBuf)>);

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
        let named = |format: &'static Format| Some((format, matches.get_one::<PathBuf>(format.flag)?.clone()));
        Ok(Outputs(FORMATS.iter().filter_map(named).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Open files for the profile.
pub(crate) struct Opened(Vec<(&'static Format, OutputFile)>);

impl Outputs {
    /// Opens the files before the run, so that a wrong path costs nothing; fails if two are the same, or the same as
    /// `recording`.
    pub(crate) fn open(&self, recording: Option<&Path>) -> Result<Opened> {
        let mut others: Vec<(&str, &Path)> = recording.map(|file| ("recording", file)).into_iter().collect();
        let mut opened = Vec::new();
        for (format, path) in &self.0 {
            let flag = format.flag;
            let output_file = OutputFile::open(&format!("--{flag}"), path)?;
            if let Some((other, _)) = others.iter().find(|(_, file)| output_file.is_same(file)) {
                bail!("--{other} and --{flag} name the same file, {}; name another for one of them", path.display());
            }
            others.push((flag, path));
            opened.push((*format, output_file));
        }
        Ok(Opened(opened))
    }
}

impl Opened {
    /// Returns whether one of them goes to standard output, where the report for people would interfere.
    pub(crate) fn take_stdout(&self) -> bool {
        self.0.iter().any(|(_, output_file)| output_file.is_stdout())
    }

    /// Writes the profile in each form, even if another fails; returns the failures, a line each.
    pub(crate) fn write(self, profile: &Profile) -> Vec<String> {
        let write = |(format, output_file): (&Format, OutputFile)| {
            let mut bytes = Vec::new();
            format.write(profile, &mut bytes).with_context(|| format!("--{}", format.flag))?;
            output_file.write(&bytes)
        };
        self.0.into_iter().filter_map(|output| write(output).err()).map(|error| format!("{error:#}")).collect()
    }
}
