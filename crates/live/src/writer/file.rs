//! Creates the file.

use super::folder::{self, Path};
use super::sys::{self, At, Descriptor};
use super::{clock, view};
use crate::layout::{BLOCKS, BLOCKS_START, Block, CALLED, FILE_BYTES, Header, LAYOUT, MAGIC, NAME, PAGE, VERSION};
use crate::place::{ENDING, parse_stat};
use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::{Relaxed, Release};
use libc::{O_CREAT, O_EXCL, O_RDONLY, O_RDWR};

/// The number of blocks for which the whole file is allocated at once.
const FEW_BLOCKS: usize = 128;

/// A file that was created, and is mapped.
pub(super) struct Made {
    pub(super) base: NonNull<u8>,
    pub(super) process: u32,
    pub(super) blocks: usize,
    /// Whether all of its pages except those of the log can be written; otherwise only the first can.
    pub(super) is_all_there: bool,
}

/// Creates the process's file; `None`: that is impossible.
pub(super) fn make(runtime: Option<&CStr>) -> Option<Made> {
    if !sys::may_be_long(FILE_BYTES) {
        return None;
    }
    let (process, start) = (sys::process(), start_of_process()?);
    let folder = folder::open(runtime)?;
    if !keeps_room(&folder) {
        return None;
    }
    folder::remove_stale(&folder);
    let name = Path::of(format_args!("{process}-{start}{ENDING}"));
    // The file of the program that this process ran before `exec`.
    sys::remove(folder.at(), name.text());
    let file = Descriptor::open(folder.at(), name.text(), O_RDWR | O_CREAT | O_EXCL, 0o600)?;
    let made = map(&file, process);
    match &made {
        Some(made) => fill(made, start),
        None => sys::remove(folder.at(), name.text()),
    }
    made
}

/// Reads the time at which the process began.
fn start_of_process() -> Option<u64> {
    let mut bytes = [0; 512];
    let stat = Descriptor::open(At::ROOT, c"/proc/self/stat", O_RDONLY, 0)?;
    Some(parse_stat(stat.read(&mut bytes)?)?.2)
}

/// Returns whether a page of a file in `folder` that can be written once can be written again. If files are copied on
/// each write, or are on another machine, a write to a mapping may find no room at any time, which causes a signal.
fn keeps_room(folder: &Descriptor) -> bool {
    /// tmpfs, ext2 to ext4, xfs, overlayfs.
    const KINDS: [libc::c_long; 4] = [0x0102_1994, 0xef53, 0x5846_5342, 0x794c_7630];
    folder.file_system().is_some_and(|kind| KINDS.contains(&(kind & 0xffff_ffff)))
}

fn map(file: &Descriptor, process: u32) -> Option<Made> {
    if !file.set_mode(0o600) || !file.set_length(FILE_BYTES) {
        return None;
    }
    let base = file.map(FILE_BYTES)?;
    let made = match sys::populate(base.as_ptr(), PAGE) {
        Ok(()) => Some(Made { base, process, blocks: BLOCKS, is_all_there: false }),
        // Kernels before 5.14 do not support the request.
        Err(libc::EINVAL) => file.take_room(BLOCKS_START + FEW_BLOCKS * size_of::<Block>()).then_some(Made {
            base,
            process,
            blocks: FEW_BLOCKS,
            is_all_there: true,
        }),
        Err(_) => None,
    };
    if made.is_none() {
        // SAFETY: the mapping is new.
        unsafe { sys::unmap(base.as_ptr(), FILE_BYTES) };
    }
    made
}

fn fill(made: &Made, start: u64) {
    // SAFETY: the mapping begins with the header, whose page is present; it consists of atomics, valid with any bytes.
    let header: &Header = unsafe { made.base.cast().as_ref() };
    header.version.store(VERSION, Relaxed);
    header.layout.store(LAYOUT, Relaxed);
    header.pid.store(made.process, Relaxed);
    header.start.store(start, Relaxed);
    header.blocks.store(made.blocks as u32, Relaxed);
    header.policy.store(view::policy(), Relaxed);
    clock::choose();
    clock::tell(header);
    sys::read_link(c"/proc/self/exe", header.name[0].as_ptr(), NAME - 1);
    copy(c"/proc/self/cmdline", &header.called);
    copy(c"/proc/self/comm", &header.title);
    // ORDERING live.magic: Release; a reader that sees it sees the rest (invariant 4 of the layout).
    header.magic.store(MAGIC, Release);
}

/// Copies the beginning of a system file about the process.
fn copy(path: &CStr, to: &[AtomicU8]) {
    let mut bytes = [0; CALLED];
    let Some(file) = Descriptor::open(At::ROOT, path, O_RDONLY, 0) else { return };
    for (to, byte) in to.iter().zip(file.read(&mut bytes).unwrap_or_default()) {
        to.store(*byte, Relaxed);
    }
}

const _: () = assert!(view::PAGES * PAGE == FILE_BYTES);
