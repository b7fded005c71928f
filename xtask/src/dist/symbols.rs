//! The exports of the C library, compared with the kept list: programs that were linked with it continue to work.

use super::machine::Machine;
use super::{Args, PACKAGING, VERSION, portable};
use crate::checks::{Outcome, must, output};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The list, also the package's: the loader's name of the library, then each symbol with the version that it is since.
pub(super) const LIST: &str = "debian/libturnwise.symbols";

/// Compares the two.
pub(super) fn run(args: &Args) -> Result<Outcome> {
    let built = match built(args)? {
        Ok(folder) => folder,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let library = built.join("libturnwise_c.so").display().to_string();
    let file = Path::new(PACKAGING).join(LIST);
    let kept = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let kept = read(&kept)?;
    let names = output(&["nm", "-D", "--defined-only", &library])?;
    let wrong = differences(&kept, &exported(&names));
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let headers = output(&["objdump", "-p", &library])?;
    let soname = headers.lines().find_map(|line| line.trim().strip_prefix("SONAME")).unwrap_or_default().trim();
    ensure!(soname == kept.soname, "the library is called `{soname}`, and `{}` in {}", kept.soname, file.display());
    Ok(Outcome::Ok(format!("{} symbols of {soname}", kept.since.len())))
}

/// Makes the folder with the tool and the C library: of the debug build in the quick form.
pub(super) fn built(args: &Args) -> Result<Result<PathBuf, String>> {
    if !args.which.quick {
        return portable::build(&Machine::own());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    // The whole workspace: what its tests have built.
    must(Path::new("."), &[], &["cargo", "build", "--quiet", "--workspace"])?;
    Ok(Ok(std::path::absolute(target.join("debug"))?))
}

struct Kept<'a> {
    soname: &'a str,
    since: BTreeMap<&'a str, &'a str>,
}

fn read(list: &str) -> Result<Kept<'_>> {
    let mut lines = list.lines();
    let soname = lines.next().and_then(|line| line.split_whitespace().next()).context("the list is empty")?;
    let symbol = |line| -> Option<(&str, &str)> {
        let (name, since) = str::strip_prefix(line, " ")?.split_once(' ')?;
        Some((name.strip_suffix("@Base")?, since))
    };
    let since = lines.map(|line| symbol(line).with_context(|| format!("`{line}` is not ` NAME@Base VERSION`")));
    Ok(Kept { soname, since: since.collect::<Result<_>>()? })
}

/// Returns the names in what `nm` prints.
fn exported(names: &str) -> BTreeSet<&str> {
    names.lines().filter_map(|line| line.split_whitespace().nth(2)).collect()
}

fn differences(kept: &Kept<'_>, exported: &BTreeSet<&str>) -> Vec<String> {
    let gone = kept.since.keys().filter(|name| !exported.contains(*name)).map(|name| {
        format!("`{name}` is gone: programs that call it no longer start. Keep it, or raise the major version")
    });
    let new = exported.iter().filter(|name| !kept.since.contains_key(*name));
    let new = new.map(|name| format!("`{name}` is new: add ` {name}@Base {VERSION}` to {PACKAGING}/{LIST}"));
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_that_is_gone_and_one_that_is_new_are_found() {
        let kept = read("libt.so.0 libt0 #MINVER#\n a@Base 0.1.0\n b@Base 0.2.0\n").unwrap();
        assert_eq!((kept.soname, kept.since["b"]), ("libt.so.0", "0.2.0"));
        assert!(differences(&kept, &exported("0070 T a\n0080 T b\n")).is_empty());
        let wrong = differences(&kept, &exported("0070 T a\n0080 D c\n"));
        assert!(wrong[0].starts_with("`b` is gone") && wrong[1].starts_with("`c` is new"), "{wrong:?}");
        assert!(read("libt.so.0 libt0\na\n").is_err());
    }
}
