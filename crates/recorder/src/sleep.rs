//! Records calls in which a thread sleeps until another one wakes it, and the calls that wake. What they mean is left
//! to the reader, who knows the names of the functions: a lock of Rust's, a queue, a thread's end.
//!
//! A thread has entries of its own for each place that it sleeps on and each path of calls by which it got there; the
//! path's stack is taken when the entry is made. So most sleeps take no stack, which would take longer than many of
//! them.

use crate::detail::{self, Acquisition, Limit};
use crate::mapping::{SPREAD, add};
use crate::state::{State, enter_uncounted};
use crate::waits::{self, PastWaits};
use crate::{clock, locks, memory, real, stacks};
use core::ffi::c_long;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_interpose::{GAVE_UP, WOKEN, find, find_program, words};
use turnwise_recording::{ACQUIRED, Class, Entry, Episode, Op, Ref, TALLY_HOLDER};

/// What is kept for a call.
#[repr(C)]
pub(crate) struct Own {
    began: u64,
    /// `None` is null.
    entry: Option<&'static Entry>,
    /// Shows the sleep while it lasts.
    episode: Option<&'static Episode>,
}

type Sleep = turnwise_interpose::Sleep<Own>;

/// From this many distributions on, sleeps are distinguished by their calls only, no longer by their paths and places.
const PLENTY: u64 = Limit::Samples as u64;
/// Stands for all places then; no program has anything there.
const ANYWHERE: u64 = 16;

/// Where the preload library lies, if it is behind us: its locks' own sleeps are recorded as waits for them.
static OURS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Finds what has to be told apart, for the constructor.
pub(crate) fn look_up() {
    if real::next_is_preload()
        && let Some(library) = find(real::pthread_mutex_lock::address().addr())
    {
        OURS[0].store(library.start as u64, Relaxed);
        OURS[1].store(library.end as u64, Relaxed);
    }
    find_program();
}

fn is_ours(site: u64) -> bool {
    (OURS[0].load(Relaxed)..OURS[1].load(Relaxed)).contains(&site)
}

fn class(number: u32) -> Class {
    let all = [Class::Semaphore, Class::Barrier, Class::Thread, Class::Once];
    all.into_iter().find(|class| *class as u32 == number).unwrap_or(Class::Futex)
}

/// Returns the entry of a place and a path, made with its stack if necessary; `None`: there is no room.
fn entry_of(state: &State, sleep: &Sleep) -> Option<&'static Entry> {
    let class = class(sleep.class);
    let scarce = state.writer.mapping().header().details.load(Relaxed) >= PLENTY;
    let thread = u64::from(state.writer.index());
    let (address, path) = match scarce {
        true => (ANYWHERE, sleep.site),
        // An earlier thread may have left its entries to this one.
        false => (sleep.address, sleep.path() ^ thread.wrapping_mul(SPREAD)),
    };
    let entry = state.entry(class, address, Op::Sleep.at(path))?;
    if entry.mutex_or_under.load(Relaxed) == 0 {
        let stack = stacks::take(&state.writer, sleep.site);
        entry.mutex_or_under.store(thread << 32 | u64::from(stack), Relaxed);
    }
    Some(entry)
}

/// Notes that a call begins which may sleep.
pub(crate) extern "C" fn begin(sleep: &mut Sleep) -> bool {
    if is_ours(sleep.site) {
        return false;
    }
    memory::keeping_errno(|| {
        let Some(state) = enter_uncounted() else { return false };
        let Some(entry) = entry_of(&state, sleep) else { return false };
        state.begin_wait();
        locks::contended(state.writer.mapping(), entry.lock.load(Relaxed));
        let past = PastWaits::of(&state.writer, entry);
        let is_kept = past.number < waits::FIRST || past.are_long() || state.sampling.is_stack_due();
        let stack = entry.mutex_or_under.load(Relaxed) as Ref;
        let episode = match is_kept {
            true => state.begin_episode(entry, Some((stack, 1)), None),
            false => state.brief_episode(entry),
        };
        let began = clock::ticks();
        if let Some(episode) = episode {
            episode.began.store(began, Relaxed);
            if is_kept {
                state.episodes.publish();
            } else {
                episode.stack.store(stack, Relaxed);
                episode.entry.store(state.writer.mapping().place_of(entry), Relaxed);
            }
        }
        sleep.own = Own { began, entry: Some(entry), episode };
        true
    })
}

/// Notes that such a call has ended, which [`begin`] has seen.
pub(crate) extern "C" fn end(sleep: &Sleep, how: u32) {
    let at = clock::ticks();
    let Some(entry) = sleep.own.entry else { return };
    memory::keeping_errno(|| {
        let Some(state) = enter_uncounted() else { return };
        // A signal handler may have forked meanwhile.
        if state.writer.mapping().has(entry) {
            count(&state, sleep, entry, (how, at));
        }
    });
}

