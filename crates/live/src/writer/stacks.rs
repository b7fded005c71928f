//! Call stacks of waits that are not for our locks: their call sites are in functions of other locks, and tell neither
//! what is waited for nor where.
//!
//! A stack is taken once for each path of calls, which the caller identifies. Stacks are never freed. The table that
//! finds them is in the process's own memory: nothing in the file determines where writes go.

use super::modules;
use super::view::View;
use crate::layout::{CALLS, STACKS, site_of_stack};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// For paths and for stacks, by their hashes: the hash, whose lowest bits are 1 plus the stack's place; 0: empty.
static KNOWN: [AtomicU64; 4 * STACKS] = [const { AtomicU64::new(0) }; 4 * STACKS];
const PLACE_BITS: u32 = 16;
/// The number of words that may have a hash.
const PROBES: usize = 8;
/// The number of stacks that were taken, and its limit: where paths rarely repeat, waits have only their call site.
static TAKEN: AtomicU32 = AtomicU32::new(0);
const MOST_TAKEN: u32 = 1 << 16;

const _: () = assert!(STACKS < 1 << PLACE_BITS);

/// 1 plus the generation of the process that these belong to.
static OF: AtomicU32 = AtomicU32::new(0);

/// Forgets the stacks of a forked child's parent. Threads may race here, and forget some of their own.
fn clear() {
    KNOWN.iter().filter(|word| word.load(Relaxed) != 0).for_each(|word| word.store(0, Relaxed));
    TAKEN.store(0, Relaxed);
}

/// Returns the call site that stands for the stack on this path, which `take` finds if it is not known yet: it returns
/// the number of calls. `None`: there is no room, or none was found.
pub(super) fn of(
    view: &View,
    generation: u32,
    path: u64,
    take: impl FnOnce(&mut [u64; CALLS]) -> usize,
) -> Option<u64> {
    // ORDERING live.stacks_of: Acquire pairs with the Release below: a thread that sees it finds no stack of before.
    if OF.load(Acquire) != generation + 1 {
        clear();
        // ORDERING live.stacks_of: Release, as above.
        OF.store(generation + 1, Release);
    }
    // Where a module was unloaded, the same path may lead through another one.
    let path = mixed(path, view.header().unloads.load(Relaxed));
    if let Some(place) = find(path) {
        return Some(site_of_stack(place));
    }
    if TAKEN.fetch_add(1, Relaxed) >= MOST_TAKEN {
        TAKEN.store(MOST_TAKEN, Relaxed);
        return None;
    }
    let mut calls = [0; CALLS];
    let count = take(&mut calls).min(CALLS);
    if count == 0 {
        return None;
    }
    calls[..count].iter_mut().for_each(|call| *call = modules::numbered(*call, generation));
    let hash = calls.iter().fold(1, |hash, call| mixed(hash, *call));
    let place = match find(hash) {
        Some(place) => place,
        None => {
            let (place, stack) = view.new_stack()?;
            stack.calls.iter().zip(calls).for_each(|(to, call)| to.store(call, Relaxed));
            stack.count.store(count as u64, Relaxed);
            know(hash, place);
            place
        }
    };
    know(path, place);
    Some(site_of_stack(place))
}

fn mixed(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(9) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the words that may have a hash.
fn words(hash: u64) -> impl Iterator<Item = &'static AtomicU64> {
    (0..PROBES).map(move |step| &KNOWN[(hash >> 40) as usize % (KNOWN.len() - PROBES) + step])
}

fn find(hash: u64) -> Option<usize> {
    // ORDERING live.stack: Acquire pairs with the Release in `know`: the stack was written before.
    let found = words(hash).map(|word| word.load(Acquire)).find(|word| (word ^ hash) >> PLACE_BITS == 0)?;
    (found as usize & ((1 << PLACE_BITS) - 1)).checked_sub(1)
}

/// Notes the place of a stack. Where there is no room, another one is forgotten.
fn know(hash: u64, place: usize) {
    let word = words(hash).find(|word| word.load(Relaxed) == 0).or_else(|| words(hash).nth(place % PROBES));
    let value = hash >> PLACE_BITS << PLACE_BITS | (place as u64 + 1);
    // ORDERING live.stack: Release pairs with the Acquire in `find`.
    word.into_iter().for_each(|word| word.store(value, Release));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_stack_until_it_is_forgotten() {
        let paths = || (1..=200_u64).map(|path| mixed(path, 7));
        paths().enumerate().for_each(|(place, path)| know(path, place));
        assert!(paths().enumerate().all(|(place, path)| find(path) == Some(place)));
        assert_eq!(find(mixed(201, 7)), None);
        clear();
        assert!(paths().all(|path| find(path).is_none()));
    }
}
