//! The threads, each with its sums.

use super::sums::Sum;
use super::{Work, text};
use crate::model::Thread;

pub(super) fn all(work: &Work) -> Vec<Thread> {
    let threads = work.recording.threads.iter().enumerate().map(|(number, thread)| {
        let mut sum = Sum::default();
        if let Some(detail) = work.recording.detail(thread.detail) {
            sum.add_detail(&detail);
        }
        (sum.acquisitions, sum.reads, sum.failed) =
            (thread.ahead.saturating_sub(u64::from(thread.left)), thread.reads, thread.failed);
        sum.inside.stolen = thread.stolen;
        for detail in work.sleeps.of_thread(work.recording, number) {
            sum.add_time(&detail);
        }
        work.pending.of_thread(number).for_each(|wait| sum.add_pending(wait.ticks, work.pending.ticks));
        let ended = if thread.ended == 0 { work.duration_ns } else { work.clock.since_start(thread.ended) };
        Thread {
            tid: thread.tid,
            name: text(&thread.name),
            began_ns: work.clock.since_start(thread.began),
            ended_ns: ended,
            only_slept: sum.acquisitions == 0 && sum.failed == 0 && sum.wait_ticks() == 0,
            usage: sum.usage(work.clock, work.reports),
        }
    });
    threads.collect()
}
