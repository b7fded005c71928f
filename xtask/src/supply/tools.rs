//! Checks by other projects' tools. Each takes minutes to install, so CI does without them.

use super::{Args, FOLDER, copy_of_the_tree, must, output};
use crate::checks::Outcome;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// The crates with an interface for other code; the rest are parts of the program.
const LIBRARIES: &[&str] = &["turnwise", "turnwise-live"];
/// The shipped packages: the tool, what it carries, and the C library.
const SHIPPED: &[&str] = &["turnwise-cli", "turnwise-preload", "turnwise-recorder", "turnwise-capi"];
/// Why nothing is compared before a version was released.
const UNTAGGED: &str = "no version has a tag `v…` yet, so nothing can break: name a commit by `--against`. Each change \
                        of the interface is seen by `cargo xtask supply interface`";
/// Why advisories are not checked, and what that means.
const UNFETCHED: &str = "the database of advisories, on github.com, cannot be fetched; a release needs this check, on \
                         a machine that can";
/// The system of the lists of the shipped packages.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Returns why a tool cannot be used: it is not installed.
fn absent(tool: &str) -> Option<Outcome> {
    let subcommand = tool.strip_prefix("cargo-").unwrap_or(tool);
    let found = Command::new(tool).args([subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let here = found.is_ok_and(|status| status.success());
    (!here).then(|| Outcome::Skipped(format!("no {tool} here: `cargo install --locked {tool}`")))
}

pub(super) fn deny() -> Result<Outcome> {
    if let Some(skipped) = absent("cargo-deny") {
        return Ok(skipped);
    }
    must(Path::new("."), &[], &["cargo", "deny", "--locked", "check", "bans", "licenses", "sources"])?;
    Ok(Outcome::Ok("as deny.toml says".to_owned()))
}

pub(super) fn advisories() -> Result<Outcome> {
    if let Some(skipped) = absent("cargo-deny") {
        return Ok(skipped);
    }
    if let Err(error) = output(&["cargo", "deny", "fetch", "db"]) {
        let why = error.to_string();
        let why = why.lines().find(|line| line.contains("failed to")).unwrap_or("it says no more");
        return Ok(Outcome::Skipped(format!("{UNFETCHED}: {}", why.trim())));
    }
    must(Path::new("."), &[], &["cargo", "deny", "--locked", "check", "--disable-fetch", "advisories"])?;
    Ok(Outcome::Ok("as deny.toml says".to_owned()))
}

/// Compares the libraries' interfaces with those of an earlier commit: the requested one, or that of the last tag of a
/// version. Before the first there is no interface that programs were written against.
pub(super) fn semver(args: &Args) -> Result<Outcome> {
    if let Some(skipped) = absent("cargo-semver-checks") {
        return Ok(skipped);
    }
    let tag = || output(&["git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]).ok();
    let Some(against) = args.against.clone().or_else(tag) else {
        return Ok(Outcome::Skipped(UNTAGGED.to_owned()));
    };
    let against = against.trim();
    let commit =
        output(&["git", "rev-parse", "--verify", "--short=12", "--end-of-options", &format!("{against}^{{commit}}")])
            .with_context(|| format!("git knows no commit {against}"))?;
    let (commit, compared) = (commit.trim(), LIBRARIES.join(", "));
    println!("{compared}: this tree, beside {against} ({commit}); their versions say which changes may be");
    for library in LIBRARIES {
        let line = ["cargo", "semver-checks", "-p", library, "--all-features", "--baseline-rev", commit];
        must(Path::new("."), &[], &line)?;
    }
    Ok(Outcome::Ok(format!("{compared} against {against} ({commit})")))
}

/// Writes the list of the parts of each shipped package, and checks whether it has all that cargo builds into it.
pub(super) fn sbom() -> Result<Outcome> {
    if let Some(skipped) = absent("cargo-cyclonedx") {
        return Ok(skipped);
    }
    // The lists will lie next to the manifests.
    let tree = copy_of_the_tree("sbom")?;
    must(&tree, &[], &["cargo", "cyclonedx", "--format", "json", "--target", TARGET, "--no-build-deps"])?;
    let mut seen = Vec::new();
    for package in SHIPPED {
        let folder = package.strip_prefix("turnwise-").unwrap_or(package);
        let file = tree.join(format!("crates/{folder}/{package}.cdx.json"));
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let listed = listed(&text).with_context(|| format!("{} is not as CycloneDX says", file.display()))?;
        let line = [
            "cargo",
            "tree",
            "--locked",
            "-p",
            package,
            "-e",
            "normal,no-proc-macro",
            "--target",
            TARGET,
            "--prefix",
            "none",
        ];
        let built = built(&output(&line)?);
        let missing: Vec<&str> = built.difference(&listed).map(String::as_str).collect();
        ensure!(missing.is_empty(), "{} lacks {}", file.display(), missing.join(", "));
        std::fs::copy(&file, Path::new(FOLDER).join(format!("{package}.cdx.json")))?;
        seen.push(format!("{package} {}", built.len()));
    }
    Ok(Outcome::Ok(format!("packages in each: {}; the lists are in {FOLDER}", seen.join(", "))))
}

/// Returns names and versions of the components, and of their subject.
fn listed(text: &str) -> Result<BTreeSet<String>> {
    let list: serde_json::Value = serde_json::from_str(text)?;
    let component =
        |value: &serde_json::Value| Some(format!("{} {}", value["name"].as_str()?, value["version"].as_str()?));
    let components = list["components"].as_array().context("no `components`")?;
    Ok(components.iter().chain([&list["metadata"]["component"]]).filter_map(component).collect())
}

/// Returns names and versions in what `cargo tree` prints.
fn built(tree: &str) -> BTreeSet<String> {
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
    };
    tree.lines().filter_map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_lacks_a_package_is_found() {
        let list = r#"{ "metadata": { "component": { "name": "a", "version": "0.1.0" } },
                       "components": [{ "name": "b", "version": "1.0.0+x" }] }"#;
        let tree = "a v0.1.0 (/home/a)\nb v1.0.0+x\nc v2.0.0 (*)\n";
        let missing: Vec<String> = built(tree).difference(&listed(list).unwrap()).cloned().collect();
        assert_eq!(missing, ["c 2.0.0"]);
        assert!(listed("{}").is_err());
    }
}
