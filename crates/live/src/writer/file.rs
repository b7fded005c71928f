//! Creates the file.

use super::folder::{self, Path};
use super::sys::File;
use super::{clock, sys, view};
use crate::layout::{BLOCKS, BLOCKS_START, Block, CALLED, FILE_BYTES, Header, LAYOUT, MAGIC, NAME, PAGE, VERSION};
use crate::place::{ENDING, parse_stat};
use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Relaxed, Release};
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, fallocate, fchmod, fstatfs, ftruncate, unlinkat};
use turnwise_interpose::{beginning, program_path};

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
    // Checked first: an attempt to make a longer file may cause a signal.
    sys::limit(libc::RLIMIT_FSIZE).filter(|longest| *longest >= FILE_BYTES as libc::rlim_t)?;
    let (process, start) = (sys::process(), start_of_process()?);
    let folder = folder::open(runtime)?;
    if !keeps_room(&folder) {
        return None;
    }
    folder::remove_stale(&folder);
    let name = Path::of(format_args!("{process}-{start}{ENDING}"));
    // The file of the program that this process ran before `exec`.
    let remove = || _ = unlinkat(&folder, name.text(), AtFlags::empty());
    remove();
    let file = sys::open(&folder, name.text(), OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, 0o600)?;
    let made = map(&file, process);
    match &made {
        Some(made) => fill(made, start),
        None => remove(),
    }
    made
}

/// Reads the time at which the process began.
fn start_of_process() -> Option<u64> {
    Some(parse_stat(beginning(c"/proc/self/stat", &mut [0; 512]))?.2)
}

/// Returns whether a page of a file in `folder` that can be written once can be written again. If files are copied on
/// each write, or are on another machine, a write to a mapping may find no room at any time, which causes a signal.
fn keeps_room(folder: &File) -> bool {
    /// tmpfs, ext2 to ext4, xfs, overlayfs.
    const KINDS: [u32; 4] = [0x0102_1994, 0xef53, 0x5846_5342, 0x794c_7630];
    fstatfs(folder).is_ok_and(|found| KINDS.contains(&(found.f_type as u32)))
}

fn map(file: &File, process: u32) -> Option<Made> {
    fchmod(file, Mode::RUSR | Mode::WUSR).and_then(|()| ftruncate(file, FILE_BYTES as u64)).ok()?;
    let base = sys::map(file, FILE_BYTES)?;
    let made = match sys::populate(base.as_ptr(), PAGE) {
        Ok(()) => Some(Made { base, process, blocks: BLOCKS, is_all_there: false }),
        // Kernels before 5.14 do not support the request.
        Err(libc::EINVAL) => {
            let bytes = (BLOCKS_START + FEW_BLOCKS * size_of::<Block>()) as u64;
            let has_room = fallocate(file, FallocateFlags::empty(), 0, bytes).is_ok();
            has_room.then_some(Made { base, process, blocks: FEW_BLOCKS, is_all_there: true })
        }
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
    sys::store_bytes(&header.name, program_path(&mut [0; NAME - 1]));
    sys::store_bytes(&header.called, beginning(c"/proc/self/cmdline", &mut [0; CALLED]));
    sys::store_bytes(&header.title, beginning(c"/proc/self/comm", &mut [0; CALLED]));
    // ORDERING live.magic: Release; a reader that sees it sees the rest (invariant 4 of the layout).
    header.magic.store(MAGIC, Release);
}

const _: () = assert!(view::PAGES * PAGE == FILE_BYTES);
