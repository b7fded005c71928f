//! Published crates with the oldest compiler and dependencies that they name, and with each pair of their features.

use super::graph::{Package, published};
use super::{Args, copy_of_the_tree};
use crate::command::{Run, cmd, toml};
use crate::root::{read, write};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// Features that need a later Rust than their crate names, for the sake of a dependency.
const LATER_RUST: &[(&str, &str)] = &[("turnwise", "lock_api")];
/// The crate that others name in their manifests; the rest are parts of the program.
const LIBRARY: &str = "turnwise";

/// Compiles each with the toolchain that its manifest names; in the quick form only where that differs from the
/// workspace's, which compiles them in any case.
pub(super) fn oldest_rust(args: &Args) -> Result<String> {
    let here = read("rust-toolchain.toml")?;
    let mut seen = Vec::new();
    for package in published()? {
        let name = package.name.as_str();
        let version = package.rust_version.as_deref().with_context(|| format!("{name} names no rust-version"))?;
        if args.which.quick && here.contains(&format!("\"{version}")) {
            continue;
        }
        // `1.88` is any of its minor versions; a toolchain has one.
        let toolchain = if version.matches('.').count() == 1 { format!("{version}.0") } else { version.to_owned() };
        cmd(&format!("rustup toolchain install {toolchain} --profile minimal --no-self-update")).must()?;
        let later = |feature: &&str| LATER_RUST.contains(&(name, *feature));
        let features: Vec<&str> = package.features.keys().map(String::as_str).filter(|name| !later(name)).collect();
        // A copy's own lock file could leave out what is too new; ours is what is shipped.
        let line = format!("cargo +{toolchain} check --quiet --locked -p {name} --target-dir target/supply/msrv");
        cmd(&line).args(["--features", &features.join(",")]).must()?;
        seen.push(format!("{name} {version}"));
    }
    ensure!(args.which.quick || !seen.is_empty(), "no crate is to be published");
    Ok(seen.join(", "))
}

/// Compiles each with no feature, with each feature, and with each pair of them; in the quick form the library with
/// each feature alone and with all but each.
pub(super) fn features(args: &Args) -> Result<String> {
    let mut sets = 0;
    for package in published()? {
        let of_package = match args.which.quick {
            true if package.name != LIBRARY => continue,
            true => all_but_one(&package),
            false => up_to_two(&package),
        };
        for set in &of_package {
            let mut check = cmd("cargo check --quiet --locked --target-dir target/supply/features");
            check.args(["-p", &package.name, "--no-default-features", "--features", &set.join(",")]).must()?;
        }
        sets += of_package.len();
    }
    Ok(format!("{sets} sets of features"))
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
pub(super) fn minimal(_: &Args) -> Result<String> {
    let (tree, packages) = (copy_of_the_tree("minimal")?, published()?);
    only(&packages, &tree.join("Cargo.toml"))?;
    std::fs::remove_file(tree.join("Cargo.lock")).context("cannot remove Cargo.lock")?;
    cmd("cargo +nightly update -Zdirect-minimal-versions").current_dir(&tree).must()?;
    // Each alone: together, one would have what another requires.
    for package in &packages {
        cmd("cargo check --quiet --locked -p").arg(&package.name).current_dir(&tree).must()?;
    }
    Ok(format!("{} crates", packages.len()))
}

/// Leaves only these packages in a workspace: chores and proofs may require newer versions.
fn only(packages: &[Package], manifest: &Path) -> Result<()> {
    let mut workspace: toml::Table = toml(manifest)?;
    let here = std::env::current_dir()?;
    let folder = |package: &Package| {
        let folder = package.manifest_path.parent()?.strip_prefix(&here).ok()?;
        Some(toml::Value::String(folder.to_str()?.to_owned()))
    };
    let members = packages.iter().map(folder).collect::<Option<Vec<_>>>().context("a crate lies outside")?;
    let table = workspace.get_mut("workspace").and_then(toml::Value::as_table_mut).context("no [workspace]")?;
    table.remove("default-members");
    table.insert("members".to_owned(), toml::Value::Array(members));
    write(manifest, workspace.to_string())
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
