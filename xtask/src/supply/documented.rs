//! The documentation of published crates, as docs.rs makes it: by a nightly compiler, with `--cfg docsrs`, `DOCS_RS` in
//! the environment, and the settings of `[package.metadata.docs.rs]`. Warnings are errors here.

use super::graph::{Package, published};
use super::{Args, LIBRARIES};
use crate::command::{Run, cmd};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// A manifest's settings for docs.rs, as far as ours use them.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    all_features: bool,
    targets: Vec<String>,
}

/// Makes it.
pub(super) fn run(args: &Args) -> Result<String> {
    let mut made = Vec::new();
    for package in published()? {
        // All must have them, also where only some are built: in the quick form.
        let line = command(&package)?;
        if !args.which.quick || LIBRARIES.contains(&package.name.as_str()) {
            cmd(&line).env("DOCS_RS", "1").must()?;
            made.push(package.name);
        }
    }
    Ok(format!("{}; in target/supply/docs.rs/x86_64-unknown-linux-gnu/doc", made.join(", ")))
}

/// Returns the command that documents a package.
fn command(package: &Package) -> Result<String> {
    let name = &package.name;
    let asked = &package.metadata["docs"]["rs"];
    ensure!(asked.is_object(), "{name} has no [package.metadata.docs.rs] in its Cargo.toml");
    let asked = Asked::deserialize(asked).with_context(|| format!("[package.metadata.docs.rs] of {name}"))?;
    let [target] = asked.targets.as_slice() else { bail!("{name} is to be documented for one target") };
    let is_library = |kind: &String| ["lib", "rlib", "cdylib", "staticlib"].contains(&kind.as_str());
    let library = package.targets.iter().any(|target| target.kind.iter().any(is_library));
    let program = package.targets.iter().find(|target| target.kind.iter().any(|kind| kind == "bin"));
    let part = program.filter(|_| !library).map_or("--lib".to_owned(), |program| format!("--bin {}", program.name));
    let features = if asked.all_features { "--all-features " } else { "" };
    Ok(format!(
        "cargo +nightly rustdoc --quiet --locked -p {name} {part} {features}--target {target} \
         --target-dir target/supply/docs.rs -- --cfg docsrs -D warnings"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(metadata: serde_json::Value) -> Package {
        let targets = serde_json::json!([{ "name": "p", "kind": ["bin"] }]);
        let mut package = serde_json::json!({ "name": "p", "version": "1.0.0", "manifest_path": "", "features": {} });
        package["metadata"] = metadata;
        package["targets"] = targets;
        serde_json::from_value(package).unwrap()
    }

    #[test]
    fn a_manifest_that_says_nothing_to_docs_rs_or_what_nobody_reads_is_found() {
        assert!(command(&package(serde_json::Value::Null)).is_err());
        let asked = serde_json::json!({ "docs": { "rs": { "targets": ["t"], "all-features": true } } });
        let line = command(&package(asked)).unwrap();
        assert!(line.contains("-p p --bin p --all-features --target t"), "{line}");
        let misspelt = serde_json::json!({ "docs": { "rs": { "targets": ["t"], "all-feature": true } } });
        assert!(command(&package(misspelt)).is_err());
    }
}
