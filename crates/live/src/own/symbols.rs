//! Finds which functions of the program are the library's.

use core::ffi::{CStr, c_int, c_void};
use object::{Object, ObjectSymbol, ReadCache, SymbolKind};
use std::ffi::OsStr;
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A file that is loaded.
struct Module {
    path: PathBuf,
    is_program: bool,
    /// The difference between its addresses in memory and in the file.
    bias: usize,
    /// The ranges of its code.
    code: Vec<Range<usize>>,
}

/// Returns the ranges of the library's functions, in order: those of the file that contains the function `watcher`.
/// Empty: its symbols do not tell.
pub(super) fn of_library(watcher: usize) -> Vec<Range<usize>> {
    module_of(watcher).and_then(|module| functions(&module, watcher)).unwrap_or_default()
}

fn functions(module: &Module, watcher: usize) -> Option<Vec<Range<usize>>> {
    let cache = ReadCache::new(File::open(&module.path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    // The C API as a separate file: all of it is the library.
    if !module.is_program && file.dynamic_symbols().any(|symbol| symbol.name() == Ok("tw_stats_start")) {
        return Some(module.code.clone());
    }
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let own = functions.filter(|symbol| symbol.name().is_ok_and(is_own));
    let range = |symbol: object::Symbol<'_, '_, _>| {
        let start = module.bias.wrapping_add(symbol.address() as usize);
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

fn module_of(address: usize) -> Option<Module> {
    let mut search = Search { address, seen: 0, found: None };
    // SAFETY: `look` gets the loader's records, and `search` as its last argument.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

struct Search {
    address: usize,
    seen: usize,
    found: Option<Module>,
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: contract of `dl_iterate_phdr` in `module_of`.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    let bias = info.dlpi_addr as usize;
    // SAFETY: the loader states that this many are there.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let is_code = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
    let range = |header: &libc::Elf64_Phdr| {
        let start = bias.wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    };
    let code: Vec<_> = headers.iter().filter(is_code).map(range).collect();
    let is_program = search.seen == 0;
    search.seen += 1;
    if code.iter().any(|range| range.contains(&search.address)) {
        // SAFETY: the loader's names are strings.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        let path = if is_program { PathBuf::from("/proc/self/exe") } else { OsStr::from_bytes(name.to_bytes()).into() };
        search.found = Some(Module { path, is_program, bias, code });
    }
    c_int::from(search.found.is_some())
}
