//! Gives the symbols of the libraries that interpose the C library the C library's versions; for their build scripts.
//!
//! A reference to a function binds to a symbol without version, whatever version it requests; `dlvsym` skips such a
//! symbol. So each function has a symbol without version, for plain references of all binaries, including future ones,
//! and one under each version that the C library has. Functions on condition variables have two ABIs on x86-64. There
//! the newer ABI has its version by default instead, or old binaries might reach it.
//!
//! rustc gives the linker a version script without names. GNU ld does not accept another one alongside it; lld does. It
//! is rustc's default on x86-64 and part of the toolchain on both architectures, so these libraries are always linked
//! by lld.

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

/// The functions among these that a library exports.
pub(crate) struct Exports {
    /// Functions that it does not export.
    pub(crate) without: &'static [&'static str],
    /// Whether it exports, on x86-64, the condition variables of programs of 2002, as `turnwise_`, the name and
    /// `_2_2_5`.
    pub(crate) old_conditions: bool,
}

/// Returns whether the build is for one of the targets that crate turnwise-interpose compiles for.
pub(crate) fn is_known_target() -> bool {
    let set = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_known_arch = ["x86_64", "aarch64"].contains(&set("ARCH").as_str());
    is_known_arch && set("OS") == "linux" && set("ENV") == "gnu" && set("POINTER_WIDTH") == "64"
}

/// Instructs cargo how to link the library.
pub(crate) fn link(exports: &Exports) {
    println!("cargo::rerun-if-changed=versions.rs");
    println!("cargo::rerun-if-changed=functions.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let script = out.join("versions");
    fs::write(&script, version_script()).expect("cargo's folder can be written");
    argument(&format!("-Wl,--version-script={}", script.display()));
    // Otherwise lld names the first version after the file that it writes, with the folder of the build.
    let package = env::var("CARGO_PKG_NAME").expect("cargo sets it");
    argument(&format!("-Wl,-soname,lib{}.so", package.replace('-', "_")));
    for (kind, names, versions) in FUNCTIONS {
        for name in names.iter().filter(|name| !exports.without.contains(name)) {
            let (function, plain) = (format!("turnwise_{name}"), name.trim_end_matches("_2_2_5"));
            let versions = here(versions).into_iter();
            match *kind {
                "ours" => {}
                "cond" => alias(name, &function),
                "old" if !exports.old_conditions || !is_x86_64() => {}
                "old" | "passing" => versions.for_each(|version| alias(&format!("{plain}@{version}"), &function)),
                _ => versions.for_each(|version| alias(&format!("{name}@{version}"), name)),
            }
        }
    }
    // The library's calls to its own functions stay inside it, whatever library precedes it: those that the linker
    // knows. `-Bsymbolic` would make the loader search here first for all, and find functions that only pass on.
    argument("-Wl,-Bsymbolic-functions");
    take_lld();
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

/// Defines a second symbol for a function. It is quoted, since it is not a valid name otherwise.
fn alias(symbol: &str, function: &str) {
    argument(&format!("-Wl,--defsym=\"{symbol}\"={function}"));
}

fn argument(text: &str) {
    println!("cargo::rustc-link-arg-cdylib={text}");
}

/// Links by the toolchain's own lld if there is one, otherwise by one that the C compiler finds.
fn take_lld() {
    let host = env::var("HOST").expect("cargo sets it");
    let rustc = env::var_os("RUSTC").expect("cargo sets it");
    let output = Command::new(rustc).args(["--print", "sysroot"]).output().expect("rustc runs");
    let sysroot = String::from_utf8(output.stdout).expect("a path in UTF-8");
    let folder = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/gcc-ld");
    if folder.is_dir() {
        argument(&format!("-B{}", folder.display()));
    }
    argument("-fuse-ld=lld");
}
