//! The components of a wait: sleeps, steals, spins and their outcomes.
//!
//! The locks of `libturnwise_preload.so` count these for each thread and report them: the counters before and after a
//! wait differ by what happened in it. The C library's locks report nothing; there the thread's voluntary context
//! switches are the sleeps. Reading them takes a system call before and one after, so it is done only where waits are
//! long: a site's first, and those of sites whose waits last over about 100 us on average.

use crate::detail;
use crate::filter;
use crate::mapping::add;
use crate::real;
use crate::real::events::turnwise_thread_events;
use crate::writer::Writer;
use core::ffi::c_void;
use core::mem::zeroed;
use libc::c_int;
use turnwise_recording::{Class, Detail, Entry, LOCK_EVENTS, LOCK_SLEEPS};

/// Counters of `turnwise_thread_events`, in the order of `crates/preload/src/events.rs`, which is that of the
/// recording.
pub(crate) type Counts = [u32; LOCK_EVENTS];

/// The counters at a wait's beginning; or what happened in it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Events {
    how: u32,
    counts: Counts,
}

/// [`Events::how`]: nothing is known.
const UNKNOWN: u32 = 0;
/// The lock reports its events.
const REPORTED: u32 = 1;
/// The thread's voluntary context switches stand for sleeps.
const WATCHED: u32 = 2;

impl Events {
    /// Reads the counters now. `long`: two system calls are acceptable for the wait.
    pub(crate) fn look(class: Class, address: u64, long: bool) -> Events {
        let mut counts = [0; LOCK_EVENTS];
        let how = if reports(class, address, &mut counts) {
            REPORTED
        } else if let Some(switches) = long.then(switches).flatten() {
            counts[LOCK_SLEEPS] = switches;
            WATCHED
        } else {
            UNKNOWN
        };
        Events { how, counts }
    }

    /// Returns what has happened since, in a wait that ended with the lock.
    pub(crate) fn until_now(&self, class: Class, address: u64) -> Events {
        let mut now = [0; LOCK_EVENTS];
        let how = match self.how {
            REPORTED if reports(class, address, &mut now) => REPORTED,
            WATCHED => switches().map_or(UNKNOWN, |switches| {
                now[LOCK_SLEEPS] = switches;
                WATCHED
            }),
            _ => UNKNOWN,
        };
        Events { how, counts: core::array::from_fn(|place| now[place].wrapping_sub(self.counts[place])) }
    }

    /// Adds the events to a site's or a thread's.
    pub(crate) fn count(&self, detail: &Detail) {
        match self.how {
            REPORTED => add(&detail.reported, 1),
            WATCHED => add(&detail.watched, 1),
            _ => return,
        }
        for (sum, count) in detail.events.iter().zip(self.counts).filter(|(_, count)| *count > 0) {
            add(sum, u64::from(count));
        }
    }

    /// Adds the events of a wait that is counted nowhere else: a condition variable's, for the mutex.
    pub(crate) fn count_at(&self, writer: &Writer, entry: &Entry) {
        if self.how == UNKNOWN || self.counts == [0; LOCK_EVENTS] {
            return;
        }
        for word in [&entry.detail, &writer.record().detail] {
            if let Some(detail) = detail::of(writer, word, detail::Limit::Waits) {
                self.count(detail);
            }
        }
    }
}

/// Reads the counters of the calling thread; returns whether the lock reports them.
fn reports(class: Class, address: u64, counts: &mut Counts) -> bool {
    if !real::next_is_preload() {
        return false;
    }
    // The preload library numbers the classes as recordings do. An older one has no such function.
    let (class, object) = (class as c_int, address as *mut c_void);
    // SAFETY: the program's lock, and room for this many counters.
    unsafe { turnwise_thread_events(class, object, counts.as_mut_ptr(), counts.len()) == counts.len() }
}

/// Returns the calling thread's voluntary context switches; `None`: such calls may be filtered.
fn switches() -> Option<u32> {
    filter::allows_calls().then(|| all_switches().0)
}

/// Returns the calling thread's context switches: voluntary and involuntary ones.
pub(crate) fn all_switches() -> (u32, u32) {
    // SAFETY: zero bytes are valid, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        (usage.ru_nvcsw as u32, usage.ru_nivcsw as u32)
    }
}
