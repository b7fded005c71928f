//! Hostile input: each target is a test that calls [`check`], and has two drivers.
//!
//! | driver | when | input |
//! |---|---|---|
//! | `short.rs` | `cargo test`: the same each time, about a second for a target | the corpus, the seeds, and some thousand mutations of them by `mutate.rs` |
//! | `long.rs` | `cargo xtask fuzz`: as long as one likes | libFuzzer's, which the code that they reach guides |
//!
//! A target takes any bytes. It may refuse them; it must not panic, hang, or ask for much memory. What it was given
//! when it did lies below `target/fuzz`, and belongs into `corpus/TARGET` once it is mended.

#[cfg(feature = "libfuzzer")]
mod long;
pub mod mutate;
pub mod patches;
mod short;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Set by `cargo xtask fuzz`: the seconds that libFuzzer has for the target.
pub const SECONDS: &str = "TURNWISE_FUZZ_SECONDS";
/// Set by `cargo xtask fuzz --keep`: the smallest inputs with all that was reached go into the corpus.
pub const KEEP: &str = "TURNWISE_FUZZ_KEEP";

/// What is fuzzed.
pub(crate) struct Target<'a> {
    pub(crate) name: &'a str,
    /// Inputs to begin with, beside the corpus.
    pub(crate) seeds: Vec<Vec<u8>>,
    pub(crate) run: &'a dyn Fn(&[u8]),
}

impl Target<'_> {
    /// Where inputs are kept.
    pub(crate) fn corpus(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name)
    }

    /// The corpus, in the order of its names, and the seeds.
    pub(crate) fn inputs(&self) -> Vec<(String, Vec<u8>)> {
        let files = fs::read_dir(self.corpus()).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files.collect();
        files.sort();
        let read = |file: PathBuf| {
            let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            (file.display().to_string(), bytes)
        };
        let seeds = self.seeds.iter().enumerate().map(|(number, seed)| (format!("seed {number}"), seed.clone()));
        files.into_iter().map(read).chain(seeds).collect()
    }
}

/// Where inputs lie while they are tried, and those that were too much for a target.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    let folder = target.join("fuzz").join(name);
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

/// Tries `run` on the corpus of this name, on the seeds, and on what becomes of them.
///
/// # Panics
/// If `run` does, takes seconds, or lets the process grow by a gigabyte; the message names the input's file.
pub fn check(name: &str, mutations: u32, seeds: Vec<Vec<u8>>, run: impl Fn(&[u8])) {
    let target = Target { name, seeds, run: &run };
    match env::var(SECONDS) {
        #[cfg(feature = "libfuzzer")]
        Ok(seconds) => long::run(&target, &seconds),
        #[cfg(not(feature = "libfuzzer"))]
        Ok(_) => panic!("{SECONDS} is set, but this was built without the feature `libfuzzer`: `cargo xtask fuzz`"),
        Err(_) => short::run(&target, mutations),
    }
}

/// Takes an input for a command line: a zero byte ends each word.
#[must_use]
pub fn words(program: &str, input: &[u8]) -> Vec<OsString> {
    let typed = input.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).to_owned());
    std::iter::once(program.into()).chain(typed).collect()
}
