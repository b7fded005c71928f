//! Finds cycles in the order in which threads take locks: of each two steps that follow one another, the first takes
//! the lock that the second holds.
//!
//! A cycle is only one if threads can stand in all its steps at once. So each step needs a thread of its own, and there
//! is a moment at which all these are alive; no two may hold the same lock, unless both read (a lock above both orders
//! is a gate that lets one thread pass at a time); and a reader does not wait for a reader. Of cycles that share a
//! step, the shortest is found.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// A lock, and whether it is held or taken only for reading.
pub(crate) type Mode = (u32, bool);

/// A way to take one lock while holding another.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) held: Mode,
    pub(crate) taken: Mode,
    /// All locks that are held then, in their order.
    pub(crate) guards: Rc<[Mode]>,
    /// The threads that did so; each once.
    pub(crate) threads: Vec<u32>,
}

/// Steps looked at before the search ends, however many are left: about a second.
const EFFORT: u64 = 10_000_000;
const MOST_CYCLES: usize = 1000;
/// The most steps of a cycle.
pub(crate) const LONGEST: usize = 32;

/// When a thread began and ended.
pub(crate) type Life = (u64, u64);

/// Whether steps that make a cycle are one to be found.
pub(crate) type Accepts<'a> = &'a dyn Fn(&[usize]) -> bool;

/// Returns cycles of steps (by their place), shortest first, and whether all were searched. No two have a pair of locks
/// in the same order. `lives`: of each thread.
pub(crate) fn find(steps: &[Step], lives: &[Life], accepts: Accepts<'_>) -> (Vec<Vec<usize>>, bool) {
    let life = |thread: u32| lives.get(thread as usize).copied().unwrap_or((0, u64::MAX));
    let by_begin = |step: &Step| {
        let mut threads: Vec<(Life, u32)> = step.threads.iter().map(|thread| (life(*thread), *thread)).collect();
        threads.sort_unstable();
        threads
    };
    let threads = steps.iter().map(by_begin).collect();
    let (from, back) = (HashMap::new(), HashMap::new());
    let mut search = Search { steps, threads, accepts, from, back, most: 0, passed: HashSet::new(), effort: EFFORT };
    let mut found = Vec::new();
    search.index();
    let mut length = 2;
    while length <= LONGEST.min(search.most) && found.len() < MOST_CYCLES && search.effort > 0 {
        match search.next(length) {
            Some(cycle) => {
                let pairs: Vec<(u32, u32)> = cycle.iter().map(|step| search.locks(*step)).collect();
                search.passed.extend(pairs);
                search.index();
                found.push(cycle);
            }
            None => length += 1,
        }
    }
    (found, length > search.most)
}

struct Search<'a> {
    steps: &'a [Step],
    /// The threads of each step, in the order of their begins.
    threads: Vec<Vec<(Life, u32)>>,
    accepts: Accepts<'a>,
    /// The steps that may be in a cycle, by the lock that is held.
    from: HashMap<u32, Vec<usize>>,
    /// The locks that are held in them, by the lock that is taken.
    back: HashMap<u32, HashSet<u32>>,
    /// The most steps of a cycle: there are not more locks, or not more threads.
    most: usize,
    /// Pairs of locks that are in a cycle already found.
    passed: HashSet<(u32, u32)>,
    effort: u64,
}

