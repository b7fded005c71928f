//! Builds for old C libraries, and for none.
//!
//! Programs need the newest versions of the symbols of the C library that they are linked with. These are linked with
//! stubs of an older glibc instead, which the Zig compiler makes of its lists of symbols; everything else comes from
//! this machine's compiler.

use super::machine::Machine;
use super::{FOLDER, VERSION, copy, empty_folder, write};
use crate::checks::{Outcome, must, output};
use anyhow::{Context, Result, ensure};
use std::env::consts::ARCH;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest C library that the shipped files need: Debian 10's, and that of Red Hat 8.
pub(super) const GLIBC: &str = "2.28";
/// What is taken from the Python registry.
const REQUIRED: &str = "packaging/requirements.txt";
const PACKAGES: [&str; 2] = ["turnwise-cli", "turnwise-capi"];

/// Builds the tool and the C library for old C libraries; returns where they lie, or why they cannot be built.
pub(super) fn build(machine: &Machine) -> Result<Result<PathBuf, String>> {
    let target = format!("{}-unknown-linux-gnu", machine.arch);
    let env = match environment(machine)? {
        Ok(env) => env,
        Err(why) => return Ok(Err(why)),
    };
    cargo(&env, &target, &PACKAGES)?;
    Ok(Ok(folder_of(&target)?))
}

fn folder_of(target: &str) -> Result<PathBuf> {
    Ok(std::path::absolute(FOLDER)?.join("build").join(target).join("dist"))
}

fn cargo(env: &[(String, OsString)], target: &str, packages: &[&str]) -> Result<()> {
    let folder = format!("{FOLDER}/build");
    let line =
        ["cargo", "build", "--quiet", "--profile", "dist", "--locked", "--target-dir", &folder, "--target", target];
    let packages: Vec<&str> = packages.iter().flat_map(|package| ["-p", package]).collect();
    must(Path::new("."), &borrowed(env), &[&line[..], &packages].concat())
}

fn borrowed(env: &[(String, OsString)]) -> Vec<(&str, &OsStr)> {
    env.iter().map(|(name, value)| (name.as_str(), value.as_os_str())).collect()
}

/// Returns an environment in which cargo and its children link with the stubs; or why that is impossible.
fn environment(machine: &Machine) -> Result<Result<Vec<(String, OsString)>, String>> {
    let compiler = match stubs(machine)? {
        Ok(folder) => folder.join("cc").into_os_string(),
        Err(why) => return Ok(Err(why)),
    };
    let (upper, target) = (machine.arch.to_uppercase(), format!("{}_unknown_linux_gnu", machine.arch));
    Ok(Ok(vec![
        (format!("CARGO_TARGET_{upper}_UNKNOWN_LINUX_GNU_LINKER"), compiler.clone()),
        (format!("CC_{target}"), compiler),
        (format!("CARGO_TARGET_{upper}_UNKNOWN_LINUX_GNU_RUSTFLAGS"), "-Cstrip=symbols".into()),
        ("CARGO_INCREMENTAL".to_owned(), "0".into()),
    ]))
}

/// Returns Python with what [`REQUIRED`] names; or why it is unavailable.
pub(super) fn python() -> Result<Result<PathBuf, String>> {
    let folder = std::path::absolute(FOLDER)?.join("python");
    let python = folder.join("bin/python3");
    let shown = folder.display().to_string();
    if !python.exists() && must(Path::new("."), &[], &["python3", "-m", "venv", &shown]).is_err() {
        return Ok(Err("python3 makes no environment: `apt-get install python3-venv`".to_owned()));
    }
    let pip = python.display().to_string();
    let line = [&pip, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIRED];
    match must(Path::new("."), &[], &line) {
        Ok(()) => Ok(Ok(python)),
        Err(error) => Ok(Err(format!("the Python registry does not give what {REQUIRED} names: {error:#}"))),
    }
}

