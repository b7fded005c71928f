//! Wait time by whole stacks, as flame graphs and pprof require.

use crate::analysis::is_lock_class;
use crate::figures::scaled;
use crate::model::{FrameId, Profile, Site, SiteId};

/// Waits that had one stack.
pub(super) struct WaitStack<'a> {
    pub(super) site: SiteId,
    /// The frames, innermost first.
    pub(super) frames: &'a [FrameId],
    pub(super) waits: u64,
    /// Their total time.
    pub(super) wait_ns: u64,
}

/// Returns exactly the wait time of the profile: a site's stacks add up to its exact totals.
pub(super) fn waits(profile: &Profile) -> Vec<WaitStack<'_>> {
    let numbered = profile.sites.iter().enumerate();
    numbered.flat_map(|(number, site)| of_site(profile, number as SiteId, site)).collect()
}

fn of_site<'a>(profile: &'a Profile, number: SiteId, site: &'a Site) -> Vec<WaitStack<'a>> {
    let known = |of: fn(&crate::model::StackUsage) -> u64| site.stacks.iter().map(of).sum::<u64>();
    let (mut waits, mut wait_ns) = (site.usage.wait.count, site.usage.wait.sum_ns);
    let (known_waits, known_ns) = (known(|usage| usage.waits), known(|usage| usage.wait_ns));
    // A sample stands for all; without sampling, time without a known stack is the site's own.
    let sampled = profile.recording.stack_one_in > 1 || known_ns > wait_ns || known_waits > waits;
    let scale = |part, known, whole| if sampled { scaled(part, known, whole) } else { part };
    let mut found = Vec::new();
    for usage in &site.stacks {
        let (some, time) = (scale(usage.waits, known_waits, waits), scale(usage.wait_ns, known_ns, wait_ns));
        let frames = from_site(profile, site, &profile.stacks[usage.stack as usize]);
        found.push(WaitStack { site: number, frames, waits: some, wait_ns: time });
    }
    waits = waits.saturating_sub(found.iter().map(|one| one.waits).sum());
    wait_ns = wait_ns.saturating_sub(found.iter().map(|one| one.wait_ns).sum());
    if waits > 0 || wait_ns > 0 {
        match found.first_mut() {
            // The remainder from rounding.
            Some(first) if sampled => (first.waits, first.wait_ns) = (first.waits + waits, first.wait_ns + wait_ns),
            _ => found.push(WaitStack { site: number, frames: &site.frames, waits, wait_ns }),
        }
    }
    found
}

/// Returns a stack without the frames at its inner end that only pass the lock on: they say nothing about the program,
/// and all waits would end in them. It begins at the site's innermost frame; if that is not in it, after the frames of
/// lock classes. At least one frame stays.
fn from_site<'a>(profile: &Profile, site: &Site, stack: &'a [FrameId]) -> &'a [FrameId] {
    let is_class = |frame: &FrameId| profile.frames.get(*frame as usize).is_some_and(is_lock_class);
    let own = site.frames.first().and_then(|first| stack.iter().position(|frame| frame == first));
    let first = own.or_else(|| stack.iter().position(|frame| !is_class(frame)));
    &stack[first.unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Distribution, Frame, StackUsage, Usage};

    fn profile(one_in: u32, stacks: &[(u64, u64)]) -> Profile {
        let wait = Distribution { count: 10, sum_ns: 1000, ..Distribution::default() };
        let usage = Usage { contended: 10, wait, ..Usage::default() };
        let stacks = stacks.iter().map(|&(waits, wait_ns)| StackUsage { stack: 0, waits, wait_ns }).collect();
        let mut profile = Profile { sites: vec![Site { usage, stacks, ..Site::default() }], ..Profile::default() };
        profile.stacks.push(vec![7]);
        profile.recording.stack_one_in = one_in;
        profile
    }

    fn found(profile: &Profile) -> Vec<(usize, u64, u64)> {
        waits(profile).iter().map(|one| (one.frames.len(), one.waits, one.wait_ns)).collect()
    }

    #[test]
    fn stacks_end_in_the_program_and_not_in_what_passes_a_lock_on() {
        let frame = |function: &str| Frame { function: function.to_owned(), ..Frame::default() };
        let names = [
            "__gthread_mutex_lock(pthread_mutex_t*)",
            "std::mutex::lock()",
            "serve",
            "std::mutex::lock()",
            "take",
            "core::ops::function::FnOnce::call_once",
        ];
        let profile = Profile { frames: names.map(frame).to_vec(), ..Profile::default() };
        let of = |frames: &[FrameId], stack: &[FrameId]| {
            let site = Site { frames: frames.to_vec(), ..Site::default() };
            from_site(&profile, &site, stack).to_vec()
        };
        assert_eq!(of(&[], &[0, 1, 2, 3]), [2, 3]);
        assert_eq!(of(&[], &[0, 1]), [0, 1], "nothing else is known");
        assert_eq!(of(&[4], &[5, 4, 2]), [4, 2], "where the report has the call site");
        assert_eq!(of(&[4], &[0, 5, 2]), [5, 2], "it is not in the stack");
    }

    #[test]
    fn stacks_add_up_to_the_site() {
        assert_eq!(found(&profile(1, &[(6, 600), (4, 400)])), [(1, 6, 600), (1, 4, 400)]);
        assert_eq!(found(&profile(1, &[(6, 600)])), [(1, 6, 600), (0, 4, 400)], "the rest has the site's frames");
        assert_eq!(found(&profile(1, &[])), [(0, 10, 1000)]);
        assert_eq!(found(&profile(4, &[(8, 500), (4, 250)])), [(1, 7, 667), (1, 3, 333)], "scaled to what is exact");
        assert_eq!(found(&profile(4, &[(0, 0)])), [(1, 10, 1000)]);
    }
}
