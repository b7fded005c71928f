//! `turnwise man` and `turnwise completions`: generated from the table of flags, as the help is.

use std::path::PathBuf;
use turnwise_present::pages::Shell;

/// Write the manual pages
///
/// One page for turnwise and one for each subcommand, from the same table as the help.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  turnwise man ~/.local/share/man/man1 && man turnwise-compare
  turnwise man /tmp/man && man /tmp/man/turnwise.1")]
pub(crate) struct ManArgs {
    /// The folder, which is created if necessary
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
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
    pub(crate) shell: Shell,
}