impl Search<'_> {
    fn locks(&self, step: usize) -> (u32, u32) {
        (self.steps[step].held.0, self.steps[step].taken.0)
    }

    /// Collects the steps, except those that come from nowhere or lead nowhere, repeatedly.
    fn index(&mut self) {
        let mut left: Vec<usize> = (0..self.steps.len()).collect();
        left.retain(|step| !self.passed.contains(&self.locks(*step)));
        loop {
            let held: HashSet<u32> = left.iter().map(|step| self.locks(*step).0).collect();
            let taken: HashSet<u32> = left.iter().map(|step| self.locks(*step).1).collect();
            let before = left.len();
            left.retain(|step| taken.contains(&self.locks(*step).0) && held.contains(&self.locks(*step).1));
            if left.len() == before {
                break;
            }
        }
        let threads: HashSet<u32> = left.iter().flat_map(|step| &self.steps[*step].threads).copied().collect();
        self.from.clear();
        self.back.clear();
        for step in left {
            let (held, taken) = self.locks(step);
            self.from.entry(held).or_default().push(step);
            self.back.entry(taken).or_default().insert(held);
        }
        self.most = threads.len().min(self.from.len());
    }

    fn next(&mut self, length: usize) -> Option<Vec<usize>> {
        let mut starts: Vec<u32> = self.from.keys().copied().collect();
        starts.sort_unstable();
        for start in starts {
            let distances = self.distances_to(start, length);
            let mut path = Vec::new();
            if self.extend(&mut path, start, length, &distances) {
                return Some(path);
            }
        }
        None
    }

    /// Returns the number of steps from each lock back to `start` by locks after it, up to `most`.
    fn distances_to(&mut self, start: u32, most: usize) -> HashMap<u32, usize> {
        let mut distances = HashMap::from([(start, 0)]);
        let mut next = VecDeque::from([start]);
        while let Some(at) = next.pop_front() {
            let distance = distances[&at] + 1;
            if distance >= most {
                break;
            }
            for &before in self.back.get(&at).into_iter().flatten().filter(|before| **before > start) {
                self.effort = self.effort.saturating_sub(1);
                if let Entry::Vacant(new) = distances.entry(before) {
                    new.insert(distance);
                    next.push_back(before);
                }
            }
        }
        distances
    }

    /// Adds `left` steps to the path that lead back to `start`; returns whether there are any.
    fn extend(&mut self, path: &mut Vec<usize>, start: u32, left: usize, distances: &HashMap<u32, usize>) -> bool {
        let at = path.last().map_or(start, |last| self.locks(*last).1);
        for place in 0..self.from.get(&at).map_or(0, Vec::len) {
            let step = self.from[&at][place];
            let to = self.locks(step).1;
            self.effort = self.effort.saturating_sub(1);
            if self.effort == 0 {
                return false;
            }
            let leads_back = if left == 1 {
                to == start
            } else {
                to != start && distances.get(&to).is_some_and(|more| *more < left)
            };
            let is_crossed = path.iter().any(|passed| self.locks(*passed).0 == to) && left > 1;
            if !leads_back || is_crossed || !self.fits(path, step) {
                continue;
            }
            path.push(step);
            let closes = left > 1 || (waits(&self.steps[step], &self.steps[path[0]]) && (self.accepts)(path));
            if closes && self.have_threads(path) && (left == 1 || self.extend(path, start, left - 1, distances)) {
                return true;
            }
            path.pop();
        }
        false
    }

    /// Returns whether a thread can stand in this step while others stand in those of the path.
    fn fits(&self, path: &[usize], step: usize) -> bool {
        let step = &self.steps[step];
        let waits = path.last().is_none_or(|last| waits(&self.steps[*last], step));
        waits && path.iter().all(|other| !are_exclusive(&self.steps[*other].guards, &step.guards))
    }

    /// Returns whether there is a moment at which each step has a thread of its own. Threads that are alive at once are
    /// so when the last of them begins.
    fn have_threads(&mut self, path: &[usize]) -> bool {
        let mut next = vec![0; path.len()];
        let mut alive: Vec<Vec<(Life, u32)>> = vec![Vec::new(); path.len()];
        let following = |next: &[usize], place: usize| Some((*self.threads[path[place]].get(next[place])?, place));
        while let Some((thread, place)) = (0..path.len()).filter_map(|place| following(&next, place)).min() {
            self.effort = self.effort.saturating_sub(1);
            if self.effort == 0 {
                return false;
            }
            let (began, _) = thread.0;
            next[place] += 1;
            alive[place].push(thread);
            alive.iter_mut().for_each(|threads| threads.retain(|((_, ended), _)| *ended >= began));
            // A step with as many threads as there are steps has one left, whichever the others have: those that live
            // longest are enough.
            if alive[place].len() > path.len() {
                alive[place].sort_unstable_by_key(|((_, ended), _)| Reverse(*ended));
                alive[place].pop();
            }
            if alive.iter().all(|threads| !threads.is_empty()) {
                let mut step_of = HashMap::new();
                if (0..path.len()).all(|step| gives_thread(&alive, step, &mut step_of, &mut HashSet::new())) {
                    return true;
                }
            }
        }
        false
    }
}

/// Finds a thread for a step, if necessary by giving others to the steps that have one; returns whether there is one.
fn gives_thread(
    all: &[Vec<(Life, u32)>],
    step: usize,
    step_of: &mut HashMap<u32, usize>,
    tried: &mut HashSet<u32>,
) -> bool {
    for &(_, thread) in &all[step] {
        if tried.insert(thread)
            && step_of.get(&thread).copied().is_none_or(|other| gives_thread(all, other, step_of, tried))
        {
            step_of.insert(thread, step);
            return true;
        }
    }
    false
}

fn waits(first: &Step, second: &Step) -> bool {
    !(first.taken.1 && second.held.1)
}

