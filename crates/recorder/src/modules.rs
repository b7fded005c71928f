//! Records which files are mapped where, which a reader needs to name addresses.
//!
//! The constructor queries the loader for all modules. Later ones are found when an address in them turns up, by
//! `_dl_find_object`, which takes no lock (glibc 2.35 and later); the loader's lists could be locked by a thread that
//! waits for us.
//!
//! A plug-in may be unloaded, and another may land in its place. A thread that unloads one has all known modules
//! checked ([`unloaded`]); records of addresses in it are marked as the old module's ([`replaced::mark`]) when the new
//! one turns up. So a module that returns is the same one.

use crate::mapping::Mapping;
use crate::{filter, locks, memory, replaced};
use core::ffi::CStr;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise_interpose::{Identity, Module, each_module, store_bytes, whole_name};
use turnwise_recording as file;
use turnwise_recording::{GONE, MARKING, MODULES, REPLACED};

/// The room for a module's path, with a zero byte.
const PATH: usize = 448;
/// Whether a module was ever unloaded: only then can another have taken its place.
static UNLOADED: AtomicBool = AtomicBool::new(false);

/// Notes the file that `address` lies in, if it is in one.
pub(crate) fn note(mapping: &Mapping, address: u64) {
    if is_known(mapping, address) {
        return;
    }
    let Some(found) = turnwise_interpose::find_quickly(address as usize) else { return };
    // SAFETY: the address is in use, so its file stays loaded.
    unsafe {
        if !comes_back(mapping, &found) {
            write(mapping, &found, None);
        }
    }
}

/// Notes the file of an address that was recorded before: the program may have unloaded that file, and loaded another
/// in its place.
pub(crate) fn note_again(mapping: &Mapping, address: u64) {
    if UNLOADED.load(Relaxed) {
        note(mapping, address);
    }
}

/// Notes all modules, for the constructor.
pub(crate) fn note_all(mapping: &Mapping) {
    each_module(|module, _| {
        if !is_known(mapping, module.start as u64) {
            // SAFETY: the module stays loaded meanwhile.
            unsafe {
                let name = module.name();
                let path = if name.is_empty() { c"/proc/self/exe" } else { name };
                write(mapping, &module, Some(path));
            }
        }
        false
    });
}

/// Notes after an unload which modules are gone: they may be replaced from now on.
pub(crate) fn unloaded(mapping: &Mapping) {
    let mut any = false;
    for module in all(mapping).filter(|module| module.gone.load(Relaxed) == 0) {
        let found = turnwise_interpose::find_quickly(module.start.load(Relaxed) as usize);
        // SAFETY: found just now; a thread that unloads it at this moment is about to call this function.
        if !found.is_some_and(|found| unsafe { is_of(module, &found) }) {
            module.gone.store(GONE, Relaxed);
            any = true;
        }
    }
    if any {
        UNLOADED.store(true, Relaxed);
        // No thread relies on its entries any more.
        locks::forget_epochs();
    }
}

/// Returns whether a loaded module was there before, with none in between. Otherwise marks as replaced what was there.
///
/// # Safety
/// The module is loaded.
unsafe fn comes_back(mapping: &Mapping, found: &Module) -> bool {
    let (start, end) = (found.start as u64, found.end as u64);
    for (index, module) in all(mapping).enumerate() {
        if module.start.load(Relaxed) >= end || start >= module.end.load(Relaxed) {
            continue;
        }
        if module.gone.load(Relaxed) == GONE {
            // SAFETY: the caller's guarantee.
            if unsafe { is_of(module, found) } {
                module.gone.store(0, Relaxed);
                return true;
            }
            if module.gone.compare_exchange(GONE, MARKING, Relaxed, Relaxed).is_ok() {
                replaced::mark(mapping, module, &|address| {
                    all(mapping).take(index + 1).filter(|module| contains(module, address)).count() as u64
                });
                // ORDERING recorder.marks: Release; a thread that sees its end sees all marks.
                module.gone.store(REPLACED, Release);
            }
        }
        // This also awaits marks that another thread has just begun: they are set on everything without one.
        wait_for_marks(module);
    }
    false
}

