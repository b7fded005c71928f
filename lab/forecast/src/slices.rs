//! A recorded run cut into slices in which the same threads take locks: its phases.

use crate::trace::{Stretch, Trace, TracedThread};

/// Slices shorter than this share of the run join the one before.
const SHORTEST: f64 = 0.01;
/// Longer ones are cut.
const LONGEST: f64 = 0.125;
/// A thread that takes part in a slice takes this share of its acquisitions, at least.
const PART: f64 = 1e-3;

/// Part of a recorded run.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    /// Its beginning, ns from the recording's.
    pub(crate) begin_ns: f64,
    /// Its end.
    pub(crate) end_ns: f64,
    /// Acquisitions in it, of all threads together.
    pub(crate) acquisitions: f64,
    /// The threads that take locks in it.
    pub(crate) threads: Vec<Part>,
}

/// A thread's part in a slice.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Which thread of the trace.
    pub(crate) thread: usize,
    /// The stretches that represent what it does.
    pub(crate) stretches: Vec<usize>,
    /// From which to which part of the slice it lives: 0 is its beginning, 1 its end.
    pub(crate) lives: (f64, f64),
}

impl Slice {
    /// Returns its length.
    pub(crate) fn ns(&self) -> f64 {
        self.end_ns - self.begin_ns
    }

    /// Returns how many threads live in it, on average.
    pub(crate) fn mean_threads(&self) -> f64 {
        self.threads.iter().map(|part| part.lives.1 - part.lives.0).sum()
    }
}

/// Cuts the run where threads come and go, and long parts in between into equal ones.
pub(crate) fn cut(trace: &Trace) -> Vec<Slice> {
    let all: u64 = trace.threads.iter().map(|thread| thread.acquisitions).sum();
    let busy: Vec<&TracedThread> =
        trace.threads.iter().filter(|thread| thread.acquisitions as f64 >= all as f64 * PART).collect();
    let begin = busy.iter().map(|thread| thread.began_ns).fold(f64::INFINITY, f64::min);
    let end = busy.iter().map(|thread| thread.ended_ns).fold(0.0, f64::max);
    if begin >= end {
        return Vec::new();
    }
    let mut cuts: Vec<f64> = busy.iter().flat_map(|thread| [thread.began_ns, thread.ended_ns]).collect();
    cuts.push(end);
    cuts.sort_by(f64::total_cmp);
    let mut slices = Vec::new();
    let mut from = begin;
    for cut in cuts {
        let to = if end - cut < SHORTEST * (end - begin) { end } else { cut };
        if to - from < SHORTEST * (end - begin) {
            continue;
        }
        let parts = ((to - from) / (LONGEST * (end - begin))).ceil().max(1.0) as u32;
        let step = (to - from) / f64::from(parts);
        let part = |part: u32| slice(trace, from + step * f64::from(part), from + step * f64::from(part + 1));
        slices.extend((0..parts).map(part));
        from = to;
    }
    slices
}

fn slice(trace: &Trace, begin_ns: f64, end_ns: f64) -> Slice {
    let made: Vec<f64> =
        trace.threads.iter().map(|thread| made_at(thread, end_ns) - made_at(thread, begin_ns)).collect();
    let acquisitions: f64 = made.iter().sum();
    let takes_part = |(place, thread): (usize, &TracedThread)| {
        let at = |ns: f64| ((ns - begin_ns) / (end_ns - begin_ns)).clamp(0.0, 1.0);
        let lives = (at(thread.began_ns), at(thread.ended_ns));
        let takes_part = lives.0 < lives.1 && made[place] >= acquisitions * PART;
        let stretches = if takes_part { standing_for(thread, begin_ns, end_ns) } else { vec![] };
        (!stretches.is_empty()).then_some(Part { thread: place, stretches, lives })
    };
    let threads = trace.threads.iter().enumerate().filter_map(takes_part).collect();
    Slice { begin_ns, end_ns, acquisitions, threads }
}

