//! Finds the module that an address belongs to, as the policy table identifies modules.

use turnwise_interpose::{Module, find};
use turnwise_preload_abi::{Image, ModuleOffset, fingerprint};

/// A loaded module. Its segments stay mapped while its code calls us or a lock in it is used.
struct Loaded(Module);

impl Image for Loaded {
    fn at_offset(&self, offset: u64, length: usize) -> Option<&[u8]> {
        // The ELF header and the tables after it lie in the first page of the first segment. The page is mapped whole,
        // and a module with its header elsewhere fails the magic-number check.
        const PAGE: usize = 4096;
        let offset = usize::try_from(offset).ok()?;
        if offset.checked_add(length)? > PAGE.min(self.0.end - self.0.start) {
            return None;
        }
        // SAFETY: inside the first page of a loaded module, which is readable and does not change.
        Some(unsafe { core::slice::from_raw_parts((self.0.start + offset) as *const u8, length) })
    }

    fn at_address(&self, address: u64, _: u64, length: usize) -> Option<&[u8]> {
        let start = self.0.base.wrapping_add(usize::try_from(address).ok()?);
        if start < self.0.start || start.checked_add(length)? > self.0.end {
            return None;
        }
        // SAFETY: the program header states that these addresses are loaded, and they lie inside the module.
        Some(unsafe { core::slice::from_raw_parts(start as *const u8, length) })
    }
}

/// Returns the module and offset of an address; the program is identified by the file name `program`. `None`: the
/// address is in no module, or in this library.
pub(crate) fn place(address: usize, program: &'static [u8]) -> Option<ModuleOffset<'static>> {
    let module = find(address).filter(|module| !module.is_own())?;
    // SAFETY: the module stays loaded during this call; the caller does not keep the name beyond it.
    let path = unsafe { module.name() }.to_bytes();
    let path = if path.is_empty() { program } else { path };
    Some(ModuleOffset {
        // A module without headers in memory is identified by name only.
        fingerprint: fingerprint(&Loaded(module)).unwrap_or(0),
        address: address.wrapping_sub(module.base) as u64,
        module: path.rsplit(|byte| *byte == b'/').next().unwrap_or(path),
    })
}
