//! The published packages, packed. Nothing is uploaded.

use super::packages;
use crate::command::{Run, cmd};
use crate::results::text;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

const FOLDER: &str = "target/supply/package";
/// What each package must have in addition to its code.
const NEEDED: [&str; 4] = ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Packs all.
pub(super) fn run() -> Result<String> {
    // Ours are those that come from nowhere. `publish` lists the registries for them: all, without it.
    let mut packages = packages()?;
    packages.retain(|package| package["source"].is_null() && package["publish"] != json!([]));
    let mut pack = cmd("cargo package --quiet --allow-dirty --no-verify --target-dir");
    pack.arg(FOLDER).args(packages.iter().flat_map(|package| ["-p", text(&package["name"])])).must()?;
    for package in &packages {
        let [name, version] = ["name", "version"].map(|key| text(&package[key]));
        let archive = format!("{FOLDER}/package/{name}-{version}.crate");
        complete(package, &cmd("tar -tzf").arg(archive).text()?)?;
    }
    Ok(format!("{} crates packed", packages.len()))
}

/// # Errors
/// The package lacks metadata or a file.
fn complete(package: &Value, listed: &str) -> Result<()> {
    let [name, version] = ["name", "version"].map(|key| text(&package[key]));
    ensure!(package["description"].is_string(), "{name} has no description");
    ensure!(package["license"].is_string(), "{name} names no licence");
    let settings = package["metadata"]["docs"]["rs"].as_object();
    let is_known = |key: &String| ["all-features", "targets"].contains(&key.as_str());
    ensure!(
        settings.is_some_and(|settings| settings.contains_key("targets") && settings.keys().all(is_known)),
        "{name} has nothing for docs.rs in [package.metadata.docs.rs], or a key that docs.rs does not know"
    );
    for needed in NEEDED {
        let path = format!("{name}-{version}/{needed}");
        ensure!(listed.lines().any(|line| line == path), "the package {name} has no {needed}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_a_licence_or_a_readme_is_found() {
        let package = json!({
            "name": "p", "version": "1.0.0", "license": "MIT", "description": "d", "manifest_path": "",
            "metadata": { "docs": { "rs": { "targets": ["t"] } } }
        });
        let files = NEEDED.map(|file| format!("p-1.0.0/{file}"));
        complete(&package, &files.join("\n")).unwrap();
        for missing in 0..NEEDED.len() {
            let others: Vec<&str> = files.iter().filter(|file| **file != files[missing]).map(String::as_str).collect();
            let error = complete(&package, &others.join("\n")).unwrap_err().to_string();
            assert!(error.ends_with(NEEDED[missing]), "{error}");
        }
    }
    #[test]
    fn a_package_that_says_nothing_to_docs_rs_or_in_unknown_words_is_found() {
        for settings in [json!({}), json!({ "targets": [], "all-feature": true })] {
            let package = json!({
                "name": "p", "version": "1.0.0", "license": "MIT", "description": "d", "manifest_path": "",
                "metadata": { "docs": { "rs": settings } }
            });
            let error = complete(&package, "").unwrap_err().to_string();
            assert!(error.contains("docs.rs"), "{error}");
        }
    }
}