/// Makes the folder with the stubs and a compiler that links with them.
fn stubs(machine: &Machine) -> Result<Result<PathBuf, String>> {
    let folder = std::path::absolute(FOLDER)?.join(format!("glibc-{GLIBC}{}", machine.suffix()));
    if folder.join("cc").exists() {
        return Ok(Ok(folder));
    }
    let python = match python()? {
        Ok(python) => python,
        Err(why) => return Ok(Err(why)),
    };
    let work = empty_folder("zig")?;
    write(&work.join("main.c"), "int main(void) { return 0; }\n")?;
    let target = format!("{}-linux-gnu.{GLIBC}", machine.arch);
    let out = Command::new(python)
        .args(["-m", "ziglang", "build-exe", "main.c", "--verbose-link", "-target", &target])
        .args(["-lc", "-lm", "-lpthread", "-ldl", "-lrt", "-lutil"])
        .env("ZIG_GLOBAL_CACHE_DIR", work.join("cache"))
        .env("ZIG_LOCAL_CACHE_DIR", work.join("cache"))
        .current_dir(&work)
        .output()
        .context("cannot start Zig")?;
    let shown = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.success(), "Zig makes no stubs of glibc {GLIBC}:\n{shown}");
    let link = shown.lines().rfind(|line| line.starts_with("ld.lld")).context("Zig does not say what it links")?;
    let files: Vec<&Path> = parts(link).map(Path::new).collect();
    ensure!(files.len() >= 10, "Zig links fewer files than expected: {link}");
    lay_stubs(&files, &folder, &machine.compiler())?;
    Ok(Ok(folder))
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
        copy(file, &folder.join(&*name))?;
        if let Some((stem, _)) = name.split_once(".so.").filter(|(stem, _)| !["libc", "libld"].contains(stem)) {
            let link = folder.join(format!("{stem}.so"));
            let _ = std::fs::remove_file(&link);
            symlink(&*name, link)?;
        }
    }
    let here = folder.display();
    let script = format!("GROUP ( {here}/libc.so.6 {here}/libc_nonshared.a AS_NEEDED ( {here}/libld.so.2 ) )\n");
    write(&folder.join("libc.so"), script)?;
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
pub(super) fn try_static() -> Result<Outcome> {
    // For the C in a dependency.
    if Command::new("musl-gcc").arg("-dumpversion").output().is_err() {
        return Ok(Outcome::Skipped("no musl-gcc here: `apt-get install musl-tools`".to_owned()));
    }
    let machine = Machine::own();
    let env = match environment(&machine)? {
        Ok(env) => env,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let target = format!("{ARCH}-unknown-linux-musl");
    must(Path::new("."), &[], &["rustup", "target", "add", &target])?;
    cargo(&env, &target, &["turnwise-cli"])?;
    let folder = empty_folder("static")?;
    let name = format!("turnwise-{VERSION}-{ARCH}-linux-static");
    let to = folder.join(&name);
    let tool = to.join("turnwise");
    copy(&folder_of(&target)?.join("turnwise"), &tool)?;
    for text in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(Path::new(text), &to.join(text))?;
    }
    write(&to.join("THIRD-PARTY"), super::notices::of("turnwise-cli")?)?;
    let headers = output(&["objdump", "-p", &tool.display().to_string()])?;
    ensure!(!headers.contains("NEEDED"), "the static program needs libraries:\n{headers}");
    let used = use_tool(&machine, &tool)?;
    let archive = format!("{FOLDER}/{name}.tar.gz");
    let line = ["tar", "-C", &folder.display().to_string(), "--owner=0", "--group=0", "--sort=name", "-czf"];
    must(Path::new("."), &[], &[&line[..], &[&archive, &name]].concat())?;
    Ok(Outcome::Ok(format!("{archive}; {used}")))
}

/// Runs programs with an installed tool; returns what they did.
pub(super) fn use_tool(machine: &Machine, tool: &Path) -> Result<String> {
    let cache = tempfile::tempdir()?;
    let run = |arguments: &[&str]| -> Result<String> {
        let out = machine.command(tool).args(arguments).env("XDG_CACHE_HOME", cache.path()).output();
        let out = out.with_context(|| format!("cannot start {}", tool.display()))?;
        let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        ensure!(out.status.success(), "`turnwise {}` ended with {}:\n{text}", arguments.join(" "), out.status);
        Ok(text)
    };
    let version = run(&["--version"])?;
    ensure!(version.contains(VERSION), "it is another version: {version}");
    let maps = run(&["run", "--", &machine.cat(cache.path())?, "/proc/self/maps"])?;
    ensure!(maps.contains("libturnwise_preload"), "`turnwise run` does not load the preload library");
    let profile = run(&["profile", "--", "@sample", "-t", "2", "-s", "0.2"])?;
    ensure!(profile.contains("acquisitions"), "the profile has no acquisitions:\n{profile}");
    let compared = run(&["compare", "--runs", "3", "--warmup", "0", "--", "@sample", "-t", "2", "-s", "0.2"])?;
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
