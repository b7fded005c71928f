//! Finds the module (program or shared object) that an address belongs to.
//!
//! `_dl_find_object` takes no lock and is quick (glibc 2.35 and later). Elsewhere only the loader's lists are
//! available, which a thread that waits for us may have locked.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;
#[cfg(target_pointer_width = "32")]
use libc::{Elf32_Ehdr as Beginning, Elf32_Phdr as Header};
#[cfg(target_pointer_width = "64")]
use libc::{Elf64_Ehdr as Beginning, Elf64_Phdr as Header};
use turnwise_preload_abi::{Image, build_id};

/// The number of bytes of a build id that are kept.
const BUILD_ID_BYTES: usize = 32;

/// A loaded module. Its segments stay mapped while its code calls us or a lock in it is used.
#[derive(Clone, Copy)]
pub struct Module {
    /// The offset from the file's addresses to those in memory.
    pub base: usize,
    /// Where the first segment begins: with the ELF header, unless the linker left it out.
    pub start: usize,
    /// Where the last segment ends.
    pub end: usize,
    name: *const c_char,
    /// Its program headers, if the loader has described them; otherwise null.
    headers: (*const Header, usize),
    /// The head of its unwind table (`.eh_frame_hdr`); 0: it has none.
    table: usize,
}

impl Module {
    /// Returns the path by which the loader knows the module; empty for the program itself.
    ///
    /// # Safety
    /// The module stays loaded while the name is used.
    pub unsafe fn name<'a>(&self) -> &'a CStr {
        if self.name.is_null() {
            return c"";
        }
        // SAFETY: the loader's string, which lives as long as the module.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// Returns the module as [`find_quickly`] finds it: without the loader's description of its headers.
    pub(crate) fn as_mapped(&self) -> Module {
        Module { headers: (core::ptr::null(), 0), ..*self }
    }

    /// Returns the program headers; none if the linker left them out of what is mapped.
    ///
    /// # Safety
    /// The module is loaded, and stays loaded.
    unsafe fn headers(&self) -> &'static [Header] {
        let ((headers, count), start) = (self.headers, self.start as *const u8);
        // SAFETY: contract of `headers`; the loader's description can be read, and what is mapped first too.
        unsafe {
            if !headers.is_null() {
                return core::slice::from_raw_parts(headers, count);
            }
            let file = &*start.cast::<Beginning>();
            match file.e_ident.starts_with(b"\x7fELF") {
                true => core::slice::from_raw_parts(start.add(file.e_phoff as usize).cast(), usize::from(file.e_phnum)),
                false => &[],
            }
        }
    }

    /// Returns the build id, truncated to the room in a record; empty: none.
    ///
    /// # Safety
    /// The module is loaded, and stays loaded.
    pub unsafe fn build_id(&self) -> &'static [u8] {
        // SAFETY: contract of `build_id`.
        let headers = unsafe { self.headers() };
        let notes = headers.iter().filter(|header| header.p_type == libc::PT_NOTE).find_map(|header| {
            let start = self.base.wrapping_add(header.p_vaddr as usize) as *const u8;
            // SAFETY: the loader has mapped the note.
            let notes = unsafe { core::slice::from_raw_parts(start, header.p_memsz as usize) };
            build_id(notes, header.p_align as usize)
        });
        notes.map_or(&[], |id| &id[..id.len().min(BUILD_ID_BYTES)])
    }

    /// Returns whether the address lies in the module.
    pub fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Returns whether this code is part of the module, as when a library queries itself.
    pub fn is_own(&self) -> bool {
        self.contains(find as *const () as usize)
    }

    /// Returns the module that `dl_iterate_phdr` describes.
    ///
    /// # Safety
    /// The description is the loader's.
    unsafe fn described(info: &libc::dl_phdr_info) -> Module {
        let base = info.dlpi_addr as usize;
        // SAFETY: contract of `described`: the loader's description points to this many headers.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let first = loaded().map(|header| header.p_vaddr & header.p_align.wrapping_neg()).min().unwrap_or(0);
        let last = loaded().map(|header| header.p_vaddr + header.p_memsz).max().unwrap_or(0);
        // A program's base is negative if its file's addresses are larger than those in memory.
        let [start, end] = [first, last].map(|address| base.wrapping_add(address as usize));
        let table = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
        let table = table.map_or(0, |header| base.wrapping_add(header.p_vaddr as usize));
        Module { base, start, end, name: info.dlpi_name, headers: (info.dlpi_phdr, headers.len()), table }
    }
}

