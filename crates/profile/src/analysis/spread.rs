//! Spreads waits over time. They are counted when they end; those that were kept individually are moved to the steps in
//! which they lasted.

use crate::model::{Episode, Profile, Step};

/// Spreads all individual waits of the profile over the steps of their locks.
pub fn waits(profile: &mut Profile) {
    for wait in &profile.episodes {
        let lock = profile.sites[wait.site as usize].lock;
        let lock = &mut profile.locks[lock as usize];
        one(&mut lock.over_time, lock.step_ns.max(1), wait);
    }
}

/// Removes a wait from the step where it ended, and adds it to all steps that it spans. The sum stays the same.
fn one(steps: &mut [Step], step_ns: u64, wait: &Episode) {
    let Some(last) = steps.len().checked_sub(1) else { return };
    let at = |ns: u64| ((ns / step_ns) as usize).min(last);
    let (first, end) = (at(wait.began_ns), at(wait.acquired_ns));
    if first >= end {
        return; // or the recording is damaged: it ended before it began
    }
    // By the other clock it may have ended in the next step, or in the one before.
    let mut left = wait.acquired_ns.saturating_sub(wait.began_ns);
    let mut moved = 0;
    for place in [end, (end + 1).min(last), end - 1] {
        let taken = steps[place].wait_ns.min(left);
        steps[place].wait_ns -= taken;
        (left, moved) = (left - taken, moved + taken);
    }
    for (place, step) in steps.iter_mut().enumerate().take(end + 1).skip(first) {
        let from = (place as u64).saturating_mul(step_ns);
        let until = if place == last { u64::MAX } else { from.saturating_add(step_ns) };
        let part = wait.acquired_ns.min(until).saturating_sub(wait.began_ns.max(from)).min(moved);
        step.wait_ns = step.wait_ns.saturating_add(part);
        moved -= part;
    }
    steps[end].wait_ns = steps[end].wait_ns.saturating_add(moved);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(steps: &[u64], waits: &[(u64, u64)]) -> Vec<u64> {
        let mut steps: Vec<Step> = steps.iter().map(|&wait_ns| Step { wait_ns, ..Step::default() }).collect();
        for &(began_ns, acquired_ns) in waits {
            one(&mut steps, 10, &Episode { began_ns, acquired_ns, ..Episode::default() });
        }
        steps.iter().map(|step| step.wait_ns).collect()
    }

    #[test]
    fn a_wait_is_where_it_lasted_and_the_sum_stays() {
        assert_eq!(course(&[0, 0, 0, 35], &[(0, 35)]), [10, 10, 10, 5]);
        assert_eq!(course(&[3, 0, 12, 0], &[(15, 27)]), [3, 5, 7, 0], "what is counted besides stays");
        assert_eq!(course(&[0, 0, 0, 25], &[(5, 29)]), [5, 10, 9, 1], "counted in the next step");
        assert_eq!(course(&[0, 4], &[(2, 9)]), [0, 4], "it lay in one step");
        assert_eq!(course(&[0, 8], &[(0, 20)]), [8, 0], "no more than is there");
        assert_eq!(course(&[7, 4], &[(12, 3)]), [7, 4], "it ended before it began");
        assert_eq!(course(&[], &[(0, 20)]), [0_u64; 0]);
    }
}
