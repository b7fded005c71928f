//! `turnwise man` and `turnwise completions`: written from the table of flags, as the help is.

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the manual pages
///
/// One page for turnwise and one for each subcommand, from the same table as the help.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  turnwise man ~/.local/share/man/man1 && man turnwise-compare
  turnwise man /tmp/man && man /tmp/man/turnwise.1")]
pub(crate) struct ManArgs {
    /// The folder; made if it is not there
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Write a shell's completions to standard output
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  turnwise completions bash > ~/.local/share/bash-completion/completions/turnwise
  turnwise completions zsh > ~/.zfunc/_turnwise
  turnwise completions fish > ~/.config/fish/completions/turnwise.fish")]
pub(crate) struct CompletionArgs {
    /// The shell
    shell: Shell,
}

/// Writes the pages of `command` and says where.
///
/// # Errors
/// The folder or a page cannot be written.
pub(crate) fn man(args: &ManArgs, command: Command) -> Result<ExitCode> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make the folder {}", directory.display()))?;
    clap_mangen::generate_to(command, directory)
        .with_context(|| format!("cannot write manual pages to {}", directory.display()))?;
    crate::print(&format!("manual pages are in {}\n", directory.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the completions of `command`.
///
/// # Errors
/// Standard output cannot be written to.
pub(crate) fn completions(args: &CompletionArgs, mut command: Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "turnwise", &mut script);
    crate::print(&String::from_utf8(script).context("the completions are no text")?)?;
    Ok(ExitCode::SUCCESS)
}