fn count(state: &State, sleep: &Sleep, entry: &'static Entry, (how, at): (u32, u64)) {
    /// A call that took no longer found that the thread had already ended.
    const ENDED_NS: u64 = 3_000;
    let ticks = at.saturating_sub(sleep.own.began);
    let is_late = sleep.class == Class::Thread as u32 && ticks < clock::ticks_in(ENDED_NS);
    let slept = matches!(how, WOKEN | GAVE_UP) && !is_late;
    let waker = if slept && how == WOKEN { locks::waker(state.writer.mapping(), entry) } else { None };
    if let Some(episode) = sleep.own.episode {
        let is_brief = state.episodes.is_for_brief_waits(episode);
        if !slept || is_brief && !waits::is_long(ticks) {
            episode.entry.store(0, Relaxed); // readers skip it
            episode.stack.store(0, Relaxed);
            add(&state.writer.record().dropped, u64::from(slept));
        } else {
            episode.acquired.store(at, Relaxed);
            episode.flags.store(if how == WOKEN { ACQUIRED } else { 0 }, Relaxed);
            if let Some((stack, thread)) = waker {
                episode.holder.store(thread + 1, Relaxed);
                episode.holder_site.store(Op::Wake.at(stack.into()), Relaxed);
            }
            if is_brief {
                state.episodes.keep_brief_wait();
            }
        }
    }
    if !slept {
        return;
    }
    let counted = detail::of(&state.writer, &entry.detail, Limit::Waits);
    if how == WOKEN {
        add(&entry.acquisitions, 1);
    } else {
        entry.failed.store(entry.failed.load(Relaxed).wrapping_add(1), Relaxed);
    }
    let Some(detail) = counted else { return };
    match how {
        WOKEN => detail::acquired(&state.writer, detail, Acquisition { at, weight: 1, waited: Some(ticks) }),
        _ => detail::gave_up(&state.writer, detail, at, ticks),
    }
    if let Some((stack, _)) = waker {
        detail::tally(&state.writer, detail, TALLY_HOLDER, Op::Wake.at(stack.into()), 1, ticks);
    }
}

/// Notes that a call begins on several words.
pub(crate) extern "C" fn begin_several(sleep: &mut Sleep, _: u64) -> bool {
    sleep.own.began = clock::ticks();
    !is_ours(sleep.site)
}

/// Records a call that slept on several words, of which `woken` is the one that ended it, or an error. They are an
/// array of `struct futex_waitv`, which the kernel has read.
pub(crate) extern "C" fn end_of_several(sleep: &mut Sleep, array: u64, woken: c_long, how: u32) {
    const BYTES: u64 = 24;
    const ADDRESS: u64 = 8;
    let at = clock::ticks();
    if !matches!(how, WOKEN | GAVE_UP) {
        return;
    }
    let word = array.wrapping_add(BYTES * u64::try_from(woken).unwrap_or(0) + ADDRESS);
    let mut address = [0];
    if words(0, word as usize, &mut address) == 0 {
        return;
    }
    sleep.address = address[0] as u64;
    memory::keeping_errno(|| {
        let Some(state) = enter_uncounted() else { return };
        if let Some(entry) = entry_of(&state, sleep) {
            locks::contended(state.writer.mapping(), entry.lock.load(Relaxed));
            count(&state, sleep, entry, (how, at));
        }
    });
}

/// Notes that a call is about to wake sleepers; returns its entry. A sample is noted for them, with its stack.
pub(crate) extern "C" fn wakes(number: u32, address: u64, site: u64) -> Option<&'static Entry> {
    if is_ours(site) {
        return None;
    }
    memory::keeping_errno(|| {
        let state = enter_uncounted()?;
        let entry = state.entry(class(number), address, Op::Wake.at(site))?;
        let is_due = entry.acquisitions.load(Relaxed) < waits::FIRST || state.sampling.is_stack_due();
        let stack = if is_due { stacks::take(&state.writer, site) } else { 0 };
        locks::is_woken_by(state.writer.mapping(), entry, (stack, state.writer.index()));
        Some(entry)
    })
}

/// Notes how many threads it woke, if that is not negative.
pub(crate) extern "C" fn woke(entry: Option<&'static Entry>, threads: c_long) {
    let Some(entry) = entry.filter(|_| threads >= 0) else { return };
    let Some(state) = enter_uncounted() else { return };
    if state.writer.mapping().has(entry) {
        add(&entry.acquisitions, 1);
        add(&entry.for_nothing, u64::from(threads == 0));
    }
}
