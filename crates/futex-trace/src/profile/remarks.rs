//! Remarks for the reader of the profile: `remarks.jinja` has their words.

use super::pending;
use crate::process::Process;
use crate::trace::Trace;
use turnwise_profile::figures::listed;
use turnwise_profile::model::Profile;
use turnwise_profile::template::{context, lines};

/// The number of other processes that are listed.
const SHOWN: usize = 3;

/// Returns them. `left_out`: the number of futexes that are not in the profile.
pub(super) fn of(
    trace: &Trace,
    process: &Process,
    left_out: usize,
    profile: &Profile,
    troubles: Vec<String>,
) -> Vec<String> {
    let pairing = &process.pairing;
    let (joins, joined_ns) = pairing.joins.totals();
    let others: Vec<String> = trace
        .processes()
        .into_iter()
        .skip(1)
        .filter(|process| process.waited_ns() > 0)
        .map(|process| process.pid.to_string())
        .collect();
    let mut remarks = pending::remarks(process, profile);
    remarks.extend(lines(
        include_str!("remarks.jinja"),
        context! {
            lost => trace.lost,
            unseen => trace.unseen,
            begun => pairing.without_beginning,
            ended => pairing.without_end,
            is_go => profile.frames.iter().any(|frame| frame.function.starts_with("runtime.futex")),
            not_slept => pairing.not_slept,
            other_count => others.len(),
            others => listed(others, SHOWN, ", "),
            joins, joined_ns, left_out,
        },
    ));
    remarks.extend(troubles);
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_seen_is_said() {
        let said = |unseen| {
            let mut trace = Trace::default();
            trace.unseen = unseen;
            of(&trace, &Process::default(), 0, &Profile::default(), Vec::new())
        };
        let is_it = |remark: &String| remark.starts_with("whether 2 threads slept already could not be seen");
        assert!(!said(0).iter().any(|remark| remark.starts_with("whether ")));
        assert!(said(2).iter().any(is_it));
    }
}
