//! The versions of the C library's symbols that the shipped files need.

use crate::command::{Run, cmd};
use anyhow::{Result, ensure};
use std::path::PathBuf;

/// The oldest C library that the shipped files need: Debian 10's, and that of Red Hat 8.
const GLIBC: &str = "2.28";

/// Checks files; returns what was seen. `OBJDUMP` in the environment names the one for another processor's files.
pub(super) fn run(files: &[PathBuf]) -> Result<String> {
    let objdump = std::env::var("OBJDUMP").unwrap_or_else(|_| "objdump".to_owned());
    let mut wrong = Vec::new();
    for file in files {
        let listing = cmd(&objdump).arg("-T").arg(file).text()?;
        ensure!(listing.contains("*UND*"), "{} needs nothing of any library", file.display());
        wrong.extend(too_new(&listing).map(|symbol| format!("{} asks for {symbol}", file.display())));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(format!("{} programs and libraries ask for glibc {GLIBC} or older", files.len()))
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
    }
}