/// Returns the thread's stretches in a slice; none: the nearest.
fn standing_for(thread: &TracedThread, begin_ns: f64, end_ns: f64) -> Vec<usize> {
    let overlaps = |stretch: &Stretch| stretch.begin_ns < end_ns && stretch.end_ns > begin_ns;
    let within: Vec<usize> =
        thread.stretches.iter().enumerate().filter(|(_, stretch)| overlaps(stretch)).map(|(place, _)| place).collect();
    if !within.is_empty() {
        return within;
    }
    let far = |stretch: &Stretch| (stretch.begin_ns - end_ns).max(begin_ns - stretch.end_ns);
    let nearest = thread.stretches.iter().enumerate().min_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)));
    nearest.map(|(place, _)| place).into_iter().collect()
}

/// Returns the thread's acquisitions up to then: known at the start of its stretches, in proportion in between.
fn made_at(thread: &TracedThread, ns: f64) -> f64 {
    let (mut before, mut made) = (thread.began_ns, 0.0);
    let known = thread.stretches.iter().map(|stretch| (stretch.begin_ns, stretch.made_before as f64));
    for (at, count) in known.chain([(thread.ended_ns, thread.acquisitions as f64)]) {
        if ns < at {
            let share = if at > before { (ns - before).max(0.0) / (at - before) } else { 0.0 };
            return made + (count - made).max(0.0) * share;
        }
        (before, made) = (at, made.max(count));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a thread that lives from `began` to `ended`, takes a lock each nanosecond, with a stretch in each tenth.
    fn thread(began_ns: f64, ended_ns: f64) -> TracedThread {
        let tenth = (ended_ns - began_ns) / 10.0;
        let stretch = |number: u32| {
            let begin_ns = began_ns + tenth * f64::from(number);
            Stretch { begin_ns, end_ns: begin_ns + 1.0, made_before: (begin_ns - began_ns) as u64, acts: vec![] }
        };
        let stretches = (0..10).map(stretch).collect();
        TracedThread { began_ns, ended_ns, acquisitions: (ended_ns - began_ns) as u64, stretches }
    }

    #[test]
    fn slices_are_the_phases_and_lose_no_acquisition() {
        let threads = vec![thread(0.0, 4e6), thread(0.0, 4.001e6), thread(4e6, 8e6), TracedThread::default()];
        let slices = cut(&Trace { threads, ..Trace::default() });
        assert!(slices.iter().all(|slice| slice.ns() <= 1.01e6 && slice.ns() > 0.0), "{slices:?}");
        let all: f64 = slices.iter().map(|slice| slice.acquisitions).sum();
        assert!((all - 12.001e6).abs() < 10.0, "{all}");
        let who = |slice: &Slice| slice.threads.iter().map(|part| part.thread).collect::<Vec<_>>();
        assert_eq!((who(&slices[0]), who(&slices[slices.len() - 1])), (vec![0, 1], vec![2]));
        assert!(slices.windows(2).all(|pair| (pair[0].end_ns - pair[1].begin_ns).abs() < 1.0), "{slices:?}");
    }

    #[test]
    fn a_thread_takes_part_while_it_lives() {
        // The second phase begins when the last thread of the first ends, a little after the cut.
        let threads = vec![thread(0.0, 4e6), thread(0.0, 4.02e6), thread(4.02e6, 8e6)];
        let slices = cut(&Trace { threads, ..Trace::default() });
        let slice = slices.iter().find(|slice| slice.begin_ns == 4e6).expect("a cut where the first thread ends");
        let lives: Vec<_> = slice.threads.iter().map(|part| (part.thread, part.lives)).collect();
        let cut = 0.02e6 / slice.ns();
        assert!(matches!(lives[..], [(1, (0.0, end)), (2, (begin, 1.0))] if end == begin && (end - cut).abs() < 1e-9));
        assert!((slice.mean_threads() - 1.0).abs() < 1e-9, "one at a time: {lives:?}");
    }

    #[test]
    fn a_slice_without_a_stretch_takes_the_nearest() {
        let mut one = thread(0.0, 1e6);
        one.stretches.truncate(2);
        assert_eq!(standing_for(&one, 9e5, 1e6), [1]);
        assert_eq!(standing_for(&one, 0.0, 5e5), [0, 1]);
        assert_eq!(standing_for(&TracedThread::default(), 0.0, 1.0), [0_usize; 0]);
    }
}
