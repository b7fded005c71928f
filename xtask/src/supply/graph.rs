//! Cargo's knowledge of packages: `cargo metadata`.

use crate::command::{Run, cmd};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Deserialize)]
pub(crate) struct Graph {
    pub(crate) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(super) license: Option<String>,
    pub(super) description: Option<String>,
    /// Where it comes from; none: this workspace.
    pub(crate) source: Option<String>,
    /// The registries that it may be published to: none, if this is empty; all, if there is no list.
    publish: Option<Vec<String>>,
    pub(super) rust_version: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(super) features: BTreeMap<String, Vec<String>>,
    /// Its manifest's settings for other programs, docs.rs among them.
    #[serde(default)]
    pub(super) metadata: serde_json::Value,
    #[serde(default)]
    pub(super) targets: Vec<Target>,
}

/// A library, a program, or another product of a package.
#[derive(Deserialize)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) kind: Vec<String>,
}

impl Package {
    /// Returns whether it is a package of ours that is to be published.
    fn is_published(&self) -> bool {
        self.source.is_none() && self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

/// Returns the packages of builds for `target` with all features; for all targets, if none is named.
pub(crate) fn packages(target: Option<&str>) -> Result<Vec<Package>> {
    let mut line = cmd("cargo metadata --format-version=1 --locked --all-features");
    let text = line.args(target.iter().flat_map(|target| ["--filter-platform", target])).text()?;
    let graph: Graph = serde_json::from_str(&text).context("`cargo metadata` prints what is not understood")?;
    Ok(graph.packages)
}

/// Returns our crates that are to be published.
pub(super) fn published() -> Result<Vec<Package>> {
    Ok(packages(None)?.into_iter().filter(Package::is_published).collect())
}
