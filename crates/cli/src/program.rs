//! Determines which file a command runs, and whether the loader would load the preload library into it.
//!
//! A wrong answer would be silent: the loader starts a static or privileged program without the library, and the
//! comparison would be of the C library with itself.

use anyhow::{Context, Result, anyhow, bail};
use object::elf::{FileHeader32, FileHeader64, Machine};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use turnwise_present::input_file;

/// The kernel follows this many `#!` lines.
const SCRIPT_DEPTH: u32 = 5;
/// The kernel reads this much of a `#!` line.
const SCRIPT_LINE_BYTES: u64 = 256;

/// Finds the file that `command` would run, as the shell does; fails if it cannot be executed.
pub(crate) fn resolve(command: &OsStr) -> Result<PathBuf> {
    let shown = command.display();
    if !command.as_bytes().contains(&b'/') {
        return which::which(command).map_err(|_| match Path::new(command).exists() {
            true => anyhow!("no such command: {shown}; to run the file of that name here, type ./{shown}"),
            false => anyhow!("no such command: {shown} is in no directory of PATH; check the spelling or install it"),
        });
    }
    let path = PathBuf::from(command);
    let found = fs::metadata(&path).with_context(|| format!("no such command: {shown}"))?;
    if found.is_dir() {
        bail!("{shown} is a directory; name the program in it");
    }
    if rustix::fs::access(&path, rustix::fs::Access::EXEC_OK).is_err() || found.permissions().mode() & 0o111 == 0 {
        bail!("{shown} is not executable; if it is a program, run chmod +x {shown}");
    }
    Ok(path)
}

/// A program in the machine's own code, and the loader that it requests.
#[derive(Debug)]
pub(crate) struct Native {
    pub(crate) path: PathBuf,
    pub(crate) loader: PathBuf,
}

/// Finds the program that runs if `path` is started: itself, or the interpreter of a script. Fails if the loader would
/// run it without the preload library; the error states what to do.
pub(crate) fn native_of(path: &Path) -> Result<Native> {
    check(path, SCRIPT_DEPTH).with_context(|| format!("cannot put other locks under {}", path.display()))
}

fn check(path: &Path, depth: u32) -> Result<Native> {
    check_privileges(path)?;
    let file = input_file::open(path).context("cannot read it to find out how it was linked; make it readable")?;
    let mut start = Vec::new();
    file.take(SCRIPT_LINE_BYTES).read_to_end(&mut start).context("it cannot be read")?;
    if start.starts_with(b"\x7fELF") {
        return check_elf(path);
    }
    // Without a `#!` line, even if it is not a program at all, the C library hands the file to the shell.
    let script = interpreter_of(&start).unwrap_or_else(|| "/bin/sh".into());
    if depth == 0 {
        bail!("its #! lines lead in a circle");
    }
    let found = resolve(script.as_os_str()).context("its #! line names no command")?;
    check(&found, depth - 1).with_context(|| format!("it is a script for {}", found.display()))
}

/// Returns the program that runs a script; of `#!/usr/bin/env NAME`, NAME.
fn interpreter_of(start: &[u8]) -> Option<PathBuf> {
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| b" \t\r".contains(byte)).filter(|word| !word.is_empty());
    let first = words.next()?;
    let after_env = match first.rsplit(|byte| *byte == b'/').next() {
        Some(b"env") => words.find(|word| !word.starts_with(b"-") && !word.contains(&b'=')),
        _ => None,
    };
    Some(PathBuf::from(OsString::from_vec(after_env.unwrap_or(first).to_vec())))
}

/// Checks that a program gains no privileges: in secure mode the loader ignores LD_PRELOAD paths.
fn check_privileges(path: &Path) -> Result<()> {
    let found = fs::metadata(path)?;
    let ignored = rustix::fs::statvfs(path).is_ok_and(|fs| fs.f_flag.contains(rustix::fs::StatVfsMountFlags::NOSUID));
    if ignored {
        return Ok(());
    }
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    if found.mode() & libc::S_ISUID != 0 && found.uid() != user {
        bail!(
            "it is set-uid (to user {}): the loader ignores LD_PRELOAD; run it as that user or a copy without the bit",
            found.uid()
        );
    }
    if found.mode() & libc::S_ISGID != 0 && found.mode() & libc::S_IXGRP != 0 && found.gid() != group {
        bail!("it is set-gid (to group {}): the loader ignores LD_PRELOAD; run a copy without the bit", found.gid());
    }
    let mut capabilities = [0_u8; 64];
    if user != 0 && rustix::fs::getxattr(path, c"security.capability", &mut capabilities).is_ok() {
        bail!("it has file capabilities: the loader ignores LD_PRELOAD; run a copy without them, or run as root");
    }
    Ok(())
}

