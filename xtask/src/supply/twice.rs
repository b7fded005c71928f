//! The programs and libraries, built in two folders: every byte must be the same.

use super::{Args, FOLDER, copy_of_the_tree};
use crate::command::{Run, cmd};
use crate::root::write;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// The shipped files: the tool and the C library. The preload library and the recorder are in the tool, byte for byte.
const MADE: &[&str] = &["turnwise", "libturnwise_c.so", "libturnwise_c.a"];
/// Two folders whose paths differ in length, too.
const FOLDERS: [&str; 2] = ["one", "another/of/them"];

/// Builds and compares; the sum of each file.
pub(super) fn run(_: &Args) -> Result<String> {
    // Both before the first is built, which takes long: the tree may be changed meanwhile.
    let trees = FOLDERS.iter().map(|name| copy_of_the_tree(name)).collect::<Result<Vec<_>>>()?;
    let built = trees.iter().map(|tree| build(tree)).collect::<Result<Vec<_>>>()?;
    let mut differing = Vec::new();
    for made in MADE {
        let read = |folder: &PathBuf| std::fs::read(folder.join(made)).with_context(|| format!("cannot read {made}"));
        let (first, second) = (read(&built[0])?, read(&built[1])?);
        if first != second {
            let (one, other) = (first.len(), second.len());
            let place = first.iter().zip(&second).position(|(a, b)| a != b).unwrap_or(one.min(other));
            differing.push(format!("{made}: {one} and {other} bytes, the first that differs is {place}"));
        }
    }
    ensure!(differing.is_empty(), "{}\nboth are kept below {FOLDER}", differing.join("\n"));
    let sums = cmd("sha256sum").args(MADE.iter().map(|made| built[0].join(made))).text()?;
    write(Path::new(FOLDER).join("sums"), &sums)?;
    print!("{sums}");
    Ok(format!("{} files of the same bytes; {FOLDER}/sums has their sums", MADE.len()))
}

/// Builds a copy of the tree; returns where the products lie.
fn build(tree: &Path) -> Result<PathBuf> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => std::env::home_dir().context("the environment names neither CARGO_HOME nor HOME")?.join(".cargo"),
    };
    let (here, home) = (tree.display(), home.display());
    let mut build = cmd("cargo build --quiet --locked --profile dist -p turnwise-cli -p turnwise-capi");
    // As a distribution builds: without paths of a particular machine. Without symbols, like the shipped files: names
    // of local ones end in a number of their module, which differed between the folders.
    let rust = format!("--remap-path-prefix={here}=/turnwise --remap-path-prefix={home}=/cargo -Cstrip=symbols");
    build.env("RUSTFLAGS", rust).env("CFLAGS", format!("-ffile-prefix-map={here}=/turnwise"));
    build.env("CARGO_INCREMENTAL", "0").current_dir(tree).must()?;
    Ok(tree.join("target/dist"))
}
