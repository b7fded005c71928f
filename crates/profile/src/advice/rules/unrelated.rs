//! Code of different files blocks each other: perhaps the lock protects more than one thing.

use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::share;
use crate::model::{Lock, LockId, SiteId};
use crate::output::names;
use crate::template::context;
use std::collections::BTreeMap;

/// The share of wait time between code of different files.
const ACROSS: f64 = 0.3;
/// The share of acquisitions by each of the two busiest files: less is occasional use.
const BUSY: f64 = 0.2;

pub(super) fn find(context: &Context, lock: LockId, _: &Lock) -> Option<Finding> {
    let mut files: BTreeMap<&str, u64> = BTreeMap::new();
    for (number, site) in context.sites_of(lock) {
        *files.entry(file(context, number)?).or_default() += site.usage.acquisitions;
    }
    let mut files: Vec<(&str, u64)> = files.into_iter().collect();
    files.sort_by_key(|&(_, acquisitions)| std::cmp::Reverse(acquisitions));
    let all: u64 = files.iter().map(|&(_, acquisitions)| acquisitions).sum();
    let &(_, second) = files.get(1)?;
    let (mut waited, mut across) = (0, 0);
    for pair in context.blocked_at(lock) {
        waited += pair.wait_ns;
        across += if file(context, pair.waiter) == file(context, pair.holder) { 0 } else { pair.wait_ns };
    }
    if share(second, all) < BUSY || share(across, waited) < ACROSS {
        return None;
    }
    let files: Vec<String> = files.iter().take(2).map(|&(file, _)| names::brief(names::base(file))).collect();
    let sites = context.sites_of(lock).map(|(number, _)| number).collect();
    let values = context! { files, across, waited };
    Some(Finding { sites, ..context.about("unrelated-sites", lock, across / 2, values) })
}

/// Returns the file of the function that took the lock, ignoring inlined code, or of its caller if it only locks for
/// others; `None`: no debug information.
fn file<'a>(context: &Context<'a>, site: SiteId) -> Option<&'a str> {
    let site = &context.profile.sites[site as usize];
    let outer = names::caller(context.profile, site).or(site.frames.last().copied())?;
    context.profile.frames[outer as usize].file.as_deref()
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock, quiet, site, usage};
    use crate::model::{Blocked, Profile};

    fn profile(second: u64, across: u64) -> Profile {
        let mut profile = quiet();
        let lock = lock(&mut profile, usage(10_000, 2_000, 100_000, 8_000));
        let a = site(&mut profile, lock, usage(10_000 - second, 1_000, 100_000, 8_000));
        let b = site(&mut profile, lock, usage(second, 1_000, 100_000, 8_000));
        let pair = |holder, wait_ns| Blocked { waiter: a, holder, waits: 10, wait_ns, ..Blocked::default() };
        profile.blocked = vec![pair(b, across), pair(a, 100 - across)];
        profile
    }

    #[test]
    fn files_that_block_each_other_are_named() {
        assert!(fired(&profile(2_000, 30)).contains(&"unrelated-sites"));
        assert!(!fired(&profile(1_900, 30)).contains(&"unrelated-sites"), "a visitor");
        assert!(!fired(&profile(2_000, 29)).contains(&"unrelated-sites"), "they block themselves");
        let mut stripped = profile(2_000, 30);
        stripped.frames[1].file = None;
        assert!(!fired(&stripped).contains(&"unrelated-sites"), "not known");
    }
}
