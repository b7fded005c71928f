//! The documentation of published crates, as docs.rs makes it: by a nightly compiler, with `--cfg docsrs`, `DOCS_RS` in
//! the environment, and the settings of `[package.metadata.docs.rs]`. Warnings are errors here.

use super::graph::{Package, published};
use super::{Args, must};
use crate::checks::Outcome;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::ffi::OsStr;
use std::path::Path;

/// The crates that people write programs with; in the quick form these alone.
const LIBRARIES: &[&str] = &["turnwise", "turnwise-live"];

/// A manifest's settings for docs.rs, as far as ours use them.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    all_features: bool,
    targets: Vec<String>,
}

/// Makes it.
pub(super) fn run(args: &Args) -> Result<Outcome> {
    let mut made = Vec::new();
    for package in published()? {
        // All must have them, also where only some are built.
        let line = command(&package)?;
        if !args.which.quick || LIBRARIES.contains(&package.name.as_str()) {
            let env = [("DOCS_RS", OsStr::new("1"))];
            must(Path::new("."), &env, &line.iter().map(String::as_str).collect::<Vec<_>>())?;
            made.push(package.name);
        }
    }
    Ok(Outcome::Ok(format!("{}; in target/supply/docs.rs/x86_64-unknown-linux-gnu/doc", made.join(", "))))
}

/// Returns the command that documents a package.
fn command(package: &Package) -> Result<Vec<String>> {
    let name = &package.name;
    let asked = &package.metadata["docs"]["rs"];
    ensure!(asked.is_object(), "{name} has no [package.metadata.docs.rs] in its Cargo.toml");
    let asked = Asked::deserialize(asked).with_context(|| format!("[package.metadata.docs.rs] of {name}"))?;
    let [target] = asked.targets.as_slice() else { bail!("{name} is to be documented for one target") };
    let is_library = |kind: &String| ["lib", "rlib", "cdylib", "staticlib"].contains(&kind.as_str());
    let library = package.targets.iter().any(|target| target.kind.iter().any(is_library));
    let program = package.targets.iter().find(|target| target.kind.iter().any(|kind| kind == "bin"));
    let mut line = vec!["cargo", "+nightly", "rustdoc", "--quiet", "--locked", "-p", name];
    match program.filter(|_| !library) {
        Some(program) => line.extend(["--bin", &program.name]),
        None => line.push("--lib"),
    }
    line.extend(asked.all_features.then_some("--all-features"));
    line.extend(["--target", target, "--target-dir", "target/supply/docs.rs"]);
    line.extend(["--", "--cfg", "docsrs", "-D", "warnings"]);
    Ok(line.into_iter().map(str::to_owned).collect())
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
        let line = command(&package(asked)).unwrap().join(" ");
        assert!(line.contains("-p p --bin p --all-features --target t"), "{line}");
        let misspelt = serde_json::json!({ "docs": { "rs": { "targets": ["t"], "all-feature": true } } });
        assert!(command(&package(misspelt)).is_err());
    }
}
