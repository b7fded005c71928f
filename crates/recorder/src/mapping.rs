//! The mapped file of a recording: its regions, followed by chunks. It grows as it is written.

use crate::segments::{self, Segments};
use crate::{clock, filter, memory};
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use turnwise_interpose::{File, limit, store_bytes};
use turnwise_recording as file;
use turnwise_recording::{Chunk, ChunkKind, Header, Ref, Region};

/// The longest path of a recording, including the terminating zero byte.
pub(crate) const PATH: usize = 1024;
/// 2^64 divided by the golden ratio: spreads close values in the hash tables.
pub(crate) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A mapped recording. Zero bytes are a recording that is not mapped yet.
pub(crate) struct Mapping {
    segments: Segments,
    /// The file's length, as far as known: no page beyond it is touched.
    length: AtomicU64,
    /// Taken while the file grows.
    grows: AtomicU32,
    /// The system's state of system call filters when the file was opened.
    filters: AtomicU32,
    path: [AtomicU8; PATH],
}

/// The reason that there is no recording.
pub(crate) enum Failed {
    /// A file of this name exists.
    Exists,
    /// One of the `WHY_*` numbers.
    For(u32),
}

impl Mapping {
    /// Opens or creates a recording, and maps its beginning.
    pub(crate) fn open(&self, path: &CStr, flags: OFlags) -> Result<(), Failed> {
        if may_be_long() < file::CHUNKS + file::PAGE {
            return Err(Failed::For(file::WHY_FILE_SIZE));
        }
        let opened = openat(CWD, path, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        let opened = opened.map_err(|errno| match errno {
            Errno::EXIST => Failed::Exists,
            errno => Failed::For(why(errno.raw_os_error())),
        })?;
        store_bytes(&self.path, path.to_bytes_with_nul());
        self.length.store(0, Relaxed);
        let opened = File::from(opened);
        let mapped = segments::map_first(&opened, segments::FIRST);
        drop(opened); // soon: the program may close what it does not know, and reuse the number
        self.segments.set_first(mapped.ok_or(Failed::For(file::WHY_MEMORY))?);
        self.filters.store(filters(), Relaxed);
        self.grow(segments::FIRST.min(may_be_long() / file::PAGE * file::PAGE)).map_err(Failed::For)?;
        let can = memory::populate(self.segments.base(), file::CHUNKS as usize);
        can.then_some(()).ok_or(Failed::For(file::WHY_DISK))
    }

    /// Makes the file longer than it needs to be: it may soon be out of reach.
    pub(crate) fn take_ahead(&self) {
        const AHEAD: u64 = 64 << 20;
        let _ = self.alone(|| self.grow(AHEAD.min(may_be_long() / file::PAGE * file::PAGE)));
    }

    /// Makes the file at least `end` bytes long.
    fn grow(&self, end: u64) -> Result<(), u32> {
        /// It grows by half of its length, within these bounds.
        const STEP: (u64, u64) = (1 << 20, 16 << 20);
        let length = self.length.load(Relaxed);
        if end <= length {
            return Ok(());
        }
        let most = may_be_long().min(file::FILE_BYTES) / file::PAGE * file::PAGE;
        let longer = end.max(length + (length / 2).clamp(STEP.0, STEP.1)).next_multiple_of(file::PAGE).min(most);
        if end > longer {
            return Err(if end > file::FILE_BYTES { file::WHY_MANY } else { file::WHY_FILE_SIZE });
        }
        // SAFETY: a terminated string, in memory that stays.
        if unsafe { libc::truncate(self.path.as_ptr().cast(), longer as libc::off_t) } != 0 {
            return Err(why(memory::errno()));
        }
        self.length.store(longer, Relaxed);
        Ok(())
    }

    /// Makes the file `end` bytes long, and maps it up to there.
    fn reach_to(&self, end: u64) -> Result<(), u32> {
        if end <= self.length.load(Relaxed) && self.segments.has(end - 1) {
            return Ok(());
        }
        self.alone(|| self.grow(end).and_then(|()| self.segments.map(end - 1)))
    }

    /// Lets the file grow while no other thread does.
    fn alone(&self, run: impl FnOnce() -> Result<(), u32>) -> Result<(), u32> {
        if !filter::allows_calls() {
            return Err(file::WHY_FILTER);
        }
        /// Another thread may be growing it; this may also be a signal handler that interrupted that thread.
        const TURNS: u32 = 1000;
        // A filter may react to a call by ending the process.
        if filters() != self.filters.load(Relaxed) {
            return Err(file::WHY_FILTER);
        }
        for _ in 0..TURNS {
            // ORDERING recorder.growth: Acquire; sees what the last thread did.
            if self.grows.swap(1, Acquire) == 0 {
                let result = run();
                // ORDERING recorder.growth: Release; publishes the length.
                self.grows.store(0, Release);
                return result;
            }
            // SAFETY: takes no arguments, and never fails.
            unsafe { libc::sched_yield() };
        }
        Err(file::WHY_OTHER)
    }

    /// Returns the file's header.
    #[inline(always)]
    pub(crate) fn header(&self) -> &'static Header {
        // SAFETY: the mapping begins with the header, and lasts as long as the process.
        unsafe { &*self.segments.base().cast() }
    }

