//! Memory in which every object has pages of its own, which are unmapped when it is freed: a use after free crashes at
//! once.

use crossbeam_epoch::Guard;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::time::Duration;
use turnwise::platform::Native;
use turnwise_vfs::{Host, Work};

/// This machine's epochs, and memory behind fences.
pub(crate) struct Fenced;

/// Objects that stay behind their fences, so that no new object lies there soon: the number that a process may have
/// without many mappings.
const KEPT: usize = 4096;

/// A prime, so that every place on the way has its turn.
const COMPONENTS_PER_PAUSE: u32 = 61;
const PAUSE: Duration = Duration::from_micros(100);

/// Freed objects, oldest first: where, and how long.
static FREED: Mutex<VecDeque<(usize, usize)>> = Mutex::new(VecDeque::new());

/// Maps pages for this many bytes.
fn map(bytes: usize) -> NonNull<u8> {
    // SAFETY: a new private mapping; nothing that exists is replaced.
    let at = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    };
    assert_ne!(at, libc::MAP_FAILED, "no memory: {}", std::io::Error::last_os_error());
    NonNull::new(at.cast()).expect("no mapping begins at 0")
}

/// Puts up the fence, and unmaps the oldest of those that have one.
///
/// # Safety
/// From `map`, with this many bytes, and no longer in use.
unsafe fn fence(at: NonNull<u8>, bytes: usize) {
    // SAFETY: guaranteed by the caller.
    let failed = unsafe { libc::mprotect(at.as_ptr().cast(), bytes, libc::PROT_NONE) };
    assert_eq!(failed, 0, "a fence: {}", std::io::Error::last_os_error());
    let mut freed = FREED.lock().unwrap_or_else(|e| e.into_inner());
    freed.push_back((at.as_ptr().expose_provenance(), bytes));
    if freed.len() > KEPT
        && let Some((at, bytes)) = freed.pop_front()
    {
        // SAFETY: a mapping of ours that no code may use.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(at), bytes) };
    }
}

impl Host for Fenced {
    type Platform = Native;
    type Pin = Guard;

    fn pin() -> Guard {
        crossbeam_epoch::pin()
    }

    fn allocate<T: 'static>(value: T) -> NonNull<T> {
        let at = map(size_of::<T>().max(1)).cast::<T>();
        // SAFETY: new pages, aligned to more than any value here requires.
        unsafe { at.write(value) };
        at.as_ptr().expose_provenance(); // the freeing thread may have only a shared reference
        at
    }

    fn allocate_many<T: 'static>(count: usize, make: impl FnMut(usize) -> T) -> NonNull<[T]> {
        NonNull::from(Box::leak((0..count).map(make).collect::<Box<[T]>>()))
    }

    unsafe fn free_many<T: 'static>(at: NonNull<[T]>) {
        // SAFETY: guaranteed by the caller: from `allocate_many`, which leaked a box, and no longer in use.
        drop(unsafe { Box::from_raw(at.as_ptr()) });
    }

    unsafe fn retire<T: 'static>(pin: &Guard, at: NonNull<T>) {
        // SAFETY: guaranteed by the caller: no later pin finds it, any thread may drop it, and only this frees it.
        unsafe {
            pin.defer_unchecked(move || {
                std::ptr::with_exposed_provenance_mut::<T>(at.addr().get()).drop_in_place();
                fence(at.cast(), size_of::<T>().max(1));
            });
        }
        pin.flush(); // soon, so that a late user meets the fence
    }

    /// Occasionally keeps a thread between two components of a path.
    fn charge(work: Work) {
        thread_local! {
            static UNTIL_PAUSE: Cell<u32> = const { Cell::new(1) };
        }
        let left = UNTIL_PAUSE.get() - 1;
        UNTIL_PAUSE.set(if left == 0 { COMPONENTS_PER_PAUSE } else { left });
        if left == 0 && work == Work::Component {
            std::thread::sleep(PAUSE);
        }
    }
}
