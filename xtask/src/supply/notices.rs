//! The third-party code in a program, its licences, and their texts.

use super::packages;
use crate::command::{Run, cmd, entries};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Beginnings of the names of files that have a licence's text.
const TEXTS: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// Returns the texts for the packages linked into `package`; for the tool also those of the libraries that it carries.
pub(super) fn of(package: &str) -> Result<String> {
    let mut tree = cmd("cargo tree --locked --edges normal --prefix none --format {p}|{l} -p");
    tree.arg(package);
    if package == "turnwise-cli" {
        tree.args(["-p", "turnwise-preload", "-p", "turnwise-recorder"]);
    }
    let listed = tree.text()?;
    let packages = packages()?;
    let mut text = format!("Software of others in {package}, its licences and their texts.\n");
    text += "The Rust standard library is under MIT or Apache-2.0 (https://www.rust-lang.org/policies/licenses).\n";
    for (name, version, licence) in listed.lines().filter_map(entry).collect::<BTreeSet<_>>() {
        let is_it = |of: &&Value| of["name"] == name && of["version"] == version && !of["source"].is_null();
        let Some(manifest) = packages.iter().find(is_it).and_then(|of| of["manifest_path"].as_str()) else { continue };
        write!(text, "\n==== {name} {version}: {licence}\n")?;
        for file in entries(Path::new(manifest).parent().context("a manifest lies in a folder")?)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if file.is_file() && TEXTS.iter().any(|text| name.to_lowercase().starts_with(text)) {
                let read = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
                write!(text, "\n-- {name}\n{}\n", String::from_utf8_lossy(&read).trim_end())?;
            }
        }
    }
    Ok(text)
}

/// Returns name, version and licence in a line of `cargo tree`.
fn entry(line: &str) -> Option<(&str, &str, &str)> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split_whitespace();
    // A package that was listed before ends in ` (*)`.
    Some((words.next()?, words.next()?.strip_prefix('v')?, licence.trim_end_matches(" (*)")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_with_their_licences() {
        assert_eq!(entry("libc v0.2.191|MIT OR Apache-2.0"), Some(("libc", "0.2.191", "MIT OR Apache-2.0")));
        assert_eq!(entry("syn v2.0.1 (proc-macro)|MIT (*)"), Some(("syn", "2.0.1", "MIT")));
        assert_eq!(entry(""), None);
    }
}