    /// Returns an existing record of the file; `index` is below the region's count.
    pub(crate) fn record<T>(&self, region: &Region, index: usize) -> &'static T {
        let (piece, offset) = self.piece(region, index);
        // ORDERING recorder.piece: Acquire; pairs with the exchange in `reach`.
        let place = piece.load(Acquire);
        debug_assert!(place != 0);
        // SAFETY: a piece was put there, which has this many records; all fields are atomics, for which zero bytes are
        // valid.
        unsafe { &*self.segments.at(u64::from(place) * file::REF_UNIT + offset).cast() }
    }

    /// Returns a record that may be the first of its piece; `None`: there is no room.
    pub(crate) fn reach<T>(&self, region: &Region, index: usize) -> Option<&'static T> {
        let (piece, _) = self.piece(region, index);
        // ORDERING recorder.piece: Acquire, as in `record`.
        if piece.load(Acquire) == 0 {
            let chunk = memory::keeping_errno(|| self.chunk(ChunkKind::Piece, region.pages, 0))?;
            // ORDERING recorder.piece: AcqRel; publishes the piece, or takes another thread's: then ours stays empty.
            let _ = piece.compare_exchange(0, self.place_of(chunk), AcqRel, Acquire);
        }
        Some(self.record(region, index))
    }

    /// Returns a record, if its piece exists.
    pub(crate) fn find<T>(&self, region: &Region, index: usize) -> Option<&'static T> {
        let (piece, _) = self.piece(region, index);
        // ORDERING recorder.piece: Acquire, as in `record`.
        (piece.load(Acquire) != 0).then(|| self.record(region, index))
    }

    /// Returns the word that holds the place of a record's piece, and the offset of the record in it.
    #[inline(always)]
    fn piece(&self, region: &Region, index: usize) -> (&'static AtomicU32, u64) {
        debug_assert!((index as u64) < region.count);
        let (piece, place) = (index as u64 / region.in_piece(), index as u64 % region.in_piece());
        // SAFETY: the table has a word for each piece, and lies before the chunks.
        let word = unsafe { &*self.segments.base().add(region.table as usize).cast::<AtomicU32>().add(piece as usize) };
        (word, region.first() + place * region.record)
    }

    /// Reports to the reader that something found no room, and why.
    pub(crate) fn is_full(&self, why: u32) {
        let _ = self.header().full.compare_exchange(0, why, Relaxed, Relaxed);
    }

    /// Takes a chunk of the file; `None`: there is no room.
    pub(crate) fn chunk(&self, kind: ChunkKind, pages: u32, thread: u32) -> Option<*const Chunk> {
        let chunk = self.room(u64::from(pages) * file::PAGE).inspect_err(|why| self.is_full(*why)).ok()?;
        // SAFETY: within the mapping; zero bytes are a chunk's header.
        let chunk = unsafe { &*chunk.cast::<Chunk>() };
        chunk.pages.store(pages, Relaxed);
        chunk.thread.store(thread, Relaxed);
        match kind {
            ChunkKind::Episodes => _ = self.header().episode_pages.fetch_add(u64::from(pages), Relaxed),
            ChunkKind::Steps => _ = self.header().step_pages.fetch_add(u64::from(pages), Relaxed),
            _ => (),
        }
        // ORDERING recorder.records: Release; a reader that sees the kind sees the length.
        chunk.kind.store(kind as u32, Release);
        Some(chunk)
    }

    /// Returns new writable pages, or the reason that there are none.
    fn room(&self, bytes: u64) -> Result<*mut u8, u32> {
        if !filter::allows_calls() {
            return Err(file::WHY_FILTER);
        }
        let used = &self.header().used;
        let offset = loop {
            let before = used.load(Relaxed);
            let offset = segments::place_for(file::CHUNKS + before, bytes);
            self.reach_to(offset + bytes)?;
            let after = offset + bytes - file::CHUNKS;
            if used.compare_exchange(before, after, Relaxed, Relaxed).is_ok() {
                break offset;
            }
        };
        let start = self.segments.at(offset);
        if memory::populate(start, bytes as usize) { Ok(start) } else { Err(file::WHY_DISK) }
    }

    /// Returns whether a record lies in this file.
    pub(crate) fn has<T>(&self, record: &T) -> bool {
        self.segments.offset_of(ptr::from_ref(record).addr()).is_some()
    }

    /// Returns where in the file a record lies.
    pub(crate) fn place_of<T>(&self, record: *const T) -> Ref {
        let offset = self.segments.offset_of(record.addr());
        debug_assert!(offset.is_some());
        (offset.unwrap_or(0) / file::REF_UNIT) as Ref
    }

    /// Returns the record at a place.
    ///
    /// # Safety
    /// Such a record was stored there.
    pub(crate) unsafe fn at<T>(&self, place: Ref) -> &'static T {
        // SAFETY: the caller's guarantee; the file stays mapped.
        unsafe { &*self.segments.at(u64::from(place) * file::REF_UNIT).cast() }
    }

    /// Counts an acquisition for which no entry is available.
    pub(crate) fn unattributed(&self) {
        self.header().unattributed.fetch_add(1, Relaxed);
    }

    /// Notes both clocks, so that the reader can determine their relative rates.
    pub(crate) fn look_at_clock(&self) {
        let header = self.header();
        let (ticks, ns) = clock::ticks_and_nanoseconds();
        header.ticks_end.store(ticks, Relaxed);
        header.monotonic_end.store(ns, Relaxed);
        let since = |now: u64, start: u64| now.saturating_sub(start);
        clock::note_rate(
            since(ticks, header.ticks_start.load(Relaxed)),
            since(ns, header.monotonic_start.load(Relaxed)),
        );
    }
}

