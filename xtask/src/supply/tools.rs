//! Checks by other projects' tools. Each takes minutes to install, so CI does without them.

use super::{Args, FOLDER, LIBRARIES, copy_of_the_tree};
use crate::command::{Run, cmd, git, skip};
use crate::root::{copy, read};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;

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

/// # Errors
/// A subcommand of cargo is not installed.
fn installed(subcommand: &str) -> Result<()> {
    let found = cmd(&format!("cargo-{subcommand} {subcommand} --version")).printed();
    let tool = format!("cargo-{subcommand}");
    ensure!(
        found.is_ok_and(|out| out.status.success()),
        skip(format!("no {tool} here: `cargo install --locked {tool}`"))
    );
    Ok(())
}

pub(super) fn deny(_: &Args) -> Result<String> {
    installed("deny")?;
    cmd("cargo deny --locked check bans licenses sources").must()?;
    Ok("as deny.toml says".to_owned())
}

pub(super) fn advisories(_: &Args) -> Result<String> {
    installed("deny")?;
    cmd("cargo deny fetch db").text().map_err(|error| {
        let why = error.to_string();
        let why = why.lines().find(|line| line.contains("failed to")).unwrap_or("it says no more");
        skip(format!("{UNFETCHED}: {}", why.trim()))
    })?;
    cmd("cargo deny --locked check --disable-fetch advisories").must()?;
    Ok("as deny.toml says".to_owned())
}

/// Compares the libraries' interfaces with those of an earlier commit: the requested one, or that of the last tag of a
/// version. Before the first there is no interface that programs were written against.
pub(super) fn semver(args: &Args) -> Result<String> {
    installed("semver-checks")?;
    let tag = || git(&["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]).ok();
    let against = args.against.clone().or_else(tag).ok_or_else(|| skip(UNTAGGED))?;
    let commit = git(&["rev-parse", "--verify", "--short=12", "--end-of-options", &format!("{against}^{{commit}}")])
        .with_context(|| format!("git knows no commit {against}"))?;
    let compared = LIBRARIES.join(", ");
    println!("{compared}: this tree, beside {against} ({commit}); their versions say which changes may be");
    for library in LIBRARIES {
        cmd(&format!("cargo semver-checks -p {library} --all-features --baseline-rev {commit}")).must()?;
    }
    Ok(format!("{compared} against {against} ({commit})"))
}

/// Writes the list of the parts of each shipped package, and checks whether it has all that cargo builds into it.
pub(super) fn sbom(_: &Args) -> Result<String> {
    installed("cyclonedx")?;
    // The lists will lie next to the manifests.
    let tree = copy_of_the_tree("sbom")?;
    cmd(&format!("cargo cyclonedx --format json --target {TARGET} --no-build-deps")).current_dir(&tree).must()?;
    let mut seen = Vec::new();
    for package in SHIPPED {
        let folder = package.strip_prefix("turnwise-").unwrap_or(package);
        let file = tree.join(format!("crates/{folder}/{package}.cdx.json"));
        let listed = listed(&read(&file)?).with_context(|| format!("{} is not as CycloneDX says", file.display()))?;
        let line = format!("cargo tree --locked -p {package} -e normal,no-proc-macro --target {TARGET} --prefix none");
        let built = built(&cmd(&line).text()?);
        let missing: Vec<&str> = built.difference(&listed).map(String::as_str).collect();
        ensure!(missing.is_empty(), "{} lacks {}", file.display(), missing.join(", "));
        copy(&file, Path::new(FOLDER).join(format!("{package}.cdx.json")))?;
        seen.push(format!("{package} {}", built.len()));
    }
    Ok(format!("packages in each: {}; the lists are in {FOLDER}", seen.join(", ")))
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
