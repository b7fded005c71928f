//! Reads what is set for a wait. Whoever may write to the file may write anything: invariant 1 of `settings.rs`.

use super::Values;
use super::view::{self, View};
use crate::settings::{RULES, Rule, SETTINGS, Setting, kind};
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::fence;

/// Returns what is set for a wait for the lock at `address`, at this call site, in the process of this generation;
/// `None`: nothing is.
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
    let table = view.settings((before as u32).checked_sub(1)? as usize)?;
    let mut values = Values::default();
    for rule in &table.rules[..RULES] {
        if rule.kind.load(Relaxed) == kind::NONE {
            break;
        }
        if covers(rule, address, site)? {
            add(rule, &mut values)?;
        }
    }
    // ORDERING live.settings: Acquire fence: the second look at the word comes after the table's words.
    fence(Acquire);
    (word.load(Relaxed) == before && !values.is_empty()).then_some(values)
}

/// Whether a rule is for this wait; `None`: it cannot be one.
fn covers(rule: &Rule, address: u64, site: u64) -> Option<bool> {
    let range = rule.from.load(Relaxed)..rule.to.load(Relaxed);
    match rule.kind.load(Relaxed) {
        kind::ALL => Some(true),
        // The return address may belong to the next function already; the call does not.
        kind::SITE => Some(site != 0 && range.contains(&(site - 1))),
        kind::LOCK => Some(range.contains(&address)),
        _ => None,
    }
}

/// Adds what a rule sets; `None`: it cannot be one.
fn add(rule: &Rule, values: &mut Values) -> Option<()> {
    let set = rule.set.load(Relaxed);
    if set >> SETTINGS != 0 {
        return None;
    }
    let in_force = Setting::ALL.into_iter().filter(|setting| set >> (*setting as u32) & 1 != 0);
    in_force.into_iter().all(|setting| values.set(setting, rule.ns[setting as usize].load(Relaxed))).then_some(())
}
