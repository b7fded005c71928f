//! The versions of the C library's symbols that the shipped files need.

use super::Args;
use super::machine::Machine;
use super::portable::{self, GLIBC};
use crate::command::{Run, cmd, files_below};
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};

/// Checks the tool, the files that it carries, and the C library.
pub(super) fn run(_: &Args) -> Result<String> {
    let machine = Machine::own();
    look(&machine, &portable::build(&machine)?)
}

/// Checks what was built for a machine; returns what was seen.
pub(super) fn look(machine: &Machine, built: &Path) -> Result<String> {
    let carried = tempfile::tempdir()?;
    let mut files = vec![built.join("turnwise"), built.join("libturnwise_c.so")];
    files.extend(unpack(machine, &built.join("turnwise"), carried.path())?);
    ensure!(files.len() == 5, "the tool carries other files than two libraries and the sample: {files:?}");
    let mut wrong = Vec::new();
    for file in &files {
        let listing = cmd(&machine.tool("objdump -T")).arg(file).text()?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        wrong.extend(too_new(&listing).map(|symbol| format!("{name} asks for {symbol}")));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(format!("{} programs and libraries ask for glibc {GLIBC} or older", files.len()))
}

/// Has the tool unpack its files into a folder.
fn unpack(machine: &Machine, tool: &Path, to: &Path) -> Result<Vec<PathBuf>> {
    for command in ["profile", "run"] {
        let line = [command, "--", "@sample", "-t", "1", "-s", "0.05"];
        machine.command(tool).args(line).env("XDG_CACHE_HOME", to).text()?;
    }
    files_below(&to.join("turnwise"))
}

/// Returns the symbols in what `objdump -T` prints that an older glibc lacks: those of later versions, and those that
/// were not found when the file was linked.
fn too_new(listing: &str) -> impl Iterator<Item = &str> {
    listing.lines().filter_map(|line| {
        let (flags, undefined) = line.split_once("*UND*")?;
        let words: Vec<&str> = undefined.split_whitespace().skip(1).collect();
        let is_weak = flags.split_whitespace().any(|flag| flag == "w");
        match words[..] {
            [version, name] => is_later(version).then_some(name),
            [name] => (!is_weak).then_some(name),
            _ => None,
        }
    })
}

fn is_later(version: &str) -> bool {
    let version = version.trim_matches(['(', ')']);
    version.strip_prefix("GLIBC_").is_some_and(|version| numbers(version) > numbers(GLIBC))
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|part| part.parse().ok()).collect()
}

/// Returns the newest glibc that is needed according to what `objdump -T` prints.
pub(super) fn newest(listing: &str) -> Option<&str> {
    let undefined = listing.lines().filter(|line| line.contains("*UND*"));
    let words = undefined.flat_map(str::split_whitespace).map(|word| word.trim_matches(['(', ')']));
    words.filter_map(|word| word.strip_prefix("GLIBC_")).max_by_key(|version| numbers(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_symbols_and_missing_ones_are_found() {
        let listing = "\
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.2.5) read
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.28) thrd_exit
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.35) _dl_find_object
0000000000000000      DF *UND*\t0000000000000000  GLIBC_2.100  log
0000000000000000      DF *UND*\t0000000000000000 (GCC_3.0) _Unwind_Resume
0000000000000000  w   D  *UND*\t0000000000000000              __gmon_start__
0000000000000000      D  *UND*\t0000000000000000              gettid
000000000007eab0 g    DF .text\t0000000000000070  Base        tw_cond_signal
";
        assert_eq!(too_new(listing).collect::<Vec<_>>(), ["_dl_find_object", "log", "gettid"]);
        assert_eq!(newest(listing), Some("2.100"));
    }
}