/// Returns whether no two threads can hold these locks at once.
fn are_exclusive(one: &[Mode], other: &[Mode]) -> bool {
    let conflict = |held: &Mode| other.iter().any(|theirs| theirs.0 == held.0 && !(theirs.1 && held.1));
    one.iter().any(conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITES: bool = false;
    const READS: bool = true;

    /// Returns the steps of a thread that takes locks under one another, the last of them under all others.
    fn step(thread: u32, held: &[u32], taken: u32) -> Vec<Step> {
        let held: Vec<Mode> = held.iter().map(|lock| (*lock, WRITES)).collect();
        with_modes(thread, &held, (taken, WRITES))
    }

    fn with_modes(thread: u32, held: &[Mode], taken: Mode) -> Vec<Step> {
        let guards: Rc<[Mode]> = held.into();
        held.iter().map(|held| Step { held: *held, taken, guards: guards.clone(), threads: vec![thread] }).collect()
    }

    /// Searches the steps of threads that live all the time.
    fn find(steps: &[Step]) -> (Vec<Vec<usize>>, bool) {
        super::find(steps, &[(0, u64::MAX); 20], &|_| true)
    }

    /// Returns the locks of each cycle, in its order.
    fn cycles(steps: Vec<Vec<Step>>) -> Vec<Vec<u32>> {
        let steps = steps.concat();
        find(&steps).0.iter().map(|cycle| cycle.iter().map(|step| steps[*step].held.0).collect()).collect()
    }

    #[test]
    fn cycles_of_any_length_are_found_and_the_shortest_first() {
        assert_eq!(cycles(vec![step(0, &[1], 2), step(1, &[2], 1)]), [[1, 2]]);
        assert_eq!(cycles(vec![step(0, &[1], 2), step(1, &[2], 3), step(2, &[3], 1)]), [[1, 2, 3]]);
        let ring = |length: u32| (0..length).map(|at| step(at, &[at], (at + 1) % length)).collect();
        assert_eq!(cycles(ring(20)), [(0..20).collect::<Vec<_>>()]);
        let both = [ring(4), vec![step(8, &[3], 7), step(9, &[7], 3)]].concat();
        assert_eq!(cycles(both), [vec![3, 7], vec![0, 1, 2, 3]]);
    }

    #[test]
    fn orders_that_lead_nowhere_are_none() {
        assert_eq!(cycles(vec![step(0, &[1], 2), step(1, &[2], 3), step(2, &[1], 3)]), [[0; 0]; 0]);
        assert_eq!(cycles(vec![]), [[0; 0]; 0]);
    }

    #[test]
    fn each_step_needs_a_thread_of_its_own() {
        assert_eq!(cycles(vec![step(0, &[1], 2), step(0, &[2], 1)]), [[0; 0]; 0]);
        let ring =
            |threads: [u32; 3]| vec![step(threads[0], &[1], 2), step(threads[1], &[2], 3), step(threads[2], &[3], 1)];
        assert_eq!(cycles(ring([0, 1, 0])), [[0; 0]; 0]);
        // The second thread can stand in the first step too, which leaves the third for the first one.
        let mut shared = ring([0, 2, 0]).concat();
        shared[0].threads.push(1);
        assert_eq!(find(&shared).0.len(), 1);
    }

    #[test]
    fn there_is_a_moment_at_which_a_thread_for_each_step_is_alive() {
        let found = |steps: &[Step], lives: &[Life]| super::find(steps, lives, &|_| true).0.len();
        let pair = [step(0, &[1], 2), step(1, &[2], 1)].concat();
        assert_eq!(found(&pair, &[(0, 5), (6, 9)]), 0, "one after the other");
        assert_eq!([found(&pair, &[(0, 6), (6, 9)]), found(&pair, &[(4, 5), (1, u64::MAX)])], [1, 1]);
        let ring = [step(0, &[1], 2), step(1, &[2], 3), step(2, &[3], 1)].concat();
        assert_eq!(found(&ring, &[(0, 4), (2, 8), (5, 9)]), 0, "the first has ended when the third begins");
        assert_eq!(found(&ring, &[(0, 5), (2, 8), (5, 9)]), 1);
        // Two do both, and the third does the other with neither of them.
        let mut both = [step(0, &[1], 2), step(0, &[2], 1), step(2, &[1], 2)].concat();
        both[0].threads.push(1);
        both[1].threads.push(1);
        assert_eq!(found(&both, &[(0, 3), (4, 6), (7, 9)]), 0);
        assert_eq!([found(&both, &[(0, 3), (3, 6), (7, 9)]), found(&both, &[(0, 3), (4, 7), (7, 9)])], [1, 1]);
        // Of many, those that live longest are kept.
        let many: Vec<Life> = (0..9).map(|began| (began, 99 - 9 * began)).collect();
        let mut pool = step(0, &[1], 2);
        pool[0].threads.extend(1..9);
        let with = |last: Life| found(&[pool.clone(), step(9, &[2], 1)].concat(), &[&many[..], &[last]].concat());
        assert_eq!([with((99, 100)), with((100, 101))], [1, 0]);
    }

    #[test]
    fn threads_that_never_meet_take_no_long_time() {
        let count = 10_000;
        let lives: Vec<Life> = (0..count).map(|at| (2 * at, 2 * at + 1)).collect();
        let mut both = [step(0, &[1], 2), step(0, &[2], 1)].concat();
        both.iter_mut().for_each(|step| step.threads.extend(1..count as u32));
        assert_eq!(super::find(&both, &lives, &|_| true), (vec![], true));
    }

    #[test]
    fn a_lock_above_all_steps_is_a_gate() {
        assert_eq!(cycles(vec![step(0, &[9, 1], 2), step(1, &[9, 2], 1)]), [[0; 0]; 0]);
        assert_eq!(cycles(vec![step(0, &[9, 1], 2), step(1, &[8, 2], 1)]), [[1, 2]]);
        // Once without the gate is enough.
        assert_eq!(cycles(vec![step(0, &[9, 1], 2), step(0, &[1], 2), step(1, &[9, 2], 1)]), [[1, 2]]);
        // The gate itself is taken under one of them.
        let inside = vec![step(0, &[9], 1), step(0, &[9, 1], 2), step(1, &[2], 9), step(1, &[2, 9], 1)];
        assert_eq!(cycles(inside), [[2, 9]], "two steps, of which none is under a lock of the other");
        // Readers pass a gate together, writers do not.
        let gate = |mode: bool| {
            let one = with_modes(0, &[(9, READS), (1, WRITES)], (2, WRITES));
            cycles(vec![one, with_modes(1, &[(9, mode), (2, WRITES)], (1, WRITES))])
        };
        assert_eq!((gate(READS), gate(WRITES)), (vec![vec![1, 2]], vec![]));
    }

    #[test]
    fn gates_of_some_steps_are_gates_of_the_cycle() {
        let ring = vec![step(0, &[9, 1], 2), step(1, &[2], 3), step(2, &[9, 3], 1)];
        assert_eq!(cycles(ring), [[0; 0]; 0], "the first and the third never stand at once");
    }

    #[test]
    fn readers_do_not_wait_for_readers() {
        let order = |first: bool, second: bool| {
            let one = with_modes(0, &[(1, first)], (2, second));
            cycles(vec![one, with_modes(1, &[(2, second)], (1, first))]).len()
        };
        assert_eq!([order(READS, WRITES), order(WRITES, READS), order(WRITES, WRITES)], [0, 0, 1]);
        // One that writes waits for one that reads.
        let one = with_modes(0, &[(1, READS)], (2, WRITES));
        assert_eq!(cycles(vec![one, with_modes(1, &[(2, READS)], (1, WRITES))]), [[1, 2]]);
    }

    #[test]
    fn a_lock_taken_again_orders_nothing() {
        // A recursive lock: 1, 2 and 1 again, beside another thread that takes 1 and 2.
        let again = [step(0, &[1], 2), step(0, &[1, 2], 1)].concat();
        let again: Vec<Step> = again.into_iter().filter(|step| step.held.0 != step.taken.0).collect();
        assert_eq!(cycles(vec![again, step(1, &[1], 2)]), [[0; 0]; 0]);
    }

    #[test]
    fn a_large_order_takes_no_long_time() {
        let many = 300;
        let pairs = (0..many).flat_map(|held| (held + 1..many).map(move |taken| step(held % 7, &[held], taken)));
        let steps: Vec<Vec<Step>> = pairs.chain([step(9, &[many - 1], 0)]).collect();
        assert!(find(&steps.concat()).1);
        assert_eq!(cycles(steps), [[0, many - 1]]);
        // Everything leads everywhere, but only one thread does it.
        let all = (0..many).flat_map(|held| (0..many).map(move |taken| (held, taken)));
        let all: Vec<Step> = all.filter(|(held, taken)| held != taken).flat_map(|at| step(0, &[at.0], at.1)).collect();
        assert_eq!(find(&all).0, [[0; 0]; 0]);
    }
}