/// The properties that determine whether the loader loads our library.
#[derive(PartialEq, Eq, Debug)]
struct Elf {
    class_bits: u32,
    machine: Machine,
    /// The loader that the program requests; `None`: it is static.
    interpreter: Option<String>,
}

/// Does the work of [`native_of`] for a program that may be one that runs: `/proc/PID/exe`.
pub(crate) fn check_elf(path: &Path) -> Result<Native> {
    let own = read_elf(Path::new("/proc/self/exe")).context("cannot read turnwise itself")?;
    let elf = read_elf(path)?;
    judge(&elf, &own)?;
    Ok(Native { path: path.to_owned(), loader: elf.interpreter.unwrap_or_default().into() })
}

fn judge(elf: &Elf, own: &Elf) -> Result<()> {
    if elf.class_bits != own.class_bits || elf.machine != own.machine {
        bail!(
            "it is a {}-bit program for another architecture than this {}-bit turnwise; build turnwise for that one",
            elf.class_bits,
            own.class_bits
        );
    }
    let Some(interpreter) = &elf.interpreter else {
        bail!("it is statically linked, so no loader can add a library; link it dynamically (without -static)");
    };
    if interpreter.rsplit('/').next().is_some_and(|name| name.starts_with("ld-musl")) {
        bail!("it is built for musl ({interpreter}), this turnwise for glibc; build the program for glibc");
    }
    Ok(())
}

fn read_elf(path: &Path) -> Result<Elf> {
    let cache = ReadCache::new(File::open(path)?);
    let damaged =
        |error: object::read::Error| anyhow!("its ELF headers are damaged ({error}); build or install it again");
    match object::FileKind::parse(&cache).map_err(damaged)? {
        object::FileKind::Elf64 => elf_of::<FileHeader64<Endianness>>(64, &cache).map_err(damaged),
        object::FileKind::Elf32 => elf_of::<FileHeader32<Endianness>>(32, &cache).map_err(damaged),
        kind => bail!("not a program but {kind:?}"),
    }
}

fn elf_of<H: FileHeader<Endian = Endianness>>(class_bits: u32, cache: &ReadCache<File>) -> object::read::Result<Elf> {
    let header = H::parse(cache)?;
    let endian = header.endian()?;
    let mut interpreter = None;
    for segment in header.program_headers(endian, cache)? {
        if let Some(name) = segment.interpreter(endian, cache)? {
            interpreter = Some(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(Elf { class_bits, machine: header.e_machine(endian), interpreter })
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::elf::{EM_386, EM_X86_64};

    fn elf(class_bits: u32, machine: Machine, interpreter: Option<&str>) -> Elf {
        Elf { class_bits, machine, interpreter: interpreter.map(str::to_owned) }
    }

    #[test]
    fn judges_what_the_loader_can_do() {
        let own = elf(64, EM_X86_64, Some("/lib64/ld-linux-x86-64.so.2"));
        let complaint = |program: Elf| judge(&program, &own).unwrap_err().to_string();
        assert!(judge(&own, &own).is_ok());
        assert!(complaint(elf(64, EM_X86_64, None)).contains("statically linked"));
        assert!(complaint(elf(64, EM_X86_64, Some("/lib/ld-musl-x86_64.so.1"))).contains("musl"));
        assert!(complaint(elf(32, EM_386, Some("/lib/ld-linux.so.2"))).contains("32-bit"));
        assert!(complaint(elf(32, EM_X86_64, Some("/libx32/ld-linux-x32.so.2"))).contains("architecture"));
    }

    #[test]
    fn reads_its_own_headers() {
        let own = read_elf(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(own.class_bits, usize::BITS);
        assert!(own.interpreter.is_some_and(|name| name.contains("ld-")));
    }

    #[test]
    fn damaged_headers_are_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"\x7fELF\x02\x01\x01").unwrap();
        assert!(format!("{:#}", check(file.path(), 1).unwrap_err()).contains("damaged"));
    }

    #[test]
    fn finds_interpreters() {
        let found = |line: &str| interpreter_of(line.as_bytes()).map(|path| path.display().to_string());
        assert_eq!(found("#!/bin/sh -e\nx").as_deref(), Some("/bin/sh"));
        assert_eq!(found("#! /usr/bin/env -S A=1 python3 -u\n").as_deref(), Some("python3"));
        assert_eq!(found("#!/usr/bin/env\n").as_deref(), Some("/usr/bin/env"));
        assert_eq!(found("#!\n"), None);
        assert_eq!(found("echo"), None);
    }
}
