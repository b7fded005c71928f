//! The published packages, packed, and the tool installed from them alone. Nothing is uploaded.

use super::graph::{Package, published};
use super::{Args, FOLDER};
use crate::command::{Run, cmd};
use crate::dist::use_tool;
use crate::root::write;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// What each package must have in addition to its code.
const NEEDED: [&str; 4] = ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// Cargo's home, whose settings hold wherever cargo runs: there is no other registry.
const HOME: &str = "home";
/// The crate of the tool.
const TOOL: &str = "turnwise-cli";

/// Packs all; outside the quick form, also installs the tool from the packages and builds a program on the libraries.
pub(super) fn run(args: &Args) -> Result<String> {
    let packages = published()?;
    let folder = std::path::absolute(FOLDER)?;
    let mut pack = cmd("cargo package --quiet --allow-dirty --no-verify --target-dir");
    pack.arg(folder.join("package")).args(packages.iter().flat_map(|package| ["-p", &package.name])).must()?;
    for package in &packages {
        complete(package, &cmd("tar -tzf").arg(archive(&folder, package)).text()?)?;
    }
    if !args.which.quick {
        let clean = registry(&folder, &packages)?;
        install(&clean)?;
        take_the_libraries(&clean)?;
    }
    let how = if args.which.quick { "packed" } else { "packed; the tool installed from them, and the libraries taken" };
    Ok(format!("{} crates {how}", packages.len()))
}

fn archive(folder: &Path, package: &Package) -> PathBuf {
    folder.join(format!("package/package/{}-{}.crate", package.name, package.version))
}

/// # Errors
/// The package lacks metadata or a file.
fn complete(package: &Package, listed: &str) -> Result<()> {
    let Package { name, version, .. } = package;
    ensure!(package.description.is_some(), "{name} has no description");
    ensure!(package.license.is_some(), "{name} names no licence");
    for needed in NEEDED {
        let path = format!("{name}-{version}/{needed}");
        ensure!(listed.lines().any(|line| line == path), "the package {name} has no {needed}");
    }
    Ok(())
}

/// Makes a folder in which cargo knows these packages, and the third-party ones in `Cargo.lock`, without network.
fn registry(folder: &Path, packages: &[Package]) -> Result<PathBuf> {
    let clean = folder.join("clean");
    if clean.exists() {
        std::fs::remove_dir_all(&clean).with_context(|| format!("cannot remove {}", clean.display()))?;
    }
    let all = clean.join("packages");
    cmd("cargo vendor --quiet --locked --versioned-dirs --no-delete").arg(&all).must()?;
    for package in packages {
        let archive = archive(folder, package);
        cmd("tar -xzf").arg(&archive).current_dir(&all).must()?;
        let sum = cmd("sha256sum").arg(&archive).text()?;
        let sum = sum.split_whitespace().next().context("sha256sum prints no sum")?;
        let file = all.join(format!("{}-{}/.cargo-checksum.json", package.name, package.version));
        write(file, serde_json::json!({ "files": {}, "package": sum }).to_string())?;
    }
    let config = format!(
        "[source.crates-io]\nreplace-with = \"packages\"\n[source.packages]\ndirectory = \"{}\"\n\
         [net]\noffline = true\n",
        all.display()
    );
    write(clean.join(HOME).join("config.toml"), config)?;
    Ok(clean)
}

/// Installs the tool, and has it run a program on the locks that it carries.
fn install(clean: &Path) -> Result<()> {
    // Optimised code is tested elsewhere; the libraries that it carries are always optimised.
    let mut install = cmd(&format!("cargo install --quiet --debug --locked {TOOL} --root installed"));
    install.env("CARGO_TARGET_DIR", clean.join("target")).env("CARGO_HOME", clean.join(HOME));
    install.current_dir(clean).must()?;
    use_tool(&clean.join("installed/bin/turnwise")).map(drop)
}

/// Builds a program that takes the libraries, from the packages alone.
fn take_the_libraries(clean: &Path) -> Result<()> {
    let program = clean.join("program");
    let manifest = "[package]\nname = \"program\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
                    turnwise = { version = \"0.1\", features = [\"lock_api\"] }\n\
                    turnwise-live = { version = \"0.1\", default-features = false, features = [\"own\"] }\n";
    write(program.join("Cargo.toml"), manifest)?;
    let source = "static HITS: turnwise::Mutex<u32> = turnwise::Mutex::new(0);\n\
                  fn main() {\n    turnwise_live::own::start().unwrap();\n    *HITS.lock() += 1;\n    \
                  assert_eq!(*HITS.lock(), 1);\n}\n";
    write(program.join("src/main.rs"), source)?;
    cmd("cargo run --quiet").current_dir(&program).env("CARGO_HOME", clean.join(HOME)).must()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_a_licence_or_a_readme_is_found() {
        let text = serde_json::json!({
            "name": "p", "version": "1.0.0", "license": "MIT", "description": "d", "manifest_path": "", "features": {}
        });
        let package: Package = serde_json::from_value(text).unwrap();
        let files = NEEDED.map(|file| format!("p-1.0.0/{file}"));
        complete(&package, &files.join("\n")).unwrap();
        for missing in 0..NEEDED.len() {
            let others: Vec<&str> = files.iter().filter(|file| **file != files[missing]).map(String::as_str).collect();
            let error = complete(&package, &others.join("\n")).unwrap_err().to_string();
            assert!(error.ends_with(NEEDED[missing]), "{error}");
        }
    }
}
