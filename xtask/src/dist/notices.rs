//! The third-party code in a program, its licences, and their texts.

use crate::checks::output;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Beginnings of the names of files that have a licence's text.
const TEXTS: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// Returns the texts for the packages linked into `package`; for the tool also those of the libraries that it carries.
pub(super) fn of(package: &str) -> Result<String> {
    let mut line = vec!["cargo", "tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}|{l}"];
    line.extend(["-p", package]);
    if package == "turnwise-cli" {
        line.extend(["-p", "turnwise-preload", "-p", "turnwise-recorder"]);
    }
    let listed = output(&line)?;
    let folders = folders()?;
    let mut text = format!("Software of others in {package}, its licences and their texts.\n");
    text += "The Rust standard library is under MIT or Apache-2.0 (https://www.rust-lang.org/policies/licenses).\n";
    for (name, version, licence) in listed.lines().filter_map(entry).collect::<BTreeSet<_>>() {
        let Some(folder) = folders.get(&(name.to_owned(), version.to_owned())) else { continue };
        write!(text, "\n==== {name} {version}: {licence}\n")?;
        for file in texts(folder)? {
            let read = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            write!(text, "\n-- {name}\n{}\n", String::from_utf8_lossy(&read).trim_end())?;
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

/// Returns where cargo has the third-party packages.
fn folders() -> Result<BTreeMap<(String, String), PathBuf>> {
    let text = output(&["cargo", "metadata", "--format-version=1", "--locked"])?;
    let graph: serde_json::Value = serde_json::from_str(&text).context("`cargo metadata` prints what is not JSON")?;
    let packages = graph["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let others = packages.iter().filter(|package| !package["source"].is_null());
    let place = |package: &serde_json::Value| {
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        let folder = Path::new(package["manifest_path"].as_str()?).parent()?.to_path_buf();
        Some(((text("name")?, text("version")?), folder))
    };
    others.map(|package| place(package).context("`cargo metadata` leaves a package's place out")).collect()
}

/// Files with licences in a package's folder.
fn texts(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>()?;
    let is_text = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        file.is_file() && TEXTS.iter().any(|text| name.starts_with(text))
    };
    let mut texts: Vec<PathBuf> = files.into_iter().filter(is_text).collect();
    texts.sort();
    Ok(texts)
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
