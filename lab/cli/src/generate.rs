//! `turnwise-lab man` and `turnwise-lab completions`: written from the table of flags, like the help.

use std::path::PathBuf;
use turnwise_present::pages::Shell;

/// Write the manual pages
///
/// One page for turnwise-lab and one for each subcommand, from the same table as the help.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  turnwise-lab man ~/.local/share/man/man1 && man turnwise-lab-sim
  turnwise-lab man /tmp/man && man /tmp/man/turnwise-lab.1")]
pub(crate) struct ManArgs {
    /// The folder, which is created if necessary
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// Write a shell's completions to standard output
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  turnwise-lab completions bash > ~/.local/share/bash-completion/completions/turnwise-lab
  turnwise-lab completions zsh > ~/.zfunc/_turnwise-lab
  turnwise-lab completions fish > ~/.config/fish/completions/turnwise-lab.fish")]
pub(crate) struct CompletionArgs {
    /// The shell
    pub(crate) shell: Shell,
}
