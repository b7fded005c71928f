//! Every `turnwise ...` command that a message, a help or a document names is one that this program takes.

use crate::Cli;
use clap::Command;
use std::path::{Path, PathBuf};
use turnwise_present::usage;

/// A command line in a text: its words up to the tested program's.
struct Named {
    file: PathBuf,
    line: usize,
    words: Vec<String>,
    /// Whether it is where only commands are; otherwise it may be a sentence about the program.
    is_certain: bool,
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap_or_default().to_owned();
        if entry.is_dir() && name != "target" && !name.starts_with('.') {
            files(&entry, found);
        } else if [".md", ".rs", ".js", ".jinja"].iter().any(|ending| name.ends_with(ending)) {
            found.push(entry);
        }
    }
}

/// Returns all in the programs' sources and in the documentation, except records of experiments, which are historical.
fn named() -> Vec<Named> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut found = Vec::new();
    for folder in ["crates", "docs", "lab/cli", "packaging"] {
        files(&root.join(folder), &mut found);
    }
    found.push(root.join("README.md"));
    found.retain(|file| !file.starts_with(root.join("docs/lab")));
    let is_test = |file: &PathBuf| file.components().any(|part| part.as_os_str() == "tests");
    found.iter().filter(|file| !is_test(file)).flat_map(|file| in_file(file)).collect()
}

fn in_file(file: &Path) -> Vec<Named> {
    let text = std::fs::read_to_string(file).unwrap();
    let is_code = file.extension().is_some_and(|extension| extension != "md");
    let mut found = Vec::new();
    let mut quoted = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            quoted = !quoted;
        }
        // In code and between fences a command ends with its line, elsewhere with its quotation mark.
        let starts = line.match_indices("turnwise ").map(|(at, _)| at);
        let is_start = |at: &usize| {
            let before = line[..*at].trim_end_matches("target/release/").chars().next_back();
            match before {
                None => quoted || is_code,
                Some(' ') => (quoted || is_code) && line[..*at].trim_start_matches(['/', '!']).trim().is_empty(),
                Some(c) => ['`', '\'', '"'].contains(&c) || c == '$',
            }
        };
        for at in starts.filter(is_start) {
            let command = &line[at..];
            let end = command.find(['`', '|', '#', ';', '"']).unwrap_or(command.len());
            let words = command[..end].split_whitespace().map(str::to_owned);
            let words: Vec<String> =
                words.skip(1).take_while(|word| !["--", "&&", "&", ">"].contains(&word.as_str())).collect();
            let is_certain = quoted || line[..at].ends_with(['`', '$']);
            found.push(Named { file: file.to_owned(), line: number, words, is_certain });
        }
    }
    found
}

/// Returns what is wrong with it.
fn complaint(cli: &Command, words: &[String], is_certain: bool) -> Option<String> {
    let bare = |word: &str| {
        let word = word.split('=').next().unwrap_or(word).trim_matches(|c: char| "[](),.:\\".contains(c));
        word.to_owned()
    };
    let mut command = cli;
    for word in words {
        if let Some(inner) = command.find_subcommand(bare(word)) {
            command = inner;
            continue;
        }
        if std::ptr::eq(command, cli) && !word.starts_with('-') {
            let is_name = word.chars().all(|c| c.is_ascii_lowercase());
            return (is_name && is_certain).then(|| format!("there is no command {word}"));
        }
        let Some(option) = bare(word).strip_prefix("--").map(str::to_owned) else { continue };
        let has = |command: &Command| {
            let mut known = command.get_arguments();
            known.any(|known| known.get_long_and_visible_aliases().is_some_and(|all| all.contains(&option.as_str())))
        };
        if !option.is_empty() && !has(command) && !["help", "version", "seconds"].contains(&option.as_str()) {
            return Some(format!("{} has no option --{option}", command.get_name()));
        }
    }
    None
}

#[test]
fn no_command_is_named_that_does_not_exist() {
    let cli = usage::command::<Cli>();
    let named = named();
    assert!(named.len() > 100, "only {} found", named.len());
    let wrong = named.iter().filter_map(|named| {
        let complaint = complaint(&cli, &named.words, named.is_certain)?;
        Some(format!("{}:{}: {complaint}: turnwise {}", named.file.display(), named.line, named.words.join(" ")))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_does_not_exist_is_found() {
    let cli = usage::command::<Cli>();
    let of = |text: &str| complaint(&cli, &text.split(' ').map(str::to_owned).collect::<Vec<_>>(), true);
    assert!(of("profile --advise").is_some() && of("judge").is_some() && of("policy check --x").is_some());
    assert_eq!([of("profile --pid PID --for 10s"), of("run --lock=ttas"), of("policy check FILE")], [None, None, None]);
}
