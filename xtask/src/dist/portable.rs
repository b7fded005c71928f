//! Builds for old C libraries, and for none.
//!
//! Programs need the newest versions of the symbols of the C library that they are linked with. These are linked with
//! stubs of an older glibc instead, which the Zig compiler makes of its lists of symbols; everything else comes from
//! this machine's compiler.

use super::machine::Machine;
use super::{Args, FOLDER, VERSION, empty_folder};
use crate::command::{Run, both, cmd, need, skip, text_of};
use crate::root::{copy, write};
use anyhow::{Context, Result, ensure};
use std::env::consts::ARCH;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest C library that the shipped files need: Debian 10's, and that of Red Hat 8.
pub(super) const GLIBC: &str = "2.28";
/// What is taken from the Python registry.
const REQUIRED: &str = "packaging/requirements.txt";

/// Builds the tool and the C library for old C libraries; returns where they lie.
pub(super) fn build(machine: &Machine) -> Result<PathBuf> {
    cargo(machine, &format!("{}-unknown-linux-gnu", machine.arch), &["turnwise-cli", "turnwise-capi"])
}

/// Builds packages in an environment in which cargo and its children link with the stubs; returns where they lie.
fn cargo(machine: &Machine, target: &str, packages: &[&str]) -> Result<PathBuf> {
    let (upper, compiler) = (machine.arch.to_uppercase(), stubs(machine)?.join("cc"));
    let mut build = cmd(&format!("cargo build --quiet --profile dist --locked --target-dir {FOLDER}/build --target"));
    build.arg(target).args(packages.iter().flat_map(|package| ["-p", package])).env("CARGO_INCREMENTAL", "0");
    build.env(format!("CARGO_TARGET_{upper}_UNKNOWN_LINUX_GNU_LINKER"), &compiler);
    build.env(format!("CARGO_TARGET_{upper}_UNKNOWN_LINUX_GNU_RUSTFLAGS"), "-Cstrip=symbols");
    build.env(format!("CC_{}_unknown_linux_gnu", machine.arch), &compiler).must()?;
    Ok(std::path::absolute(FOLDER)?.join("build").join(target).join("dist"))
}

/// Returns Python with what [`REQUIRED`] names.
pub(super) fn python() -> Result<PathBuf> {
    let folder = std::path::absolute(FOLDER)?.join("python");
    let python = folder.join("bin/python3");
    if !python.exists() && cmd("python3 -m venv").arg(&folder).must().is_err() {
        return Err(skip("python3 makes no environment: `apt-get install python3-venv`"));
    }
    let mut install = pip(&python, "install --quiet --disable-pip-version-check -r");
    let given = install.arg(REQUIRED).must();
    given.map_err(|error| skip(format!("the Python registry does not give what {REQUIRED} names: {error:#}")))?;
    Ok(python)
}

/// Returns a command of this Python's installer.
pub(super) fn pip(python: &Path, line: &str) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip"]).args(line.split(' '));
    pip
}

/// Makes the folder with the stubs and a compiler that links with them.
fn stubs(machine: &Machine) -> Result<PathBuf> {
    let folder = std::path::absolute(FOLDER)?.join(format!("glibc-{GLIBC}{}", machine.suffix()));
    if folder.join("cc").exists() {
        return Ok(folder);
    }
    let (python, work) = (python()?, empty_folder("zig")?);
    write(work.join("main.c"), "int main(void) { return 0; }\n")?;
    let out = Command::new(python)
        .args("-m ziglang build-exe main.c --verbose-link -lc -lm -lpthread -ldl -lrt -lutil -target".split(' '))
        .arg(format!("{}-linux-gnu.{GLIBC}", machine.arch))
        .envs(["ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"].map(|name| (name, work.join("cache"))))
        .current_dir(&work)
        .printed()?;
    let shown = text_of(&out.stderr);
    ensure!(out.status.success(), "Zig makes no stubs of glibc {GLIBC}:\n{shown}");
    let link = shown.lines().rfind(|line| line.starts_with("ld.lld")).context("Zig does not say what it links")?;
    let files: Vec<&Path> = parts(link).map(Path::new).collect();
    ensure!(files.len() >= 10, "Zig links fewer files than expected: {link}");
    lay_stubs(&files, &folder, &machine.compiler())?;
    Ok(folder)
}

/// Returns the C library's files in a linker's command line.
fn parts(link: &str) -> impl Iterator<Item = &str> {
    link.split_whitespace().filter(|word| {
        let name = word.rsplit('/').next().unwrap_or_default();
        word.starts_with('/')
            && (["Scrt1.o", "crti.o", "crtn.o", "libc_nonshared.a"].contains(&name) || name.contains(".so."))
            && !name.starts_with("ld-")
    })
}

