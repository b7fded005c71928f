//! Finds which functions of the program are the library's.

use object::{Object, ObjectSymbol, ReadCache, SymbolKind};
use std::ffi::OsStr;
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use turnwise_interpose::{Module, find};

/// Returns the ranges of the library's functions, in order: those of the file that contains the function `watcher`.
/// Empty: its symbols do not tell.
pub(super) fn of_library(watcher: usize) -> Vec<Range<usize>> {
    find(watcher).and_then(|module| functions(&module, watcher)).unwrap_or_default()
}

fn functions(module: &Module, watcher: usize) -> Option<Vec<Range<usize>>> {
    // SAFETY: the module contains this code, so it stays loaded.
    let name = unsafe { module.name() }.to_bytes();
    let is_program = name.is_empty();
    let path = if is_program { &b"/proc/self/exe"[..] } else { name };
    let cache = ReadCache::new(File::open(OsStr::from_bytes(path)).ok()?);
    let file = object::File::parse(&cache).ok()?;
    // The C API as a separate file: all of it is the library.
    if !is_program && file.dynamic_symbols().any(|symbol| symbol.name() == Ok("tw_stats_start")) {
        return Some(std::iter::once(module.start..module.end).collect());
    }
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let own = functions.filter(|symbol| symbol.name().is_ok_and(is_own));
    let range = |symbol: object::Symbol<'_, '_, _>| {
        let start = module.base.wrapping_add(symbol.address() as usize);
        start..start.wrapping_add(symbol.size() as usize)
    };
    let mut ranges: Vec<_> = own.map(range).collect();
    ranges.sort_by_key(|range| range.start);
    // Another file may now be at this path.
    ranges.iter().any(|range| range.start == watcher).then_some(ranges)
}

/// Returns whether a function is of one of our crates, or of the one through which Rust programs use their locks.
fn is_own(mangled: &str) -> bool {
    const CRATES: [&str; 4] = ["turnwise", "turnwise_live", "turnwise_c", "lock_api"];
    if mangled.starts_with("tw_") {
        return true;
    }
    if !CRATES.iter().any(|name| mangled.contains(name)) {
        return false;
    }
    let name = format!("{:#}", rustc_demangle::demangle(mangled));
    let of_impl = name.trim_start_matches(['<', '&']);
    of_impl.split_once("::").is_some_and(|(name, _)| CRATES.contains(&name))
}
