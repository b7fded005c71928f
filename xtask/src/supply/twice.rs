//! The programs and libraries, built in two folders: every byte must be the same.

use super::{FOLDER, copy_of_the_tree, must, output};
use crate::checks::Outcome;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The shipped files: the tool and the C library. The preload library and the recorder are in the tool, byte for byte.
const MADE: &[&str] = &["turnwise", "libturnwise_c.so", "libturnwise_c.a"];
/// Packages that make it.
const PACKAGES: &[&str] = &["turnwise-cli", "turnwise-capi"];
/// Two folders whose paths differ in length, too.
const FOLDERS: [&str; 2] = ["one", "another/of/them"];

/// Builds and compares; the sum of each file.
pub(super) fn run() -> Result<Outcome> {
    // Both before the first is built, which takes long: the tree may be changed meanwhile.
    let trees = FOLDERS.iter().map(|name| copy_of_the_tree(name)).collect::<Result<Vec<_>>>()?;
    let built = trees.iter().map(|tree| build(tree)).collect::<Result<Vec<_>>>()?;
    let mut differing = Vec::new();
    for made in MADE {
        let read = |folder: &PathBuf| std::fs::read(folder.join(made)).with_context(|| format!("cannot read {made}"));
        let (first, second) = (read(&built[0])?, read(&built[1])?);
        if first != second {
            let place = first.iter().zip(&second).position(|(a, b)| a != b).unwrap_or(first.len().min(second.len()));
            differing.push(format!(
                "{made}: {} and {} bytes, the first that differs is {place}",
                first.len(),
                second.len()
            ));
        }
    }
    ensure!(differing.is_empty(), "{}\nboth are kept below {FOLDER}", differing.join("\n"));
    let files: Vec<String> = MADE.iter().map(|made| built[0].join(made).display().to_string()).collect();
    let sums = output(&[&["sha256sum"], &files.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat())?;
    std::fs::write(Path::new(FOLDER).join("sums"), &sums)?;
    print!("{sums}");
    Ok(Outcome::Ok(format!("{} files of the same bytes; {FOLDER}/sums has their sums", MADE.len())))
}

/// Builds a copy of the tree; returns where the products lie.
fn build(tree: &Path) -> Result<PathBuf> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => std::env::home_dir().context("the environment names neither CARGO_HOME nor HOME")?.join(".cargo"),
    };
    let (here, home) = (tree.display(), home.display());
    // As a distribution builds: without paths of a particular machine. Without symbols, like the shipped files: names
    // of local ones end in a number of their module, which differed between the folders.
    let rust = format!("--remap-path-prefix={here}=/turnwise --remap-path-prefix={home}=/cargo -Cstrip=symbols");
    let c = format!("-ffile-prefix-map={here}=/turnwise");
    let env: &[(&str, &OsStr)] =
        &[("RUSTFLAGS", OsStr::new(&rust)), ("CFLAGS", OsStr::new(&c)), ("CARGO_INCREMENTAL", OsStr::new("0"))];
    let packages: Vec<&str> = PACKAGES.iter().flat_map(|package| ["-p", package]).collect();
    must(tree, env, &[&["cargo", "build", "--quiet", "--locked", "--profile", "dist"], &packages[..]].concat())?;
    Ok(tree.join("target/dist"))
}