fn lay_stubs(files: &[&Path], folder: &Path, compiler: &str) -> Result<()> {
    for file in files {
        let name = file.file_name().context("a file has a name")?.to_string_lossy();
        copy(file, folder.join(&*name))?;
        if let Some((stem, _)) = name.split_once(".so.").filter(|(stem, _)| !["libc", "libld"].contains(stem)) {
            let link = folder.join(format!("{stem}.so"));
            let _ = std::fs::remove_file(&link);
            symlink(&*name, link)?;
        }
    }
    let here = folder.display();
    let script = format!("GROUP ( {here}/libc.so.6 {here}/libc_nonshared.a AS_NEEDED ( {here}/libld.so.2 ) )\n");
    write(folder.join("libc.so"), script)?;
    // This machine's static unwinder may need a function of glibc 2.35, the shared one of old machines does not. This
    // machine's libgcc_s may need later symbols, too, but it is not what runs there.
    let compiler = format!(
        "#!/bin/sh\ncase \"$*\" in *-print-file-name=libgcc_eh.a*) echo libgcc_eh.a; exit ;; esac\n\
         exec {compiler} '-B{here}' '-L{here}' -Wl,--allow-shlib-undefined \"$@\"\n"
    );
    // Last: it marks the rest as complete.
    let file = folder.join("cc.new");
    write(&file, compiler)?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?;
    std::fs::rename(file, folder.join("cc")).context("cannot name the compiler")
}

/// Builds the static program, packs it, and has it run programs of this machine.
pub(super) fn try_static(_: &Args) -> Result<String> {
    // For the C in a dependency.
    need("musl-gcc", "musl-tools")?;
    let (machine, target) = (Machine::own(), format!("{ARCH}-unknown-linux-musl"));
    cmd("rustup target add").arg(&target).must()?;
    let built = cargo(&machine, &target, &["turnwise-cli"])?.join("turnwise");
    let folder = empty_folder("static")?;
    let name = format!("turnwise-{VERSION}-{ARCH}-linux-static");
    let to = folder.join(&name);
    let tool = to.join("turnwise");
    copy(built, &tool)?;
    for text in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(text, to.join(text))?;
    }
    write(to.join("THIRD-PARTY"), super::notices::of("turnwise-cli")?)?;
    let headers = cmd("objdump -p").arg(&tool).text()?;
    ensure!(!headers.contains("NEEDED"), "the static program needs libraries:\n{headers}");
    let used = use_tool(&machine, &tool)?;
    let archive = format!("{FOLDER}/{name}.tar.gz");
    cmd("tar --owner=0 --group=0 --sort=name -czf").args([&archive, "-C"]).arg(folder).arg(name).must()?;
    Ok(format!("{archive}; {used}"))
}

/// Runs programs with an installed tool; returns what they did.
pub(super) fn use_tool(machine: &Machine, tool: &Path) -> Result<String> {
    let cache = tempfile::tempdir()?;
    let run = |arguments: &str| -> Result<String> {
        let mut command = machine.command(tool);
        let (status, text) = both(command.args(arguments.split(' ')).env("XDG_CACHE_HOME", cache.path()), None)?;
        ensure!(status.success(), "`turnwise {arguments}` ended with {status}:\n{text}");
        Ok(text)
    };
    let version = run("--version")?;
    ensure!(version.contains(VERSION), "it is another version: {version}");
    let maps = run(&format!("run -- {} /proc/self/maps", machine.cat(cache.path())?))?;
    ensure!(maps.contains("libturnwise_preload"), "`turnwise run` does not load the preload library");
    let profile = run("profile -- @sample -t 2 -s 0.2")?;
    ensure!(profile.contains("acquisitions"), "the profile has no acquisitions:\n{profile}");
    let compared = run("compare --runs 3 --warmup 0 -- @sample -t 2 -s 0.2")?;
    let is_verdict = |line: &&str| ["Adaptive ", "No difference "].iter().any(|start| line.starts_with(start));
    let verdict = compared.lines().find(is_verdict);
    let verdict = verdict.with_context(|| format!("`turnwise compare` shows nothing:\n{compared}"))?;
    Ok(format!("run, profile and compare work: {verdict}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stubs_are_found_in_the_linkers_command_line() {
        let line = "ld.lld -o m /c/9/Scrt1.o /c/3/crti.o -dynamic-linker /lib64/ld-linux-x86-64.so.2 /c/z/m.o \
                    --as-needed /c/0/libm.so.6 /c/0/libc.so.6 /c/0/libld.so.2 /c/6/libc_nonshared.a \
                    /c/4/libcompiler_rt.a /c/e/crtn.o";
        let names: Vec<&str> = parts(line).filter_map(|path| path.rsplit('/').next()).collect();
        assert_eq!(names, ["Scrt1.o", "crti.o", "libm.so.6", "libc.so.6", "libld.so.2", "libc_nonshared.a", "crtn.o"]);
    }
}
