//! Busy locks on one cache line: taking one takes the line away from the others' CPUs.

use super::LINE_TRANSFER_NS;
use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::count;
use crate::template::context;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let lines = context.profile.shared_lines.iter().filter_map(|line| {
        let acquisitions = |&lock: &u32| context.profile.locks[lock as usize].usage.acquisitions;
        let all: u64 = line.locks.iter().map(acquisitions).sum();
        let busiest = line.locks.iter().map(acquisitions).max()?;
        // Each acquisition of a less busy lock may fetch the line, and makes the busiest fetch it again.
        let hoped = 2 * (all - busiest) * LINE_TRANSFER_NS;
        if !context.worthwhile(hoped) {
            return None;
        }
        let names: Vec<String> = line.locks.iter().map(|&lock| context.lock_name(lock)).collect();
        let each: Vec<String> = line.locks.iter().map(|lock| count(acquisitions(lock))).collect();
        let values = context! { names, line => format!("{:#x}", line.line), each, transfer => LINE_TRANSFER_NS };
        Some(Finding { locks: line.locks.clone(), ..context.finding("false-sharing", hoped, values) })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock_with_site, quiet, usage};
    use crate::model::SharedLine;

    #[test]
    fn neighbours_matter_when_both_are_busy() {
        let with = |second| {
            let mut profile = quiet();
            let locks =
                [1_000_000, second].map(|number| lock_with_site(&mut profile, usage(number, 0, 0, 50))).to_vec();
            profile.shared_lines = vec![SharedLine { line: 64, locks }];
            fired(&profile)
        };
        assert_eq!(with(200_000), ["false-sharing"]);
        assert_eq!(with(199_000), [""; 0]);
    }
}
