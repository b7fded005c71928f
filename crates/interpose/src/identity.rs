//! Identifies the file of a module among others that may be loaded in its place.

use crate::Module;
use crate::system::keeping_errno;
#[cfg(target_pointer_width = "32")]
use libc::{Elf32_Ehdr as Beginning, Elf32_Phdr as Header};
#[cfg(target_pointer_width = "64")]
use libc::{Elf64_Ehdr as Beginning, Elf64_Phdr as Header};
use turnwise_preload_abi::build_id;

/// The number of bytes of a build id that are kept.
const MOST_BYTES: usize = 32;

impl Module {
    /// Returns the headers at the beginning of the module's file; none if the linker left them out.
    ///
    /// # Safety
    /// The module is loaded, and stays loaded.
    pub unsafe fn headers(&self) -> &'static [Header] {
        let start = self.start as *const u8;
        // SAFETY: contract of `headers`; what is mapped first can be read.
        unsafe {
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
    /// The module is loaded, and stays loaded; the headers are its own.
    pub unsafe fn build_id(&self, headers: &[Header]) -> &'static [u8] {
        let notes = headers.iter().filter(|header| header.p_type == libc::PT_NOTE).find_map(|header| {
            let start = self.base.wrapping_add(header.p_vaddr as usize) as *const u8;
            // SAFETY: the loader has mapped the note.
            let notes = unsafe { core::slice::from_raw_parts(start, header.p_memsz as usize) };
            build_id(notes, header.p_align as usize)
        });
        notes.map_or(&[], |id| &id[..id.len().min(MOST_BYTES)])
    }
}

/// Returns FNV-1a of a module's name.
pub fn hash(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Passes the loader's name of a file to `to` in pieces. A relative name passed to `dlopen` is made absolute, if the
/// program has not changed its working directory since: otherwise the build id identifies it. A name without a slash is
/// the kernel's own. `room`: the room for all pieces. `may_ask`: system calls may be made.
pub fn whole_name(name: &[u8], room: usize, may_ask: bool, mut to: impl FnMut(&[u8])) {
    let is_relative = !name.starts_with(b"/") && name.contains(&b'/');
    let mut directory = [0_u8; 512];
    // Not the C library's function, which may allocate. The system's passes a path outside of the root as
    // "(unreachable)".
    let mut find = || {
        // SAFETY: a buffer of this length.
        keeping_errno(|| unsafe { libc::syscall(libc::SYS_getcwd, directory.as_mut_ptr(), directory.len()) > 0 })
            && directory[0] == b'/'
    };
    let found = is_relative && may_ask && find();
    let length = directory.iter().position(|byte| *byte == 0).filter(|_| found).unwrap_or(0);
    if length == 0 || length + 1 + name.len() > room {
        return to(&name[..name.len().min(room)]);
    }
    directory[length] = b'/';
    to(&directory[..=length]);
    to(name.strip_prefix(b"./").unwrap_or(name));
}