impl Image for Module {
    fn at_offset(&self, offset: u64, length: usize) -> Option<&[u8]> {
        // The ELF header and the tables after it lie in the first page of the first segment. The page is mapped whole,
        // and a module with its header elsewhere fails the magic-number check.
        const PAGE: usize = 4096;
        let offset = usize::try_from(offset).ok()?;
        if offset.checked_add(length)? > PAGE.min(self.end - self.start) {
            return None;
        }
        // SAFETY: inside the first page of a loaded module, which is readable and does not change.
        Some(unsafe { core::slice::from_raw_parts((self.start + offset) as *const u8, length) })
    }

    fn at_address(&self, address: u64, _: u64, length: usize) -> Option<&[u8]> {
        let start = self.base.wrapping_add(usize::try_from(address).ok()?);
        if start < self.start || start.checked_add(length)? > self.end {
            return None;
        }
        // SAFETY: the program header states that these addresses are loaded, and they lie inside the module.
        Some(unsafe { core::slice::from_raw_parts(start as *const u8, length) })
    }
}

/// glibc's `struct dl_find_object`, with room for additions of later versions.
#[repr(C)]
struct FoundObject {
    flags: u64,
    map_start: *const u8,
    map_end: *const u8,
    link_map: *const LinkMap,
    /// The head of its unwind table (`.eh_frame_hdr`); null: it has none.
    table: *const u8,
    more: [u64; 11],
}

/// The public beginning of glibc's `struct link_map`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

type FindObject = unsafe extern "C" fn(*const c_void, *mut FoundObject) -> c_int;

/// The address of `_dl_find_object`; null: not looked up yet; [`NONE`]: the C library does not have it.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// Marks a missing function; it is not the address of one.
const NONE: *mut c_void = ptr::without_provenance_mut(1);

/// Returns whether modules can be found without locks. If not, the first call, in a constructor, allocates.
pub fn can_find() -> bool {
    find_object().is_some()
}

fn find_object() -> Option<FindObject> {
    let mut known = FIND_OBJECT.load(Relaxed);
    if known.is_null() {
        // SAFETY: the name is a string.
        known = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
        if known.is_null() {
            known = NONE;
        }
        FIND_OBJECT.store(known, Relaxed);
    }
    // SAFETY: the symbol of this name has this type.
    (known != NONE).then(|| unsafe { core::mem::transmute::<*mut c_void, FindObject>(known) })
}

/// Finds the module of an address without locks. `None`: the address is in none, or the C library has no such function.
pub fn find_quickly(address: usize) -> Option<Module> {
    ask(find_object()?, address)
}

/// Finds the head of the unwind table of the module of an address, without locks. `None`: there is none, or the C
/// library has no such function.
pub(crate) fn unwind_table(address: usize) -> Option<usize> {
    let found = find_by(find_object()?, address)?;
    Some(found.table.expose_provenance()).filter(|head| *head != 0)
}

/// Finds the same, if necessary with the loader's locks.
pub(crate) fn unwind_table_even_with_locks(address: usize) -> Option<usize> {
    match find_object() {
        Some(_) => unwind_table(address),
        None => Some(search(address)?.table).filter(|head| *head != 0),
    }
}

fn find_by(function: FindObject, address: usize) -> Option<FoundObject> {
    let mut found = MaybeUninit::<FoundObject>::zeroed();
    // SAFETY: the function has this type; zero bytes are a `FoundObject`.
    unsafe { (function(ptr::without_provenance(address), found.as_mut_ptr()) == 0).then(|| found.assume_init()) }
}

