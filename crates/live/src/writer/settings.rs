//! Reads the settings for a wait, and writes a policy file's settings, for readers. A process with write access to the
//! file may write anything: invariant 1 of `settings.rs`.

use super::view::{self, View};
use super::{FileRule, Values};
use crate::settings::{FILE_RULES, RULES, Rule, Table, kind};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::fence;

/// Publishes the settings of a policy file's rules to readers: `rule` returns them by number. If there is no room for
/// one in the file, readers see those before it.
pub(super) fn tell(view: &View, rule: fn(usize) -> Option<FileRule>) {
    let found = (0..FILE_RULES).map_while(|number| Some((number, rule(number)?)));
    let set = found.filter(|(_, rule)| !rule.values.is_empty());
    for (place, (number, rule)) in set.enumerate() {
        let Some(shown) = view.at::<Rule>(place) else { return };
        shown.set_values(&rule.values);
        shown.from.store(number as u64, Relaxed);
        shown.label.iter().zip(rule.label).for_each(|(byte, value)| byte.store(*value, Relaxed));
        // ORDERING live.file_rule: Release: a reader that sees the kind reads a whole rule by its next system call.
        shown.kind.store(kind::FILE, Release);
    }
}

/// Returns the settings for a wait for the lock at `address`, at this call site, in the process of this generation;
/// `None`: there are none.
#[inline(always)]
pub(super) fn of(generation: u32, address: u64, site: u64) -> Option<Values> {
    let view = view::of(generation)?;
    if view.header().settings.load(Relaxed) as u32 == 0 {
        return None;
    }
    find(&view, address, site)
}

#[cold]
#[inline(never)]
fn find(view: &View, address: u64, site: u64) -> Option<Values> {
    let word = &view.header().settings;
    // ORDERING live.settings: Acquire pairs with the writer's system calls: it writes the table, then the word.
    let before = word.load(Acquire);
    let table = view.at::<Table>((before as u32).checked_sub(1)? as usize)?;
    let mut values = Values::default();
    for rule in &table.rules[..RULES] {
        if rule.kind.load(Relaxed) == kind::NONE {
            break;
        }
        if covers(rule, address, site)? {
            rule.add_to(&mut values).then_some(())?;
        }
    }
    // ORDERING live.settings: Acquire fence: the second load of the word comes after the table's words.
    fence(Acquire);
    (word.load(Relaxed) == before && !values.is_empty()).then_some(values)
}

/// Returns whether a rule applies to this wait; `None`: it is invalid.
fn covers(rule: &Rule, address: u64, site: u64) -> Option<bool> {
    let range = rule.from.load(Relaxed)..rule.to.load(Relaxed);
    match rule.kind.load(Relaxed) {
        kind::ALL => Some(true),
        // The return address may already belong to the next function; the call does not.
        kind::SITE => Some(site != 0 && range.contains(&(site - 1))),
        kind::LOCK => Some(range.contains(&address)),
        _ => None,
    }
}
