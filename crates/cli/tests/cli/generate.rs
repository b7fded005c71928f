//! Manual pages and completions come from the flags.

use crate::common::expect;
use std::process::{Command, Stdio};

/// Returns the subcommands that the help lists.
fn subcommands() -> Vec<String> {
    let (help, _) = expect(0, &["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn each_subcommand_has_a_manual_page_with_its_flags() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("new/man1");
    expect(0, &["man", pages.to_str().unwrap()]);
    let names = subcommands();
    assert!(names.len() > 6 && names.iter().any(|name| name == "compare"), "{names:?}");
    for name in names.iter().filter(|name| *name != "help") {
        let page = std::fs::read_to_string(pages.join(format!("turnwise-{name}.1"))).expect(name);
        assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    let compare = std::fs::read_to_string(pages.join("turnwise-compare.1")).unwrap();
    assert!(compare.contains("warmup") && compare.contains(".SH EXAMPLES\n.nf\n"), "{compare}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let (_, said) = expect(2, &["man", "/proc/no/such"]);
    assert!(said.contains("cannot make the folder /proc/no/such"), "{said}");
}

#[test]
fn bash_reads_its_completions_and_offers_the_subcommands() {
    let (script, _) = expect(0, &["completions", "bash"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), script).unwrap();
    let ask = "source \"$0\"; COMP_WORDS=(turnwise co); COMP_CWORD=1; _turnwise turnwise co turnwise; \
               echo \"${COMPREPLY[@]}\"";
    let bash =
        Command::new("bash").args(["--norc", "-c", ask]).arg(file.path()).stderr(Stdio::piped()).output().unwrap();
    let offered = String::from_utf8_lossy(&bash.stdout);
    assert_eq!(offered.split_whitespace().collect::<Vec<_>>(), ["compare", "completions"], "{bash:?}");
}
