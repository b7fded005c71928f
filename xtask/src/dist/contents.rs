//! Debian's packages, made, unpacked next to the system and used there.

use super::machine::Machine;
use super::{Args, VERSION, deb, empty_folder, glibc, portable, symbols};
use crate::command::{Run, cmd, need};
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};

/// Files that the packages must have, below `/usr`; `LIB` is the folder of the architecture's libraries.
const NEEDED: &str = "
    bin/turnwise
    share/man/man1/turnwise.1.gz
    share/man/man1/turnwise-compare.1.gz
    share/bash-completion/completions/turnwise
    share/zsh/vendor-completions/_turnwise
    share/fish/vendor_completions.d/turnwise.fish
    share/doc/turnwise/copyright
    share/doc/turnwise/third-party.gz
    share/doc/libturnwise0/copyright
    share/doc/libturnwise-dev/copyright
    include/turnwise.h include/turnwise.hpp include/turnwise_tsan.h
    LIB/libturnwise.so LIB/libturnwise.so.0 LIB/libturnwise.a
    LIB/pkgconfig/turnwise.pc
    LIB/cmake/turnwise/turnwise-config.cmake";

/// Makes the packages and checks them.
pub(super) fn run(args: &Args) -> Result<String> {
    need("dpkg-deb", "dpkg")?;
    let packages = packages(args)?;
    let seen = look(&Machine::own(), &packages)?;
    if args.which.quick { Ok(seen) } else { Ok(seen + &lint(&packages)?) }
}

/// Makes packages for arm64 and checks them like this machine's; their programs run by qemu.
pub(super) fn arm64(_: &Args) -> Result<String> {
    need("dpkg-deb", "dpkg")?;
    let machine = Machine::arm64()?;
    let built = portable::build(&machine)?;
    let asked = glibc::look(&machine, &built)?;
    let packages = deb::make(&machine, &built, &empty_folder(&format!("debian{}", machine.suffix()))?)?;
    Ok(format!("{}{}; {asked}", look(&machine, &packages)?, lint(&packages)?))
}

/// Unpacks packages next to the system, and uses their content; returns what was seen.
fn look(machine: &Machine, packages: &[PathBuf]) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let (root, control) = (folder.path(), folder.path().join("control"));
    for package in packages {
        cmd("dpkg-deb --extract").arg(package).arg(root).must()?;
        cmd("dpkg-deb --control").arg(package).arg(&control).must()?;
        let sums = control.join("md5sums");
        cmd("md5sum --check --quiet --strict").arg(sums).current_dir(root).must()?;
        std::fs::remove_dir_all(&control)?;
        for (field, wanted) in [("Version", format!("{VERSION}-1")), ("Architecture", machine.debian()?)] {
            let found = cmd("dpkg-deb --field").arg(package).arg(field).text()?;
            ensure!(found.trim() == wanted, "{} of {} is {found}", field, package.display());
        }
    }
    let lib = format!("lib/{}", machine.multiarch()?);
    for needed in NEEDED.split_whitespace().map(|needed| needed.replace("LIB", &lib)) {
        ensure!(root.join("usr").join(&needed).exists(), "no package has usr/{needed}");
    }
    let used = portable::use_tool(machine, &root.join("usr/bin/turnwise"))?;
    link(machine, root, &root.join("usr").join(lib))?;
    Ok(format!("{} packages; {used}", packages.len()))
}

/// Makes the packages; returns where they are.
pub(super) fn packages(args: &Args) -> Result<Vec<PathBuf>> {
    let built = symbols::built(args)?;
    let name = if args.which.quick { "debian-of-debug" } else { "debian" };
    deb::make(&Machine::own(), &built, &empty_folder(name)?)
}

/// Compiles a program with what was unpacked, and runs it.
fn link(machine: &Machine, root: &Path, libraries: &Path) -> Result<()> {
    need("pkg-config", "pkg-config")?;
    let flags = cmd("pkg-config --cflags --libs turnwise")
        .env("PKG_CONFIG_LIBDIR", libraries.join("pkgconfig"))
        .env("PKG_CONFIG_SYSROOT_DIR", root)
        .envs([("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1"), ("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1")])
        .text()?;
    let program = root.join("program");
    let mut compile = cmd(&machine.compiler());
    compile.args(["-std=c11", "-pthread", "crates/capi/examples/queue.c"]).args(flags.split_whitespace());
    compile.arg("-o").arg(&program).must()?;
    machine.command(&program).current_dir(root).env("LD_LIBRARY_PATH", libraries).must()
}

/// Returns what lintian finds; fails on anything that it calls an error.
fn lint(packages: &[PathBuf]) -> Result<String> {
    if need("lintian", "lintian").is_err() {
        return Ok("; not linted: no lintian here".to_owned());
    }
    let found = cmd("lintian --allow-root --fail-on none --tag-display-limit 0").args(packages).text()?;
    print!("{found}");
    let errors: Vec<&str> = found.lines().filter(|line| line.starts_with("E:")).collect();
    ensure!(errors.is_empty(), "lintian:\n{}", errors.join("\n"));
    Ok(format!("; lintian finds {} lesser things", found.lines().filter(|line| line.starts_with("W:")).count()))
}
