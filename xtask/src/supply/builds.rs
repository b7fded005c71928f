//! Published crates with the oldest compiler and dependencies that they name, and with each pair of their features.

use super::graph::{Package, published};
use super::{Args, copy_of_the_tree, must};
use crate::checks::Outcome;
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// Features that need a later Rust than their crate names, for the sake of a dependency.
const LATER_RUST: &[(&str, &str)] = &[("turnwise", "lock_api")];
/// The crate that others name in their manifests; the rest are parts of the program.
const LIBRARY: &str = "turnwise";

/// Compiles each with the toolchain that its manifest names; in the quick form only where that differs from the
/// workspace's, which compiles them in any case.
pub(super) fn oldest_rust(args: &Args) -> Result<Outcome> {
    let here = std::fs::read_to_string("rust-toolchain.toml")?;
    let mut seen = Vec::new();
    for package in published()? {
        let version = package.oldest_rust()?;
        if args.which.quick && here.contains(&format!("\"{version}")) {
            continue;
        }
        // `1.88` is any of its minor versions; a toolchain has one.
        let toolchain = if version.matches('.').count() == 1 { format!("{version}.0") } else { version.to_owned() };
        must(
            Path::new("."),
            &[],
            &["rustup", "toolchain", "install", &toolchain, "--profile", "minimal", "--no-self-update"],
        )?;
        let later = |name: &&str| LATER_RUST.contains(&(package.name.as_str(), *name));
        let features: Vec<&str> = package.features.keys().map(String::as_str).filter(|name| !later(name)).collect();
        let (plus, features) = (format!("+{toolchain}"), features.join(","));
        // A copy's own lock file could leave out what is too new; ours is what is shipped.
        must(
            Path::new("."),
            &[],
            &[
                "cargo",
                &plus,
                "check",
                "--quiet",
                "--locked",
                "-p",
                &package.name,
                "--features",
                &features,
                "--target-dir",
                "target/supply/msrv",
            ],
        )?;
        seen.push(format!("{} {version}", package.name));
    }
    ensure!(args.which.quick || !seen.is_empty(), "no crate is to be published");
    Ok(Outcome::Ok(seen.join(", ")))
}

/// Compiles each with no feature, with each feature, and with each pair of them; in the quick form the library with
/// each feature alone and with all but each.
pub(super) fn features(args: &Args) -> Result<Outcome> {
    let mut sets = 0;
    for package in published()? {
        let of_package = match args.which.quick {
            true if package.name != LIBRARY => continue,
            true => all_but_one(&package),
            false => up_to_two(&package),
        };
        for set in &of_package {
            must(
                Path::new("."),
                &[],
                &[
                    "cargo",
                    "check",
                    "--quiet",
                    "--locked",
                    "-p",
                    &package.name,
                    "--no-default-features",
                    "--features",
                    &set.join(","),
                    "--target-dir",
                    "target/supply/features",
                ],
            )?;
        }
        sets += of_package.len();
    }
    Ok(Outcome::Ok(format!("{sets} sets of features")))
}

fn names(package: &Package) -> Vec<&str> {
    package.features.keys().map(String::as_str).filter(|name| *name != "default").collect()
}

fn up_to_two(package: &Package) -> Vec<Vec<&str>> {
    let names = names(package);
    let mut sets = vec![vec![]];
    for (place, first) in names.iter().enumerate() {
        sets.push(vec![*first]);
        sets.extend(names[place + 1..].iter().map(|second| vec![*first, *second]));
    }
    sets
}

/// Returns each feature alone, and all but each.
fn all_but_one(package: &Package) -> Vec<Vec<&str>> {
    let names = names(package);
    let alone = names.iter().map(|name| vec![*name]);
    let without = names.iter().map(|name| names.iter().copied().filter(|other| other != name).collect());
    alone.chain(without).collect()
}

/// Compiles, in a copy of the tree, with the oldest versions of all that published crates name.
pub(super) fn minimal() -> Result<Outcome> {
    let tree = copy_of_the_tree("minimal")?;
    let packages = published()?;
    only(&packages, &tree.join("Cargo.toml"))?;
    let lock = tree.join("Cargo.lock");
    std::fs::remove_file(&lock).with_context(|| format!("cannot remove {}", lock.display()))?;
    must(&tree, &[], &["cargo", "+nightly", "update", "-Zdirect-minimal-versions"])?;
    // Each alone: together, one would have what another requires.
    for package in &packages {
        must(&tree, &[], &["cargo", "check", "--quiet", "--locked", "-p", &package.name])?;
    }
    Ok(Outcome::Ok(format!("{} crates", packages.len())))
}

/// Leaves only these packages in a workspace: chores and proofs may require newer versions.
fn only(packages: &[Package], manifest: &Path) -> Result<()> {
    let text = std::fs::read_to_string(manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let mut workspace: toml::Table = text.parse().with_context(|| format!("{}", manifest.display()))?;
    let here = std::env::current_dir()?;
    let folder = |package: &Package| {
        let folder = package.manifest_path.parent()?.strip_prefix(&here).ok()?;
        Some(toml::Value::String(folder.to_str()?.to_owned()))
    };
    let members = packages.iter().map(folder).collect::<Option<Vec<_>>>().context("a crate lies outside")?;
    let table = workspace.get_mut("workspace").and_then(toml::Value::as_table_mut).context("no [workspace]")?;
    table.remove("default-members");
    table.insert("members".to_owned(), toml::Value::Array(members));
    std::fs::write(manifest, workspace.to_string()).with_context(|| format!("cannot write {}", manifest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> Package {
        let features = serde_json::json!({ "a": [], "b": ["a"], "c": [], "default": ["a"] });
        serde_json::from_value(
            serde_json::json!({ "name": "p", "version": "1.0.0", "manifest_path": "", "features": features }),
        )
        .unwrap()
    }

    #[test]
    fn every_pair_of_features_is_a_set() {
        let sets = [&[][..], &["a"], &["a", "b"], &["a", "c"], &["b"], &["b", "c"], &["c"]];
        assert_eq!(up_to_two(&package()), sets);
    }

    #[test]
    fn every_feature_is_alone_once_and_left_out_once() {
        let sets = [&["a"][..], &["b"], &["c"], &["b", "c"], &["a", "c"], &["a", "b"]];
        assert_eq!(all_but_one(&package()), sets);
    }
}