/// Waits for a moment while another thread marks what was recorded of a module: what is recorded now does not belong to
/// it. (A signal handler may have interrupted that thread.)
fn wait_for_marks(module: &file::Module) {
    const TURNS: u32 = 200_000;
    for _ in 0..TURNS {
        // ORDERING recorder.marks: Acquire; whichever thread marked it, the marks are seen.
        if module.gone.load(Acquire) != MARKING {
            return;
        }
        core::hint::spin_loop();
    }
}

/// Returns whether a record is the given module's, by place, name and build id.
///
/// # Safety
/// The module is loaded.
unsafe fn is_of(module: &file::Module, found: &Module) -> bool {
    let words = [&module.start, &module.end, &module.base, &module.identity];
    let [start, end, base, hash] = words.map(|word| word.load(Relaxed));
    // SAFETY: the caller's guarantee.
    unsafe { Identity::of(found) == Identity { start, end, base, hash } }
}

/// Returns the modules noted, in that order.
fn all(mapping: &Mapping) -> impl Iterator<Item = &file::Module> {
    let count = u64::from(mapping.header().modules.load(Relaxed)).min(MODULES.count);
    // ORDERING recorder.module: Acquire; a thread that sees an end sees the rest.
    let known = (0..count as usize).map_while(|index| mapping.reach::<file::Module>(&MODULES, index));
    known.filter(|module| module.end.load(Acquire) != 0)
}

fn contains(module: &file::Module, address: u64) -> bool {
    (module.start.load(Relaxed)..module.end.load(Relaxed)).contains(&address)
}

fn is_known(mapping: &Mapping, address: u64) -> bool {
    all(mapping).any(|module| contains(module, address) && module.gone.load(Relaxed) == 0)
}

/// Writes a module's record. `path`: the file to query, if that is allowed now.
///
/// # Safety
/// The module is loaded.
unsafe fn write(mapping: &Mapping, found: &Module, path: Option<&CStr>) {
    let index = mapping.header().modules.fetch_add(1, Relaxed);
    if u64::from(index) >= MODULES.count {
        return;
    }
    let Some(module) = mapping.reach::<file::Module>(&MODULES, index as usize) else { return };
    // SAFETY: the caller's guarantee.
    let (name, id, identity) = unsafe { (found.name().to_bytes(), found.build_id(), Identity::of(found)) };
    module.base.store(identity.base, Relaxed);
    module.start.store(identity.start, Relaxed);
    module.identity.store(identity.hash, Relaxed);
    store_bytes(&module.path, whole_name::<PATH>(name, filter::allows_calls()).text().to_bytes());
    store_bytes(&module.build_id, id);
    module.build_id_bytes.store(id.len() as u32, Relaxed);
    if let (true, Some(path)) = (id.is_empty(), path) {
        memory::keeping_errno(|| stamp(module, path));
    }
    // ORDERING recorder.module: Release; the record is complete.
    module.end.store(identity.end, Release);
}

/// Stores the file system's data about a file without a build id, by which the reader detects whether the file was
/// replaced. Only for the constructor: later such calls may be unwelcome to the program.
fn stamp(module: &file::Module, path: &CStr) {
    // SAFETY: zero bytes are one.
    let mut found: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: a string, and room for the result.
    if unsafe { libc::stat(path.as_ptr(), &raw mut found) } == 0 {
        let changed_ns =
            (found.st_ctime as u64).saturating_mul(1_000_000_000).saturating_add(found.st_ctime_nsec as u64);
        module.inode.store(found.st_ino, Relaxed);
        module.bytes.store(found.st_size as u64, Relaxed);
        module.changed_ns.store(changed_ns, Relaxed);
    }
}
