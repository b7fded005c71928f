//! Sleeping on a word, as a futex does it: check and fall asleep in one step, wake by address, in lanes.
//!
//! Each step is one operation on the word for loom ([`LoomU32::newest`]), so that it explores both orders of a check
//! and a wake-up. None of them orders anything else.
//!
//! A sleeper is a coroutine that yields. When loom schedules one that no thread woke, it has timed out, or (in a model
//! with spurious wake-ups) it woke for no reason, or it yields again.

use super::word::LoomU32;
use super::world::{self, Sleeper, with};
use crate::lab;
use std::panic::Location;
use std::ptr;
use turnwise::platform::{Deadline, Lane, Parked};

#[track_caller]
pub(super) fn park(word: &LoomU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
    let at = Location::caller();
    lab::visit(at);
    world::may_sleep();
    // One step: check, and be in the table.
    let found = word.newest().expect("a thread sleeps on a word that was dropped");
    let thread = world::number();
    world::note("park", at, u64::from(expected), u64::from(found));
    if found != expected {
        return Parked::Changed;
    }
    world::saw("slept");
    with(|w| w.sleepers.push(Sleeper { thread, word: ptr::from_ref(word).cast(), lane, expected, moved: false }));
    if lane == Lane::First {
        world::saw("slept in the first lane");
    }
    if lane == Lane::Readers {
        world::saw("slept in the readers' lane");
    }
    let parked = asleep(thread, deadline);
    if lane == Lane::First {
        world::saw(if parked == Parked::Woken { "woken in the first lane" } else { "unwoken in the first lane" });
    }
    world::note(if parked == Parked::Woken { "woken" } else { "not woken" }, at, 0, 0);
    parked
}

fn asleep(thread: usize, deadline: Option<Deadline>) -> Parked {
    let alarm = deadline.is_some() && world::alarm();
    loop {
        let deadline = deadline.filter(|_| !world::is_staging());
        if !alarm {
            world::sleep();
        }
        if world::take_woken() {
            return Parked::Woken;
        }
        let spurious = || with(|w| w.setup.spurious.filter(|_| std::mem::take(&mut w.spurious)));
        let Some(why) = deadline.map(|_| Parked::TimedOut).or_else(spurious) else { continue };
        leave_word(thread);
        deadline.into_iter().for_each(|d| world::advance_to(d.at));
        if world::take_woken() {
            world::saw("woken as the time was out");
            return Parked::Woken;
        }
        with(|w| w.sleepers.retain(|s| s.thread != thread));
        world::saw("woke unwoken");
        world::progress();
        return why;
    }
}

/// Does the operation on the word that this thread sleeps on, so that loom tries it before and after a wake-up there.
fn leave_word(thread: usize) {
    loop {
        let word_of = |w: &mut world::ModelRun| w.sleepers.iter().find(|s| s.thread == thread).map(|s| s.word);
        let Some(word) = with(word_of) else { return };
        LoomU32::touch(word.cast());
        if with(word_of).is_none_or(|now| now == word) {
            return;
        }
    }
}

#[track_caller]
pub(super) fn wake(word: *const LoomU32, lane: Lane, count: u32) -> u32 {
    LoomU32::touch(word);
    let count = lab::waking(Location::caller(), count);
    let woken = with(|w| {
        let mut woken = 0;
        while woken < count {
            let sleeps = |s: &Sleeper| s.word == word.cast() && s.lane == lane;
            let newest = w.setup.newest_first;
            let found = if newest { w.sleepers.iter().rposition(sleeps) } else { w.sleepers.iter().position(sleeps) };
            let Some(index) = found else { break };
            let sleeper = w.sleepers.remove(index);
            w.wake_thread(sleeper.thread);
            woken += 1;
        }
        woken
    });
    if woken > 1 {
        world::saw("several woken at once");
    }
    world::note("wake", Location::caller(), u64::from(woken), u64::from(woken));
    woken
}

#[track_caller]
pub(super) fn requeue(from: &LoomU32, expected: u32, to: *const LoomU32) -> Option<u32> {
    if with(|w| w.setup.late_requeue) {
        world::rest();
    }
    // `to` is touched before and after: loom shall try a wake-up there before, between and after.
    LoomU32::touch(to);
    let found = from.newest().expect("a thread moves sleepers off a word that was dropped");
    let most = lab::waking(Location::caller(), u32::MAX);
    let moved = (found == expected).then(|| with(|w| move_all(w, from, to, most)));
    world::note("requeue", Location::caller(), u64::from(found), moved.map_or(u64::MAX, u64::from));
    LoomU32::touch(to);
    moved
}

/// Wakes the first, moves the others; `most`: at most this many in all.
fn move_all(w: &mut world::ModelRun, from: &LoomU32, to: *const LoomU32, most: u32) -> u32 {
    let (mine, mut others): (Vec<Sleeper>, Vec<Sleeper>) =
        w.sleepers.drain(..).partition(|s| ptr::eq(s.word.cast(), from));
    let first = if w.setup.newest_first { mine.len().min(most as usize).saturating_sub(1) } else { 0 };
    for (index, sleeper) in mine.iter().enumerate() {
        if index >= most as usize {
            others.push(*sleeper);
        } else if index == first {
            w.wake_thread(sleeper.thread);
        } else {
            world::saw("moved a sleeper");
            others.push(Sleeper { word: to.cast(), lane: Lane::Waiters, moved: true, ..*sleeper });
        }
    }
    w.sleepers = others;
    u32::try_from(mine.len()).expect("models have few threads")
}
