//! Debian's packages, made, unpacked next to the system and used there.

use super::machine::Machine;
use super::{Args, VERSION, deb, empty_folder, glibc, portable, symbols};
use crate::checks::{Outcome, is_here, must, output};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that the packages must have, below `/usr`; `LIB` is the folder of the architecture's libraries.
const NEEDED: &[&str] = &[
    "bin/turnwise",
    "share/man/man1/turnwise.1.gz",
    "share/man/man1/turnwise-compare.1.gz",
    "share/bash-completion/completions/turnwise",
    "share/zsh/vendor-completions/_turnwise",
    "share/fish/vendor_completions.d/turnwise.fish",
    "share/doc/turnwise/copyright",
    "share/doc/turnwise/third-party.gz",
    "share/doc/libturnwise0/copyright",
    "share/doc/libturnwise-dev/copyright",
    "include/turnwise.h",
    "include/turnwise.hpp",
    "include/turnwise_tsan.h",
    "LIB/libturnwise.so",
    "LIB/libturnwise.so.0",
    "LIB/libturnwise.a",
    "LIB/pkgconfig/turnwise.pc",
    "LIB/cmake/turnwise/turnwise-config.cmake",
];

/// Makes the packages and checks them.
pub(super) fn run(args: &Args) -> Result<Outcome> {
    if !is_here("dpkg-deb") {
        return Ok(Outcome::Skipped("no dpkg-deb here: `apt-get install dpkg`".to_owned()));
    }
    let packages = match packages(args)? {
        Ok(packages) => packages,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let mut seen = look(&Machine::own(), &packages)?;
    if !args.which.quick {
        seen += &lint(&packages)?;
    }
    Ok(Outcome::Ok(seen))
}

/// Makes packages for arm64 and checks them like this machine's; their programs run by qemu.
pub(super) fn run_arm64() -> Result<Outcome> {
    if !is_here("dpkg-deb") {
        return Ok(Outcome::Skipped("no dpkg-deb here: `apt-get install dpkg`".to_owned()));
    }
    let machine = match Machine::arm64()? {
        Ok(machine) => machine,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let built = match portable::build(&machine)? {
        Ok(folder) => folder,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let asked = glibc::look(&machine, &built)?;
    let packages = deb::make(&machine, &built, &empty_folder(&format!("debian{}", machine.suffix()))?)?;
    Ok(Outcome::Ok(format!("{}{}; {asked}", look(&machine, &packages)?, lint(&packages)?)))
}

/// Unpacks packages next to the system, and uses their content; returns what was seen.
fn look(machine: &Machine, packages: &[PathBuf]) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    for package in packages {
        let shown = package.display().to_string();
        let (control, at) = (root.join("control"), root.display().to_string());
        must(Path::new("."), &[], &["dpkg-deb", "--extract", &shown, &at])?;
        must(Path::new("."), &[], &["dpkg-deb", "--control", &shown, &control.display().to_string()])?;
        let sums = control.join("md5sums").display().to_string();
        must(root, &[], &["md5sum", "--check", "--quiet", "--strict", &sums])?;
        std::fs::remove_dir_all(&control)?;
        let version = output(&["dpkg-deb", "--field", &shown, "Version"])?;
        ensure!(version.trim() == format!("{VERSION}-1"), "{shown} has version {version}");
        let architecture = output(&["dpkg-deb", "--field", &shown, "Architecture"])?;
        ensure!(architecture.trim() == machine.debian()?, "{shown} is for {architecture}");
    }
    let lib = format!("lib/{}", machine.multiarch()?);
    for needed in NEEDED {
        let path = root.join("usr").join(needed.replace("LIB", &lib));
        ensure!(path.exists(), "no package has {}", path.strip_prefix(root).unwrap_or(&path).display());
    }
    let used = portable::use_tool(machine, &root.join("usr/bin/turnwise"))?;
    link(machine, root, &lib)?;
    Ok(format!("{} packages; {used}", packages.len()))
}

/// Makes the packages; returns where they are, or why they cannot be made.
pub(super) fn packages(args: &Args) -> Result<Result<Vec<PathBuf>, String>> {
    let built = match symbols::built(args)? {
        Ok(folder) => folder,
        Err(why) => return Ok(Err(why)),
    };
    let name = if args.which.quick { "debian-of-debug" } else { "debian" };
    Ok(Ok(deb::make(&Machine::own(), &built, &empty_folder(name)?)?))
}

/// Compiles a program with what was unpacked, and runs it.
fn link(machine: &Machine, root: &Path, lib: &str) -> Result<()> {
    let out = Command::new("pkg-config")
        .args(["--cflags", "--libs", "turnwise"])
        .env("PKG_CONFIG_LIBDIR", root.join("usr").join(lib).join("pkgconfig"))
        .env("PKG_CONFIG_SYSROOT_DIR", root)
        .env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1")
        .env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1")
        .output();
    let out = out.context("cannot start pkg-config: `apt-get install pkg-config`")?;
    ensure!(out.status.success(), "pkg-config finds no turnwise: {}", String::from_utf8_lossy(&out.stderr));
    let flags = String::from_utf8(out.stdout)?;
    let program = root.join("program").display().to_string();
    let compiler = machine.compiler();
    let mut line = vec![&*compiler, "-std=c11", "-pthread", "-o", &program, "crates/capi/examples/queue.c"];
    line.extend(flags.split_whitespace());
    must(Path::new("."), &[], &line)?;
    let libraries = root.join("usr").join(lib);
    must(root, &[("LD_LIBRARY_PATH", libraries.as_os_str())], &machine.line(&[&program]))
}

/// Returns what lintian finds; fails on anything that it calls an error.
fn lint(packages: &[PathBuf]) -> Result<String> {
    if !is_here("lintian") {
        return Ok("; not linted: no lintian here".to_owned());
    }
    let files: Vec<String> = packages.iter().map(|package| package.display().to_string()).collect();
    let line = ["lintian", "--allow-root", "--fail-on", "none", "--tag-display-limit", "0"];
    let found = output(&[&line[..], &files.iter().map(String::as_str).collect::<Vec<_>>()].concat())?;
    print!("{found}");
    let errors: Vec<&str> = found.lines().filter(|line| line.starts_with("E:")).collect();
    ensure!(errors.is_empty(), "lintian:\n{}", errors.join("\n"));
    Ok(format!("; lintian finds {} lesser things", found.lines().filter(|line| line.starts_with("W:")).count()))
}
