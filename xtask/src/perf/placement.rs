//! Another placement of the same code. Where the linker puts a function decides which cache lines and predictors it
//! shares with others, and that alone has made a cell 11% faster or slower: what two builds of a commit disagree on is
//! not a property of the commit.

use crate::command::host;
use crate::root::write;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// How a build's functions are placed: as the linker does it, or in an order drawn from this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement(pub(super) Option<u32>);

/// A linker for cargo: the ordinary one, with shuffling. Its name is not that of a known linker, so that the compiler
/// keeps to its default kind.
const LINKER: &str = "linker-that-shuffles";

impl Placement {
    /// Returns the placements of this many builds: the first is the ordinary one.
    pub(super) fn of_builds(number: u32) -> impl Iterator<Item = Placement> {
        (0..number).map(|seed| Placement((seed > 0).then_some(seed)))
    }

    /// Returns the suffix of the names of its files.
    pub(super) fn suffix(self) -> String {
        self.0.map_or_else(String::new, |seed| format!("-placed-{seed}"))
    }

    pub(super) fn words(self) -> String {
        self.0.map_or_else(String::new, |seed| format!(" with another placement of its functions ({seed})"))
    }

    /// Makes a cargo link this way; the linker lies in `folder`. Builds within that build inherit it.
    pub(super) fn apply(self, cargo: &mut Command, folder: &Path) -> Result<()> {
        let Some(seed) = self.0 else { return Ok(()) };
        let linker = folder.join(format!("{LINKER}-{seed}"));
        // LLVM's linker orders the functions by a seed. Other linkers refuse to, and so does this.
        write(&linker, format!("#!/bin/sh\nexec cc \"$@\" '-Wl,--shuffle-sections=.text*={seed}'\n"))?;
        fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).context("cannot make a linker executable")?;
        let linker = linker.canonicalize().context("cannot find the linker")?;
        cargo.env(format!("CARGO_TARGET_{}_LINKER", host()?.to_uppercase().replace('-', "_")), linker);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns sixteen functions, each of which only the linker can place.
    fn source() -> String {
        let one = |n: u32| {
            format!("#[inline(never)] #[unsafe(no_mangle)] extern \"C\" fn f{n}(x: u64) -> u64 {{ x * {n} ^ x }}\n")
        };
        let all: String = (10..26).map(one).collect();
        let calls: String = (10..26).map(|n| format!(" + f{n}(n)")).collect();
        all + &format!("fn main() {{ let n = std::env::args().count() as u64; println!(\"{{}}\", 0{calls}); }}\n")
    }

    /// Returns a program, and the order of its functions.
    fn built(folder: &Path, placement: Placement) -> (String, Vec<String>) {
        let program = folder.join(format!("program{}", placement.suffix()));
        let mut cargo = Command::new("cargo");
        placement.apply(&mut cargo, folder).unwrap();
        let mut rustc = Command::new("rustc");
        rustc.arg("-O").arg(folder.join("source.rs")).arg("-o").arg(&program);
        for (_, linker) in cargo.get_envs() {
            rustc.arg("-C").arg(format!("linker={}", linker.unwrap().display()));
        }
        let output = rustc.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
        let symbols = Command::new("nm").arg("--numeric-sort").arg(&program).output().unwrap().stdout;
        let symbols = String::from_utf8(symbols).unwrap();
        let names = symbols.lines().filter_map(|line| line.rsplit(' ').next());
        let ours = names.filter(|name| name.len() == 3 && name.starts_with('f') && name[1..].parse::<u32>().is_ok());
        (printed, ours.map(str::to_owned).collect())
    }

    #[test]
    fn builds_differ_in_the_order_of_their_functions_and_in_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("source.rs"), source()).unwrap();
        let [plain, one, two, again] = [Placement(None), Placement(Some(1)), Placement(Some(2)), Placement(Some(1))]
            .map(|placement| built(folder.path(), placement));
        assert_eq!(plain.1.len(), 16, "{plain:?}");
        assert!(plain.1 != one.1 && one.1 != two.1 && one.1 == again.1, "{plain:?} {one:?} {two:?}");
        assert!(plain.0 == one.0 && one.0 == two.0);
    }

    #[test]
    fn the_first_build_is_the_ordinary_one() {
        let all: Vec<_> = Placement::of_builds(3).collect();
        assert_eq!(all, [Placement(None), Placement(Some(1)), Placement(Some(2))]);
        assert_eq!((all[0].suffix().as_str(), all[1].suffix().as_str()), ("", "-placed-1"));
    }
}
