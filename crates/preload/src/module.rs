//! Which module an address belongs to, and how the policy table knows it.

use core::ffi::{CStr, c_char, c_int};
use turnwise_policy_table::{Image, Place, fingerprint};

/// `struct turnwise_module` of `c/module.c`.
#[repr(C)]
struct Found {
    base: usize,
    start: usize,
    end: usize,
    name: *const c_char,
}

// SAFETY: `c/module.c` defines it so.
unsafe extern "C" {
    fn turnwise_find_module(address: usize, found: *mut Found) -> c_int;
}

/// A module in memory. Its segments stay mapped while code of it calls us or a lock in it is used.
impl Image for Found {
    fn at_offset(&self, offset: u64, length: usize) -> Option<&[u8]> {
        // The ELF header and what stands behind it lie in the first page of the first segment. It is mapped whole, and
        // a module that has the header elsewhere fails the test for its magic number.
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
        // SAFETY: the program header says that these addresses are loaded, and they lie inside the module.
        Some(unsafe { core::slice::from_raw_parts(start as *const u8, length) })
    }
}

/// Where an address is, or the file name of the program for `program`. `None`: in no module, or in this library.
pub(crate) fn place(address: usize, program: &'static [u8]) -> Option<Place<'static>> {
    let mut found = Found { base: 0, start: 0, end: 0, name: core::ptr::null() };
    // SAFETY: the result is writable.
    if unsafe { turnwise_find_module(address, &mut found) } == 0 {
        return None;
    }
    let path = if found.name.is_null() {
        c"".to_bytes()
    } else {
        // SAFETY: the dynamic linker's name of a module that stays loaded during this call; the caller keeps it no
        // longer.
        unsafe { CStr::from_ptr(found.name) }.to_bytes()
    };
    let path = if path.is_empty() { program } else { path };
    Some(Place {
        // Without headers in memory it is known by name only.
        fingerprint: fingerprint(&found).unwrap_or(0),
        address: address.wrapping_sub(found.base) as u64,
        module: path.rsplit(|byte| *byte == b'/').next().unwrap_or(path),
    })
}
