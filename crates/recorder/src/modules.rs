//! Which files are mapped where: what a reader needs to make names of addresses.
//!
//! The constructor asks the loader for all. Later ones are found when an address of theirs turns up, by
//! `_dl_find_object`, which takes no lock (glibc 2.35 and later); the loader's lists could be locked by a thread that
//! waits for us.

use crate::mapping::{self, Mapping};
use crate::memory;
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use libc::{Elf64_Ehdr, Elf64_Phdr};
use turnwise_interpose::Module;
use turnwise_recording as file;
use turnwise_recording::MODULES;

/// Notes the file that `address` lies in, if it is in one.
pub(crate) fn note(mapping: &Mapping, address: u64) {
    if is_known(mapping, address) {
        return;
    }
    let Some(found) = turnwise_interpose::find_quickly(address as usize) else { return };
    // SAFETY: the address is in use, so its file stays loaded; it begins with its headers.
    unsafe {
        let start = found.start as *const u8;
        let file = start.cast::<Elf64_Ehdr>();
        let headers = match (*file).e_ident.starts_with(b"\x7fELF") {
            true => core::slice::from_raw_parts(
                start.add((*file).e_phoff as usize).cast::<Elf64_Phdr>(),
                usize::from((*file).e_phnum),
            ),
            false => &[],
        };
        write(mapping, found, headers);
    }
}

/// From the constructor: notes all.
pub(crate) fn note_all(mapping: &Mapping) {
    // SAFETY: the callback has this type, and the argument outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), ptr::from_ref(mapping).cast_mut().cast()) };
}

unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, mapping: *mut c_void) -> c_int {
    // SAFETY: `note_all` passes the mapping, the loader a valid description.
    unsafe {
        let (info, mapping) = (&*info, &*mapping.cast::<Mapping>());
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let module = Module::described(info);
        if !is_known(mapping, module.start as u64) {
            write(mapping, module, headers);
        }
    }
    0
}

fn is_known(mapping: &Mapping, address: u64) -> bool {
    let count = u64::from(mapping.header().modules.load(Relaxed)).min(MODULES.count);
    (0..count as usize).any(|index| {
        let Some(module) = mapping.reach::<file::Module>(&MODULES, index) else { return false };
        // ORDERING recorder.module: Acquire; who sees an end sees the start.
        let end = module.end.load(Acquire);
        address < end && address >= module.start.load(Relaxed)
    })
}

/// # Safety
/// The module is loaded; the headers are its own.
unsafe fn write(mapping: &Mapping, found: Module, headers: &[Elf64_Phdr]) {
    let index = mapping.header().modules.fetch_add(1, Relaxed);
    if u64::from(index) >= MODULES.count {
        return;
    }
    let Some(module) = mapping.reach::<file::Module>(&MODULES, index as usize) else { return };
    module.base.store(found.base as u64, Relaxed);
    module.start.store(found.start as u64, Relaxed);
    // SAFETY: the caller's promise.
    store_path(&module.path, unsafe { found.name() }.to_bytes());
    for header in headers.iter().filter(|header| header.p_type == libc::PT_NOTE) {
        // SAFETY: the loader has mapped the note.
        let notes = unsafe {
            core::slice::from_raw_parts((found.base as u64 + header.p_vaddr) as *const u8, header.p_memsz as usize)
        };
        if let Some(id) = build_id(notes, header.p_align as usize) {
            let id = &id[..id.len().min(module.build_id.len())];
            mapping::store_bytes(&module.build_id, id);
            module.build_id_bytes.store(id.len() as u32, Relaxed);
        }
    }
    // ORDERING recorder.module: Release; the record is complete.
    module.end.store(found.end as u64, Release);
}

/// Stores the loader's name of a file. One that was given to `dlopen` from the working directory is made whole, if the
/// program has not left that meanwhile: else the build id tells. A name without any slash is the kernel's own.
fn store_path(to: &[AtomicU8], name: &[u8]) {
    let is_relative = !name.starts_with(b"/") && name.contains(&b'/');
    let mut directory = [0_u8; 512];
    // SAFETY: a buffer of this length.
    let ask = || !unsafe { libc::getcwd(directory.as_mut_ptr().cast(), directory.len()) }.is_null();
    let found = is_relative && memory::keeping_errno(ask);
    let length = directory.iter().position(|byte| *byte == 0).filter(|_| found).unwrap_or(0);
    if length == 0 || length + 1 + name.len() >= to.len() {
        return mapping::store_text(to, name);
    }
    directory[length] = b'/';
    mapping::store_bytes(to, &directory[..=length]);
    mapping::store_text(&to[length + 1..], name.strip_prefix(b"./").unwrap_or(name));
}

/// The build id among a file's notes.
fn build_id(mut notes: &[u8], align: usize) -> Option<&[u8]> {
    const GNU_BUILD_ID: u32 = 3;
    let align = if align == 8 { 8 } else { 4 };
    loop {
        let word = |at: usize| Some(u32::from_ne_bytes(*notes.get(at..)?.first_chunk()?));
        let (name_length, length, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let content = (12 + name_length).next_multiple_of(align);
        let end = content.checked_add(length)?;
        if kind == GNU_BUILD_ID && notes.get(12..16)? == b"GNU\0" {
            return notes.get(content..end);
        }
        notes = notes.get(end.next_multiple_of(align)..)?;
    }
}
