//! Cargo's knowledge of packages: `cargo metadata`.

use crate::command::{Run, cmd};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Graph {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    pub(super) description: Option<String>,
    /// Where it comes from; none: this workspace.
    pub(super) source: Option<String>,
    /// The registries that it may be published to: none, if this is empty; all, if there is no list.
    publish: Option<Vec<String>>,
    pub(super) manifest_path: PathBuf,
    /// Its manifest's settings for other programs, docs.rs among them.
    #[serde(default)]
    pub(super) metadata: serde_json::Value,
}

/// Returns the packages of builds with all features, for all targets.
pub(super) fn packages() -> Result<Vec<Package>> {
    let text = cmd("cargo metadata --format-version=1 --locked --all-features").text()?;
    let graph: Graph = serde_json::from_str(&text).context("`cargo metadata` prints what is not understood")?;
    Ok(graph.packages)
}

/// Returns our crates that are to be published.
pub(super) fn published() -> Result<Vec<Package>> {
    let is_published = |of: &Package| of.publish.as_ref().is_none_or(|registries| !registries.is_empty());
    Ok(packages()?.into_iter().filter(|of| of.source.is_none() && is_published(of)).collect())
}
