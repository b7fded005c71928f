//! `cargo xtask sanitize`: programs in C and C++ on our libraries under AddressSanitizer and
//! UndefinedBehaviorSanitizer. They see the programs and what the libraries do to their memory by the C library's
//! functions, but not the inside of the libraries, which Miri and ThreadSanitizer check.

use crate::command::{Run, cmd, text_of, workspace};
use anyhow::{Context, Result, ensure};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const SANITIZED: [&str; 5] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1", "-pthread"];
/// Linked with the C library.
const LINKED: [&str; 5] = [
    "crates/capi/tests/c/locks.c",
    "crates/capi/tests/c/waits.c",
    "crates/capi/tests/c/standard.cpp",
    "crates/capi/examples/queue.c",
    "crates/capi/examples/cache.cpp",
];
/// Run with the preload library, of `crates/preload/tests/c`. Not here: `keys.c`, which uses a key that never existed;
/// `cancel.c`, whose unwinding AddressSanitizer does not follow; and `fork.c`, whose children start threads: 2 of 100
/// hang in the sanitizer, which does not support that, with our library and without it.
const PRELOADED: &str = "c11 cancel_one cond destroy destroy_waited exclusion exit foreign fork_requested fork_tries \
                         many rwlock rwlock_stress signals threads timed";
/// Runs a program, for 300 s at most.
const LIMITED: &str = "timeout -k 5 300";

/// Programs in C and C++ on our libraries under address and undefined-behaviour sanitizers
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Builds and runs them; returns `true` if there are no complaints.
pub(crate) fn run(_: &Args) -> Result<bool> {
    let libraries = workspace()?;
    let folder = tempfile::tempdir()?;
    // As it is installed: programs look for it by the name of its interface.
    let library = libraries.join("libturnwise_c.so");
    for name in ["libturnwise.so", "libturnwise.so.0"] {
        symlink(&library, folder.path().join(name))?;
    }
    let preload = format!("LD_PRELOAD={}", libraries.join("libturnwise_preload.so").display());
    let preloaded = PRELOADED.split(' ').map(|name| format!("crates/preload/tests/c/{name}.c"));
    let sources: Vec<_> = LINKED.iter().map(|source| (*source).to_owned()).chain(preloaded).collect();
    let mut failed = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        let program = compile(Path::new(source), folder.path())?;
        let mut command = cmd(LIMITED);
        command.env("LD_LIBRARY_PATH", folder.path());
        if place >= LINKED.len() {
            // What is preloaded comes before the sanitizer, which allows that. Threads that are cancelled leave memory.
            command.env("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0").args(["env", &preload]);
        }
        command.arg(&program);
        failed.extend((!is_fine(command)?).then_some(source));
    }
    println!("sanitize: {} programs, {} failed", sources.len(), failed.len());
    failed.iter().for_each(|source| println!("failed: {source}"));
    Ok(failed.is_empty())
}

/// Compiles a program with both sanitizers; returns its path.
fn compile(source: &Path, folder: &Path) -> Result<PathBuf> {
    let name = source.file_name().context("a source has a name")?;
    let program = folder.join(name).with_extension("program");
    let is_cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let mut compiler = Command::new(if is_cpp { "g++" } else { "gcc" });
    compiler.arg(if is_cpp { "-std=c++20" } else { "-std=gnu11" }).args(SANITIZED);
    compiler.args(["-I", "crates/capi/include"]).arg(source).arg("-o").arg(&program);
    if source.starts_with("crates/capi") {
        compiler.arg("-L").arg(folder).arg("-lturnwise");
    }
    ensure!(compiler.arg("-ldl").succeeds()?, "{} does not compile with the sanitizers", source.display());
    Ok(program)
}

/// Runs a program; shows its complaints.
fn is_fine(mut command: Command) -> Result<bool> {
    let ended = command.printed()?;
    let shown = text_of(&ended.stderr);
    let is_fine = ended.status.success() && !shown.contains("runtime error") && !shown.contains("AddressSanitizer");
    if !is_fine {
        println!("{command:?}: {}\n{shown}", ended.status);
    }
    Ok(is_fine)
}
