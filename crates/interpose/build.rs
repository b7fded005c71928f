//! Gives the symbols of the libraries that interpose the C library the C library's versions: makes the linker's
//! arguments, of which the libraries' build scripts take those for the functions that they export.
//!
//! A reference to a function binds to a symbol without version, whatever version it requests; `dlvsym` skips such a
//! symbol. So each function has a symbol without version, for plain references of all binaries, including future ones,
//! and one under each version that the C library has. Functions on condition variables have two ABIs on x86-64. There
//! the newer ABI has its version by default instead, or old binaries might reach it.
//!
//! rustc gives the linker a version script without names. GNU ld does not accept another one alongside it; lld does. It
//! is rustc's default on x86-64 and part of the toolchain on both architectures, so these libraries are always linked
//! by lld.
//!
//! Where crate turnwise-interpose does not compile, nothing is made.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Makes a list of the table: kinds, names, and the versions that glibc gives them on x86-64, in today's ABI.
macro_rules! functions {
    ($dollar:tt $($kind:ident $($version:literal)* { $($name:ident $arguments:tt $(-> $result:ty)?;)* })*) => {
        const FUNCTIONS: &[(&str, &[&str], &[&str])] =
            &[$((stringify!($kind), &[$(stringify!($name)),*], &[$($version),*])),*];
    };
}

include!("functions.rs");

/// glibc's first version on aarch64.
const FIRST_ON_AARCH64: &str = "GLIBC_2.17";

fn main() {
    println!("cargo::rerun-if-changed=functions.rs");
    if !is_known_target() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let [script, arguments] = ["versions", "arguments"].map(|name| out.join(name));
    fs::write(&script, version_script()).expect("cargo's folder can be written");
    let general = [
        format!("-Wl,--version-script={}", script.display()),
        // The library's calls to its own functions stay inside it, whatever library precedes it: those that the linker
        // knows. `-Bsymbolic` would make the loader search here first for all, and find functions that only pass on.
        "-Wl,-Bsymbolic-functions".to_owned(),
        "-fuse-ld=lld".to_owned(),
    ];
    let lines = general.into_iter().chain(lld_of_the_toolchain()).map(|argument| format!("all all {argument}\n"));
    fs::write(&arguments, lines.chain(aliases()).collect::<String>()).expect("cargo's folder can be written");
    // Arguments of the linker, a line each, for a kind of functions, for one of them; or for all.
    println!("cargo::metadata=arguments={}", arguments.display());
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::metadata=c={here}/c");
}

/// Returns whether the build is for one of the targets that this crate compiles for.
fn is_known_target() -> bool {
    let set = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_known_arch = ["x86_64", "aarch64"].contains(&set("ARCH").as_str());
    is_known_arch && set("OS") == "linux" && set("ENV") == "gnu" && set("POINTER_WIDTH") == "64"
}

/// Returns the arguments that define second symbols for functions. They are quoted, since they are not valid names
/// otherwise.
fn aliases() -> impl Iterator<Item = String> {
    FUNCTIONS
        .iter()
        .flat_map(|(kind, names, versions)| names.iter().map(move |name| (*kind, *name, *versions)))
        .flat_map(|(kind, name, versions)| {
            let (ours, plain) = (format!("turnwise_{name}"), name.trim_end_matches("_2_2_5"));
            let versioned = |function: &str| -> Vec<(String, String)> {
                here(versions).iter().map(|version| (format!("{plain}@{version}"), function.to_owned())).collect()
            };
            let aliases = match kind {
                "cond" => vec![(name.to_owned(), ours)],
                "old" if !is_x86_64() => vec![],
                "old" | "passing" => versioned(&ours),
                _ => versioned(name),
            };
            let line = move |(symbol, function)| format!("{kind} {name} -Wl,--defsym=\"{symbol}\"={function}\n");
            aliases.into_iter().map(line)
        })
}

/// Returns the linker's version script. The symbols' names state their version, except for the default version of
/// conditions. The first is not a version of the C library's: a reference without version would prefer it to the
/// default one.
fn version_script() -> String {
    let (_, conditions, default) = FUNCTIONS.iter().find(|(kind, ..)| *kind == "cond").expect("in the table");
    let default = here(default)[0];
    let mut versions: Vec<&str> = FUNCTIONS.iter().flat_map(|(.., versions)| here(versions)).collect();
    versions.sort_unstable();
    versions.dedup();
    let functions = |version| if version == default { conditions.join("; ") + ";" } else { String::new() };
    let lines =
        ["TURNWISE"].iter().chain(&versions).map(|version| format!("{version} {{ {} }};\n", functions(*version)));
    lines.collect()
}

/// Returns the versions on the target architecture.
fn here<'a>(versions: &[&'a str]) -> Vec<&'a str> {
    let is_later = |version: &str| version.rsplit('.').next().and_then(|minor| minor.parse().ok()) > Some(17_u32);
    let is_here = |version: &&'a str| if is_x86_64() || is_later(version) { *version } else { FIRST_ON_AARCH64 };
    let mut here: Vec<&str> = versions.iter().map(is_here).collect();
    here.dedup();
    here
}

fn is_x86_64() -> bool {
    env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|architecture| architecture == "x86_64")
}

/// Returns the argument by which the C compiler finds the toolchain's own lld, if there is one.
fn lld_of_the_toolchain() -> Option<String> {
    let host = env::var("HOST").expect("cargo sets it");
    let rustc = env::var_os("RUSTC").expect("cargo sets it");
    let output = Command::new(rustc).args(["--print", "sysroot"]).output().expect("rustc runs");
    let sysroot = String::from_utf8(output.stdout).expect("a path in UTF-8");
    let folder = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/gcc-ld");
    folder.is_dir().then(|| format!("-B{}", folder.display()))
}
