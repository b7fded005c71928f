//! A thread's own records in the file. Each thread writes into its own chunks.

use crate::mapping::Mapping;
use crate::{filter, memory};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Relaxed, Release};
use turnwise_interpose::store_bytes;
use turnwise_recording as file;
use turnwise_recording::{Chunk, ChunkKind, FromZeros, Ref, Thread};

/// What a thread needs to write records.
#[repr(C)]
pub(crate) struct Writer {
    record: Cell<*const Thread>,
    mapping: Cell<*const Mapping>,
    index: Cell<u32>,
    arena: Cursor,
    /// Entries, which the thread's table finds again.
    pub(crate) entries: Cursor,
}

/// The place from which a thread takes records of one kind.
pub(crate) struct Cursor {
    chunk: Cell<*const Chunk>,
    next: Cell<usize>,
    end: Cell<usize>,
    /// Pages of the current chunk.
    pages: Cell<u32>,
}

/// Returns N where one in N records of a kind is to be kept (of steps: at most one in N parts of a thread's time), of
/// which there are `pages` so far. As room gets scarce, fewer are kept, so that the end of a long run is also covered.
/// `None`: there is no more room.
pub(crate) fn one_in(pages: &AtomicU64) -> Option<u64> {
    /// The most pages of a kind: 64 MB.
    const MOST: u64 = (64 << 20) / file::PAGE;
    match pages.load(Relaxed) * 8 / MOST {
        0..=3 => Some(1),
        4..=5 => Some(8),
        6 => Some(64),
        7 => Some(512),
        _ => None,
    }
}

impl Writer {
    /// Sets the file permanently.
    pub(crate) fn prepare(&self, mapping: &'static Mapping) {
        self.mapping.set(mapping);
    }

    /// Begins with a thread, which has this number.
    pub(crate) fn begin(&self, record: &'static Thread, index: u32) {
        self.index.set(index);
        self.record.set(record);
    }

    /// Returns the mapped file.
    #[inline]
    pub(crate) fn mapping(&self) -> &'static Mapping {
        // SAFETY: set by `prepare`, to a mapping that stays.
        unsafe { &*self.mapping.get() }
    }

    /// Returns the thread's number.
    pub(crate) fn index(&self) -> u32 {
        self.index.get()
    }

    /// Returns the thread's record; `None`: the memory was wiped.
    #[inline(always)]
    pub(crate) fn record_if_there(&self) -> Option<&'static Thread> {
        // SAFETY: null, or set by `begin`; the file stays mapped.
        unsafe { self.record.get().as_ref() }
    }

    /// Returns the thread's record.
    #[inline(always)]
    pub(crate) fn record(&self) -> &'static Thread {
        // SAFETY: set by `begin`; the file stays mapped.
        unsafe { &*self.record.get() }
    }

    /// Notes the thread's current name in the system.
    pub(crate) fn note_name(&self) {
        if !filter::allows_calls() {
            return;
        }
        let mut name = [0_u8; 16];
        // SAFETY: the request writes 16 bytes.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        store_bytes(&self.record().name, &name);
    }

    /// Makes a record in the arena.
    pub(crate) fn make<T: FromZeros>(&self) -> Option<(&'static T, Ref)> {
        const { assert!(align_of::<T>() <= file::REF_UNIT as usize) };
        let (at, place) = self.arena(size_of::<T>())?;
        // SAFETY: room for it, aligned; zero bytes are one, and the file stays mapped.
        Some((unsafe { &*at.cast() }, place))
    }

    /// Takes `bytes` zero bytes of the arena.
    pub(crate) fn arena(&self, bytes: usize) -> Option<(*mut u8, Ref)> {
        let at = self.arena.take_bytes(self, ChunkKind::Arena, bytes.next_multiple_of(file::REF_UNIT as usize))?;
        Some((at, self.mapping().place_of(at)))
    }
}

impl Cursor {
    /// Takes a record; `None`: the file is full.
    pub(crate) fn take<T: FromZeros>(&self, writer: &Writer, kind: ChunkKind) -> Option<&'static T> {
        const { assert!(align_of::<T>() <= 8) };
        // SAFETY: room for it, aligned; zero bytes are one, and the file stays mapped.
        self.take_bytes(writer, kind, size_of::<T>()).map(|at| unsafe { &*at.cast() })
    }

    fn take_bytes(&self, writer: &Writer, kind: ChunkKind, bytes: usize) -> Option<*mut u8> {
        if self.next.get() + bytes > self.end.get() {
            self.refill(writer, kind, bytes)?;
        }
        let at = self.next.get();
        self.next.set(at + bytes);
        Some(ptr::with_exposed_provenance_mut(at))
    }

    /// Counts the last taken record: from now on the reader reads it.
    pub(crate) fn publish(&self) {
        // SAFETY: `take` has set the chunk; it stays mapped.
        let chunk = unsafe { &*self.chunk.get() };
        // ORDERING recorder.records: Release; a reader that reads while the program runs finds the record filled.
        chunk.count.store(chunk.count.load(Relaxed) + 1, Release);
    }

    #[cold]
    fn refill(&self, writer: &Writer, kind: ChunkKind, bytes: usize) -> Option<()> {
        /// Small chunks for threads that do little, large ones for the others.
        const MOST_PAGES: u32 = 16;
        let needed = (bytes as u64 + file::CHUNK_HEADER).div_ceil(file::PAGE) as u32;
        let pages = (self.pages.get() * 2).clamp(1, MOST_PAGES).max(needed);
        let chunk = memory::keeping_errno(|| writer.mapping().chunk(kind, pages, writer.index() + 1))?;
        self.pages.set(pages);
        self.chunk.set(chunk);
        let start = chunk.expose_provenance();
        self.next.set(start + file::CHUNK_HEADER as usize);
        self.end.set(start + pages as usize * file::PAGE as usize);
        Some(())
    }
}
