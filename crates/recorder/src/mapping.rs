//! The mapped file of a recording: its regions, and the chunks behind them.

use crate::{clock, memory};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64};
use turnwise_recording as file;
use turnwise_recording::{Chunk, ChunkKind, Header, Ref, Region};

/// Pages before the chunks.
const PAGES: u64 = file::CHUNKS / file::PAGE;

/// A mapped recording. Zero bytes are one that is not mapped yet.
pub(crate) struct Mapping {
    base: AtomicPtr<u8>,
    /// Which pages before the chunks can be written, a bit each.
    pages: AtomicPtr<AtomicU64>,
}

impl Mapping {
    /// Makes the table of pages. In a forked child all pages are to be asked for again.
    pub(crate) fn prepare(&self) -> Option<()> {
        let pages = memory::wiped_on_fork(PAGES.div_ceil(64) as usize * 8)?;
        self.pages.store(pages.as_ptr().cast(), Relaxed);
        Some(())
    }

    /// Takes a mapping of [`file::FILE_BYTES`] that stays.
    pub(crate) fn set(&self, base: *mut u8) {
        self.base.store(base, Relaxed);
    }

    /// Returns the file's header.
    pub(crate) fn header(&self) -> &'static Header {
        // SAFETY: the mapping begins with the header, and lasts as long as the process.
        unsafe { &*self.base().cast() }
    }

    /// A record of the file; `index` is below the region's count.
    pub(crate) fn record<T>(&self, region: &Region, index: usize) -> &'static T {
        debug_assert!((index as u64) < region.count && size_of::<T>() as u64 == region.record);
        let offset = region.start as usize + index * size_of::<T>();
        // SAFETY: within the mapping, aligned as the layout says; all fields are atomics, for which zero bytes will do.
        unsafe { &*self.base().add(offset).cast() }
    }

    /// A record that may be the first on its page; `None`: the disk is full.
    pub(crate) fn reach<T>(&self, region: &Region, index: usize) -> Option<&'static T> {
        let start = region.start as usize + index * size_of::<T>();
        let page = file::PAGE as usize;
        let pages = start / page..=(start + size_of::<T>() - 1) / page;
        pages.into_iter().all(|page| self.has_page(page)).then(|| self.record(region, index))
    }

    /// Whether a page before the chunks can be written.
    fn has_page(&self, page: usize) -> bool {
        debug_assert!((page as u64) < PAGES);
        let bit = 1 << (page % 64);
        // SAFETY: the table has a bit for each.
        let word = unsafe { &*self.pages.load(Relaxed).add(page / 64) };
        if word.load(Relaxed) & bit != 0 {
            return true;
        }
        let bytes = file::PAGE as usize;
        // SAFETY: within the mapping.
        let start = unsafe { self.base().add(page * bytes) };
        let can = memory::keeping_errno(|| memory::populate(start, bytes));
        match can {
            true => _ = word.fetch_or(bit, Relaxed),
            false => self.is_full(),
        }
        can
    }

    /// Tells the reader that something found no room.
    pub(crate) fn is_full(&self) {
        self.header().full.store(1, Relaxed);
    }

    /// A chunk of the file; `None`: the file or the disk is full.
    pub(crate) fn chunk(&self, kind: ChunkKind, pages: u32, thread: u32) -> Option<*const Chunk> {
        let chunk = self.room(u64::from(pages) * file::PAGE);
        if chunk.is_none() {
            self.is_full();
        }
        // SAFETY: within the mapping; zero bytes are a chunk's header.
        let chunk = unsafe { &*chunk?.cast::<Chunk>() };
        chunk.pages.store(pages, Relaxed);
        chunk.thread.store(thread, Relaxed);
        // ORDERING recorder.records: Release; a reader that sees the kind sees the length.
        chunk.kind.store(kind as u32, Release);
        Some(chunk)
    }

    /// New pages that can be written.
    fn room(&self, bytes: u64) -> Option<*mut u8> {
        const MOST: u64 = file::FILE_BYTES - file::CHUNKS;
        let used = &self.header().used;
        if used.load(Relaxed) + bytes > MOST {
            return None;
        }
        let offset = used.fetch_add(bytes, Relaxed);
        if offset + bytes > MOST {
            return None;
        }
        // SAFETY: within the mapping.
        let start = unsafe { self.base().add((file::CHUNKS + offset) as usize) };
        memory::populate(start, bytes as usize).then_some(start)
    }

    fn base(&self) -> *mut u8 {
        self.base.load(Relaxed)
    }

    /// Whether a record lies in this file.
    pub(crate) fn has<T>(&self, record: &T) -> bool {
        (ptr::from_ref(record).addr().wrapping_sub(self.base().addr()) as u64) < file::FILE_BYTES
    }

    /// Where in the file a record lies.
    pub(crate) fn place_of<T>(&self, record: *const T) -> Ref {
        ((record.addr() - self.base().addr()) / file::REF_UNIT as usize) as Ref
    }

    /// The record at a place.
    ///
    /// # Safety
    /// Such a record was put there.
    pub(crate) unsafe fn at<T>(&self, place: Ref) -> &'static T {
        // SAFETY: the caller's promise; the file stays mapped.
        unsafe { &*self.base().add(place as usize * file::REF_UNIT as usize).cast() }
    }

    /// Counts an acquisition that no entry can be had for.
    pub(crate) fn unattributed(&self) {
        self.header().unattributed.fetch_add(1, Relaxed);
    }

    /// Notes both clocks, so that the reader can tell their rates apart.
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

/// Stores a text; what is too long is cut, and at least one zero byte stays behind it.
pub(crate) fn store_text(to: &[AtomicU8], text: &[u8]) {
    store_bytes(&to[..to.len().saturating_sub(1)], text);
}

/// Stores bytes, as many as there is room for.
pub(crate) fn store_bytes(to: &[AtomicU8], bytes: &[u8]) {
    for (byte, value) in to.iter().zip(bytes) {
        byte.store(*value, Relaxed);
    }
}

/// Adds to a counter that only the calling thread writes, which spares the locked instruction.
#[inline(always)]
pub(crate) fn add(counter: &AtomicU64, value: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(value), Relaxed);
}
