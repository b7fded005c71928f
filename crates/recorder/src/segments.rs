//! The places of the mapped file's parts. It is mapped in pieces, as it grows: a mapping that is long from the start
//! would take most of what a limit on address space or locked memory leaves to the program.

use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap, mremap, munmap};
use turnwise_interpose::{File, limit};
use turnwise_recording::{PAGE, WHY_MEMORY};

/// Segments: four of 4 MB, fifteen of 16 MB, fifteen of 256 MB. Longer ones come later, to keep the number small.
const SEGMENTS: usize = 34;

/// The mapped parts of a file. Zero bytes are an empty set.
pub(crate) struct Segments([AtomicPtr<u8>; SEGMENTS]);

/// Returns the number of the segment that contains a byte.
#[inline(always)]
const fn number(offset: u64) -> usize {
    match offset {
        0..0x100_0000 => (offset >> 22) as usize,
        0x100_0000..0x1000_0000 => (offset >> 24) as usize + 3,
        _ => (offset >> 28) as usize + 18,
    }
}

/// Returns where a segment begins.
#[inline(always)]
const fn start(number: usize) -> u64 {
    match number {
        0..4 => (number as u64) << 22,
        4..19 => (number as u64 - 3) << 24,
        _ => (number as u64 - 18) << 28,
    }
}

/// Returns the place for `bytes` bytes from `offset` on, which must lie in one segment.
pub(crate) fn place_for(offset: u64, bytes: u64) -> u64 {
    let last = number(offset + bytes - 1);
    if number(offset) == last { offset } else { start(last) }
}

/// The length of the first segment.
pub(crate) const FIRST: u64 = start(1);

impl Segments {
    /// Takes a mapping of [`FIRST`] bytes that stays.
    pub(crate) fn set_first(&self, base: *mut u8) {
        self.0[0].store(base, Relaxed);
    }

    /// Returns the address of the file's first byte.
    #[inline(always)]
    pub(crate) fn base(&self) -> *mut u8 {
        self.0[0].load(Relaxed)
    }

    /// Returns the address of a byte whose segment was mapped.
    #[inline(always)]
    pub(crate) fn at(&self, offset: u64) -> *mut u8 {
        let number = number(offset);
        // ORDERING recorder.segment: Acquire; pairs with the Release in `map`.
        self.0[number].load(Acquire).wrapping_add((offset - start(number)) as usize)
    }

    /// Returns whether the segment of a byte was mapped.
    pub(crate) fn has(&self, offset: u64) -> bool {
        // ORDERING recorder.segment: Acquire, as in `at`.
        !self.0[number(offset)].load(Acquire).is_null()
    }

    /// Returns which byte of the file lies at an address, if any.
    pub(crate) fn offset_of(&self, address: usize) -> Option<u64> {
        let lies = |number: usize| {
            // ORDERING recorder.segment: Acquire, as in `at`.
            let base = self.0[number].load(Acquire);
            let offset = address.wrapping_sub(base.addr()) as u64;
            (!base.is_null() && offset < start(number + 1) - start(number)).then(|| start(number) + offset)
        };
        (0..SEGMENTS).find_map(lies)
    }

    /// Maps the segment of a byte, and those before. The caller has exclusive permission.
    pub(crate) fn map(&self, offset: u64) -> Result<(), u32> {
        for number in 1..=number(offset) {
            if self.0[number].load(Relaxed).is_null() {
                let base = self.map_next(number).ok_or(WHY_MEMORY)?;
                // ORDERING recorder.segment: Release; a thread that finds the segment finds it mapped.
                self.0[number].store(base, Release);
            }
        }
        Ok(())
    }

    /// Maps a segment by the last page of the one before: the file may now be out of reach.
    fn map_next(&self, number: usize) -> Option<*mut u8> {
        let (page, bytes) = (PAGE as usize, (start(number + 1) - start(number)) as usize);
        if start(number + 1) > most() {
            return None;
        }
        let last = self.at(start(number) - PAGE);
        // SAFETY: an old length of 0 asks for one more mapping of what lies there, and after it in the file; the page
        // that is then mapped twice is unmapped.
        unsafe {
            let base = mremap(last.cast(), 0, page + bytes, MremapFlags::MAYMOVE).ok()?;
            let _ = munmap(base, page);
            let base = base.wrapping_byte_add(page);
            let _ = madvise(base, bytes, Advice::LinuxDontDump);
            Some(base.cast())
        }
    }
}

/// Returns the most that may be mapped: a part of what a limit leaves to the process.
fn most() -> u64 {
    const PART: u64 = 8;
    let known = limit(libc::RLIMIT_AS).filter(|limit| *limit != libc::RLIM_INFINITY);
    known.map_or(u64::MAX, |limit| limit / PART)
}

/// Maps the first bytes of an open file.
pub(crate) fn map_first(file: &File, bytes: u64) -> Option<*mut u8> {
    let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let base = unsafe { mmap(ptr::null_mut(), bytes as usize, access, flags, file, 0) }.ok()?;
    // SAFETY: the mapping is new.
    let _ = unsafe { madvise(base, bytes as usize, Advice::LinuxDontDump) };
    Some(base.cast())
}