fn ask(function: FindObject, address: usize) -> Option<Module> {
    let FoundObject { map_start, map_end, link_map, table, .. } = find_by(function, address)?;
    // SAFETY: the link map is one of a loaded module.
    let map = unsafe { &*link_map };
    let (start, end) = (map_start as usize, map_end as usize);
    let (headers, table) = ((ptr::null(), 0), table.expose_provenance());
    let part = Module { base: map.base, start, end, name: map.name, headers, table };
    // A module mapped by the kernel may have holes between its segments, and then only one segment is found.
    // SAFETY: the module was found just now.
    let whole = unsafe { part.name() }.is_empty().then(|| program(map)).flatten();
    Some(whole.filter(|whole| whole.contains(address)).unwrap_or(part))
}

/// Returns the program itself, by its headers; `None`: the kernel has not passed their address.
fn program(map: &LinkMap) -> Option<Module> {
    // SAFETY: reads data that the kernel passed to the process at its start; zero bytes are an empty description.
    let (headers, count, mut info) = unsafe {
        let [headers, count] = [libc::AT_PHDR, libc::AT_PHNUM].map(|what| libc::getauxval(what));
        (headers as *const Header, count, MaybeUninit::<libc::dl_phdr_info>::zeroed().assume_init())
    };
    info.dlpi_addr = map.base as _;
    info.dlpi_name = map.name;
    (info.dlpi_phdr, info.dlpi_phnum) = (headers, count.try_into().ok()?);
    // SAFETY: the kernel states that this many headers lie there, and the loader what was added to their addresses.
    (!headers.is_null()).then(|| unsafe { Module::described(&info) })
}

/// Finds the module of an address, if necessary with the loader's locks. `None`: the address is in none.
pub fn find(address: usize) -> Option<Module> {
    match find_object() {
        Some(function) => ask(function, address),
        None => search(address),
    }
}

/// Searches the loader's lists.
fn search(address: usize) -> Option<Module> {
    let mut found = None;
    each_module(|module, _| {
        found = module.contains(address).then_some(module);
        found.is_some()
    });
    found
}

/// Calls `each` with the loaded modules and the loader's descriptions of them, in its order, until it returns `true`.
/// The loader's locks are held meanwhile, so they stay loaded.
pub fn each_module<F: FnMut(Module, &libc::dl_phdr_info) -> bool>(mut each: F) {
    unsafe extern "C" fn call<F: FnMut(Module, &libc::dl_phdr_info) -> bool>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        each: *mut c_void,
    ) -> c_int {
        // SAFETY: `each_module` passes its function, the loader a valid description of a module that is loaded.
        let (each, info) = unsafe { (&mut *each.cast::<F>(), &*info) };
        // SAFETY: the description is the loader's.
        c_int::from(each(unsafe { Module::described(info) }, info))
    }
    // SAFETY: `call` has the type of the callback, and gets a function that outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(call::<F>), (&raw mut each).cast()) };
}

#[cfg(test)]
mod tests {
    use super::{Module, ask, can_find, find, find_object, search};

    static HERE: u32 = 7;

    fn name(module: Module) -> &'static [u8] {
        // SAFETY: the program and the C library stay loaded.
        unsafe { module.name() }.to_bytes()
    }

    #[test]
    fn an_address_of_the_program_is_in_the_program() {
        let module = find(&raw const HERE as usize).expect("the program is a module");
        assert!(module.is_own());
        assert_eq!(name(module), b"");
    }

    #[test]
    fn a_function_of_the_c_library_is_in_it() {
        let module = find(libc::getpid as *const () as usize).expect("the C library is a module");
        assert!(!module.is_own());
        assert!(name(module).windows(4).any(|part| part == b"libc"));
    }

    #[test]
    fn the_stack_is_in_no_module() {
        let local = 0_u32;
        assert!(find(&raw const local as usize).is_none());
        assert!(search(&raw const local as usize).is_none());
    }

    #[test]
    fn both_ways_find_the_same() {
        if !can_find() {
            return;
        }
        for address in [&raw const HERE as usize, libc::getpid as *const () as usize] {
            let quick = find_object().and_then(|function| ask(function, address)).expect("a module");
            let slow = search(address).expect("a module");
            assert_eq!((quick.base, quick.start, quick.table), (slow.base, slow.start, slow.table));
            assert_eq!(name(quick), name(slow));
            assert!(address < quick.end && address < slow.end);
        }
    }
}
