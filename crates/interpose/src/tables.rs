//! Finds a function by the modules' tables of symbols, as the loader does, for use when the loader cannot be called.
//!
//! In glibc before 2.34 the first call of `dlsym` makes a key by `pthread_key_create`, and waits for the end of a call
//! in progress. A library that interposes that function and looks up the real one by `dlsym` would wait for itself.

use crate::module::{Module, each_module};
use core::ffi::{CStr, c_char, c_void};
use core::ptr::{null, null_mut};

#[cfg(target_pointer_width = "32")]
use libc::Elf32_Sym as Sym;
#[cfg(target_pointer_width = "64")]
use libc::Elf64_Sym as Sym;

/// An entry of a module's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: isize,
    value: usize,
}

const DT_NULL: isize = 0;
const DT_STRTAB: isize = 5;
const DT_SYMTAB: isize = 6;
const DT_GNU_HASH: isize = 0x6fff_fef5;

/// Returns the address of the next library's function of this name, whatever its version; null if none has a table with
/// it.
#[cold]
pub(crate) fn find_next(name: &CStr) -> *mut c_void {
    let (mut is_behind, mut found) = (false, null_mut());
    each_module(|module, info| {
        if is_behind {
            // SAFETY: the description is the loader's, and `module` was made of it.
            let tables = unsafe { Tables::of(info, &module) };
            // SAFETY: the tables are the module's, which is currently loaded.
            found = tables.map_or(null_mut(), |tables| unsafe { tables.find(name, module.base) });
        }
        is_behind |= module.is_own();
        !found.is_null()
    });
    found
}

/// The tables that a module's hash table leads to.
struct Tables {
    symbols: *const Sym,
    strings: *const c_char,
    hash: *const u32,
}

impl Tables {
    /// Finds a module's tables; `None`: it has no dynamic section, or only an older form of hash table.
    ///
    /// # Safety
    /// The description is the loader's, and the module's.
    unsafe fn of(info: &libc::dl_phdr_info, module: &Module) -> Option<Tables> {
        // SAFETY: contract of `of`: the loader's description points to this many headers.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let section = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let mut entry = module.base.wrapping_add(section.p_vaddr as usize) as *const Dynamic;
        // glibc replaces file addresses by addresses in memory, but not everywhere.
        let place = |value: usize| if module.contains(value) { value } else { module.base.wrapping_add(value) };
        let mut tables = Tables { symbols: null(), strings: null(), hash: null() };
        loop {
            // SAFETY: the section is loaded, and ends with an entry of the tag `DT_NULL`.
            let Dynamic { tag, value } = unsafe { entry.read() };
            match tag {
                DT_NULL => break,
                DT_SYMTAB => tables.symbols = place(value) as *const Sym,
                DT_STRTAB => tables.strings = place(value) as *const c_char,
                DT_GNU_HASH => tables.hash = place(value) as *const u32,
                _ => {}
            }
            // SAFETY: this was not the last one.
            entry = unsafe { entry.add(1) };
        }
        let is_whole = !tables.symbols.is_null() && !tables.strings.is_null() && !tables.hash.is_null();
        is_whole.then_some(tables)
    }

    /// Returns the address of the function of this name; null if the module does not define it.
    ///
    /// # Safety
    /// The tables are those of a module that is loaded at `base`.
    unsafe fn find(&self, name: &CStr, base: usize) -> *mut c_void {
        let hash = gnu_hash(name);
        // SAFETY: contract of `find`, and the form of the table: four words, the words of a filter, buckets, and a word
        // for each symbol from `first` on, of which the lowest bit marks a bucket's last.
        unsafe {
            let [buckets, first, filters, _] = self.hash.cast::<[u32; 4]>().read();
            let filter = self.hash.add(4).cast::<usize>();
            let bucket = filter.add(filters as usize).cast::<u32>();
            let hashes = bucket.add(buckets as usize);
            if buckets == 0 {
                return null_mut();
            }
            let mut number = bucket.add((hash % buckets) as usize).read();
            while number >= first {
                let its_hash = hashes.add((number - first) as usize).read();
                let symbol = &*self.symbols.add(number as usize);
                if its_hash | 1 == hash | 1 && self.defines(symbol, name) {
                    return base.wrapping_add(symbol.st_value as usize) as *mut c_void;
                }
                if its_hash & 1 == 1 {
                    break;
                }
                number += 1;
            }
        }
        null_mut()
    }

    /// Returns whether a symbol is a function of this name that the module defines.
    ///
    /// # Safety
    /// The symbol is one of these tables'.
    unsafe fn defines(&self, symbol: &Sym, name: &CStr) -> bool {
        const FUNCTION: u8 = 2;
        let is_function = symbol.st_info & 0xf == FUNCTION && symbol.st_shndx != 0;
        // SAFETY: contract of `defines`: the symbol's name lies in the table of strings.
        is_function && unsafe { CStr::from_ptr(self.strings.add(symbol.st_name as usize)) } == name
    }
}

/// Returns the hash by which tables of this form are ordered (Bernstein's, times 33).
fn gnu_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tables_say_is_what_the_loader_says() {
        for name in [c"pthread_key_create", c"qsort", c"getpid", c"dl_iterate_phdr"] {
            // SAFETY: the name is a string.
            let reported = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            assert!(!reported.is_null(), "{name:?}");
            assert_eq!(find_next(name), reported, "{name:?}");
        }
        assert!(find_next(c"turnwise_no_such_function").is_null());
        assert!(find_next(c"environ").is_null(), "no function");
    }

    #[test]
    fn the_hash_is_that_of_the_format() {
        // Values from the description of the format: `printf` and `exit`.
        assert_eq!(gnu_hash(c""), 0x1505);
        assert_eq!(gnu_hash(c"printf"), 0x156b_2bb8);
        assert_eq!(gnu_hash(c"exit"), 0x7c96_7e3f);
    }
}
