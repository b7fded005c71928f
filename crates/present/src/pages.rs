//! `turnwise man` and `turnwise completions`: generated from the table of flags, as the help is.

use anyhow::{Context, Result};
use clap::Command;
pub use clap_complete::Shell;
use clap_mangen::Man;
use std::path::Path;
use std::process::ExitCode;

/// Defines the arguments of the commands `man` and `completions` of a program that has this name and this subcommand.
#[macro_export]
macro_rules! page_arguments {
    ($program:literal, $command:literal) => {
        /// Write the manual pages
        #[derive(clap::Args)]
        #[command(
            long_about = concat!(
                "Write the manual pages\n\nOne page for ", $program,
                " and one for each subcommand, from the same table as the help.",
            ),
            after_long_help = concat!(
                "Examples:\n  ", $program, " man ~/.local/share/man/man1 && man ", $program, "-", $command,
                "\n  ", $program, " man /tmp/man && man /tmp/man/", $program, ".1",
            )
        )]
        struct ManArgs {
            /// The folder, which is created if necessary
            #[arg(value_name = "DIR")]
            directory: std::path::PathBuf,
        }

        /// Write a shell's completions to standard output
        #[derive(clap::Args)]
        #[command(after_long_help = concat!(
            "Examples:\n  ", $program, " completions bash > ~/.local/share/bash-completion/completions/", $program,
            "\n  ", $program, " completions zsh > ~/.zfunc/_", $program,
            "\n  ", $program, " completions fish > ~/.config/fish/completions/", $program, ".fish",
        ))]
        struct CompletionArgs {
            /// The shell
            shell: $crate::pages::Shell,
        }
    };
}

/// Writes the pages of `command` and reports where.
pub fn man(directory: &Path, command: Command) -> Result<ExitCode> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make the folder {}", directory.display()))?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    pages(command, directory).with_context(|| format!("cannot write manual pages to {}", directory.display()))?;
    crate::ending::print(&format!("manual pages are in {}\n", crate::printable(&directory.to_string_lossy())))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of `command`, and those of all below it.
fn pages(command: Command, directory: &Path) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let has_version = command.get_version().is_some();
    let behind_options = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let below: Vec<Command> = command.get_subcommands().filter(|below| !below.is_hide_set()).cloned().collect();
    let man = Man::new(command.after_help(None).after_long_help(None));
    let mut page = Vec::new();
    for section in [Man::render_title, Man::render_name_section, Man::render_synopsis_section] {
        section(&man, &mut page)?;
    }
    for section in [Man::render_description_section, Man::render_options_section] {
        section(&man, &mut page)?;
    }
    if !below.is_empty() {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend(behind(&behind_options.unwrap_or_default()).bytes());
    if has_version {
        man.render_version_section(&mut page)?;
    }
    std::fs::write(directory.join(format!("{name}.1")), page)?;
    below.into_iter().try_for_each(|below| pages(below, directory))
}

/// Formats the help's text after the options: notes, and examples as lines that are neither filled nor hyphenated, so
/// that they can be copied.
fn behind(text: &str) -> String {
    let (notes, examples) = text.split_once("Examples:").unwrap_or((text, ""));
    let section = |heading: &str, text: &str, filled: bool| {
        let lines: String = text.trim_matches('\n').lines().map(escaped).collect();
        match (lines.is_empty(), filled) {
            (true, _) => String::new(),
            (_, true) => format!(".SH {heading}\n{lines}"),
            (_, false) => format!(".SH {heading}\n.nf\n{lines}.fi\n"),
        }
    };
    section("NOTES", notes, true) + &section("EXAMPLES", examples, false)
}

/// Escapes a line for roff: `\&` keeps a dot at its beginning from being a request.
fn escaped(line: &str) -> String {
    let plain = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    format!("\\&{plain}\n")
}

/// Prints the completions of `command`.
pub fn completions(shell: Shell, mut command: Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    let program = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, program, &mut script);
    crate::ending::print(&String::from_utf8(script).context("the completions are not UTF-8")?)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn examples_can_be_copied_from_the_manual() {
        let page = behind("Without CMD a sample runs.\n\nExamples:\n  turnwise compare --metric 'a\\d' -- ./x\n");
        assert_eq!(
            page,
            ".SH NOTES\n\\&Without CMD a sample runs.\n\
             .SH EXAMPLES\n.nf\n\\&  turnwise compare \\-\\-metric \\(aqa\\ed\\(aq \\-\\- ./x\n.fi\n"
        );
        assert_eq!(behind(""), "");
    }
}
