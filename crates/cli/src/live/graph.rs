//! The wait graph: each thread waits for one lock, and that lock has one holder.

use super::model::{ProcessId, ThreadView, View};
use std::collections::HashMap;
use turnwise_profile::analysis::circles;

pub(crate) struct Graph<'a> {
    threads: Vec<&'a ThreadView>,
    /// The index of the thread that each waits for, if known.
    blocker: Vec<Option<usize>>,
    /// The indices of the threads that wait for each.
    blocked: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    pub(crate) fn of(view: &'a View, process: ProcessId) -> Graph<'a> {
        let threads: Vec<&ThreadView> = view.threads.iter().filter(|thread| thread.process == process).collect();
        let places: HashMap<u32, usize> =
            threads.iter().enumerate().map(|(place, thread)| (thread.tid, place)).collect();
        let owner = |thread: &&ThreadView| places.get(&thread.waiting.as_ref()?.owner?).copied();
        let blocker: Vec<Option<usize>> = threads.iter().map(owner).collect();
        let mut blocked = vec![Vec::new(); threads.len()];
        for (place, blocker) in blocker.iter().enumerate() {
            if let Some(blocker) = blocker {
                blocked[*blocker].push(place);
            }
        }
        Graph { threads, blocker, blocked }
    }

    /// Returns cycles of threads, each waiting for the next and the last for the first; each begins with its lowest
    /// thread number.
    pub(crate) fn circles(&self) -> Vec<Vec<&'a ThreadView>> {
        let threads: HashMap<u32, &ThreadView> = self.threads.iter().map(|thread| (thread.tid, *thread)).collect();
        let owners = self.threads.iter().filter_map(|thread| Some((thread.tid, thread.waiting.as_ref()?.owner?)));
        let circles = circles(&owners.collect());
        circles.iter().map(|circle| circle.iter().map(|tid| threads[tid]).collect()).collect()
    }

    /// Returns threads that wait for no known thread while others wait for them, each with the number of its direct and
    /// indirect waiters; the one with most is first.
    pub(crate) fn roots(&self) -> Vec<(&'a ThreadView, usize)> {
        let is_root = |place: &usize| self.blocker[*place].is_none() && !self.blocked[*place].is_empty();
        let all = (0..self.threads.len()).filter(is_root);
        let mut roots: Vec<_> = all.map(|place| (self.threads[place], self.behind(place))).collect();
        roots.sort_by_key(|(thread, behind)| (std::cmp::Reverse(*behind), thread.tid));
        roots
    }

    fn behind(&self, root: usize) -> usize {
        let (mut count, mut open) = (0, vec![root]);
        while let Some(place) = open.pop() {
            count += self.blocked[place].len();
            open.extend(&self.blocked[place]);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{PROCESS, view};
    use super::*;

    fn circles(waits: &[(u32, u32)]) -> Vec<Vec<u32>> {
        let view = view(waits);
        let circles = Graph::of(&view, PROCESS).circles();
        circles.into_iter().map(|circle| circle.into_iter().map(|thread| thread.tid).collect()).collect()
    }

    #[test]
    fn circles_are_found_once_each_and_chains_are_none() {
        assert!(circles(&[(1, 2), (2, 3), (4, 3)]).is_empty());
        assert_eq!(circles(&[(1, 2), (2, 1)]), [[1, 2]]);
        assert_eq!(circles(&[(9, 3), (3, 5), (5, 4), (4, 3), (8, 9)]), [[3, 5, 4]]);
        assert_eq!(circles(&[(7, 7)]), [[7]], "it waits for itself");
        assert_eq!(circles(&[(1, 2), (2, 1), (3, 4), (4, 3)]), [[1, 2], [3, 4]]);
    }

    #[test]
    fn who_waits_behind_a_thread_is_counted_through_others() {
        let view = view(&[(1, 2), (3, 2), (4, 3), (6, 7)]);
        let graph = Graph::of(&view, PROCESS);
        let roots: Vec<(u32, usize)> = graph.roots().into_iter().map(|(thread, behind)| (thread.tid, behind)).collect();
        assert_eq!(roots, [(2, 3), (7, 1)]);
    }
}
