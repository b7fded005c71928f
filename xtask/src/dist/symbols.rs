//! The exports of the C library, compared with the kept list: programs that were linked with it continue to work.

use super::machine::Machine;
use super::{Args, VERSION, portable};
use crate::command::{Run, cmd, workspace};
use crate::root;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The list, also the package's: the loader's name of the library, then each symbol with the version that it is since.
pub(super) const LIST: &str = "packaging/debian/libturnwise.symbols";

/// Compares the two.
pub(super) fn run(args: &Args) -> Result<String> {
    let library = built(args)?.join("libturnwise_c.so");
    let kept = root::read(LIST)?;
    let kept = read(&kept)?;
    let names = cmd("nm -D --defined-only").arg(&library).text()?;
    let wrong = differences(&kept, &exported(&names));
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let headers = cmd("objdump -p").arg(&library).text()?;
    let soname = headers.lines().find_map(|line| line.trim().strip_prefix("SONAME")).unwrap_or_default().trim();
    ensure!(soname == kept.soname, "the library is called `{soname}`, and `{}` in {LIST}", kept.soname);
    Ok(format!("{} symbols of {soname}", kept.since.len()))
}

/// Makes the folder with the tool and the C library: of the debug build in the quick form.
pub(super) fn built(args: &Args) -> Result<PathBuf> {
    if !args.which.quick {
        return portable::build(&Machine::own());
    }
    workspace()
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
    gone.chain(new.map(|name| format!("`{name}` is new: add ` {name}@Base {VERSION}` to {LIST}"))).collect()
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