/// Stores a text; text that is too long is truncated, and at least one zero byte stays behind it.
pub(crate) fn store_text(to: &[AtomicU8], text: &[u8]) {
    store_bytes(&to[..to.len().saturating_sub(1)], text);
}

/// Adds to a counter that only the calling thread writes, which avoids a locked instruction.
#[inline(always)]
pub(crate) fn add(counter: &AtomicU64, value: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(value), Relaxed);
}

/// Returns the longest file that the process may make: exceeding its limit would not fail, but kill it by a signal.
fn may_be_long() -> u64 {
    limit(libc::RLIMIT_FSIZE).unwrap_or(0)
}

/// Returns whether system calls are filtered, as the system reports it.
fn filters() -> u32 {
    // SAFETY: only returns a number.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) }.cast_unsigned()
}

/// Returns why a call failed with this error number, as a `WHY_*` number.
fn why(errno: libc::c_int) -> u32 {
    match errno {
        libc::EFBIG => file::WHY_FILE_SIZE,
        libc::ENOMEM | libc::EAGAIN => file::WHY_MEMORY,
        libc::ENOSPC | libc::EDQUOT => file::WHY_DISK,
        libc::EACCES | libc::EPERM | libc::ENOENT | libc::ENOTDIR => file::WHY_UNREACHABLE,
        libc::EMFILE | libc::ENFILE => file::WHY_DESCRIPTORS,
        _ => file::WHY_OTHER,
    }
}
