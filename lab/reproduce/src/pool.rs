//! Simulations, several at a time: each is a world of its own, so the number that run at once does not affect results.

use anyhow::Result;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use turnwise_present::progress::ProgressBar;

/// Turns to run on this machine, this many at a time, for all pools.
pub struct Turns {
    all: usize,
    state: Mutex<TurnState>,
    changed: Condvar,
}

struct TurnState {
    free: usize,
    /// The ranks of the waiters, the lowest of which is next.
    waiting: Vec<usize>,
}

impl Turns {
    /// Creates this many turns, at least one.
    #[must_use]
    pub fn new(jobs: usize) -> Turns {
        let all = jobs.max(1);
        Turns { all, state: Mutex::new(TurnState { free: all, waiting: Vec::new() }), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn, before all waiters with a higher rank.
    fn take(&self, rank: usize) -> Turn<'_> {
        let mut state = self.state();
        state.waiting.push(rank);
        while state.free == 0 || state.waiting.iter().any(|&other| other < rank) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let place = state.waiting.iter().position(|&other| other == rank);
        place.into_iter().for_each(|place| _ = state.waiting.swap_remove(place));
        state.free -= 1;
        // Another turn may be free for waiters behind this one.
        self.changed.notify_all();
        Turn(self)
    }
}

/// A turn, until it is dropped.
struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().free += 1;
        self.0.changed.notify_all();
    }
}

/// Some threads of the host, which take turns with those of other pools.
pub struct Pool<'a> {
    turns: &'a Turns,
    rank: usize,
    /// The bar of all runs, whose number is a guess, since that of a fit is not known in advance.
    pub(crate) progress: &'a ProgressBar,
}

impl<'a> Pool<'a> {
    /// Returns a pool whose runs go before those of pools with a higher rank.
    #[must_use]
    pub fn new(turns: &'a Turns, rank: usize, progress: &'a ProgressBar) -> Pool<'a> {
        Pool { turns, rank, progress }
    }

    /// Does `one` for each of `items`, the last first, as these tend to be the largest; results in the order of
    /// `items`.
    ///
    /// # Errors
    /// That of the first item that has one.
    pub fn map<T: Sync, R: Send>(
        &self,
        what: &str,
        items: &[T],
        one: impl Fn(&T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        self.map_longest_first(|_| what.to_owned(), items, |_| 0, one)
    }

    /// Does `one` for each of `items`, those with the greatest cost first, so that no long one is left for the end.
    /// Results are in the order of `items`.
    ///
    /// # Errors
    /// That of the first item that has one.
    pub fn map_longest_first<T: Sync, R: Send, C: Ord>(
        &self,
        what: impl Fn(&T) -> String + Sync,
        items: &[T],
        cost: impl Fn(&T) -> C,
        one: impl Fn(&T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|&place| std::cmp::Reverse((cost(&items[place]), place)));
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let results = Mutex::new(Vec::with_capacity(items.len()));
        let work = || {
            while !failed.load(Relaxed) {
                let Some(&place) = order.get(next.fetch_add(1, Relaxed)) else { break };
                let result = {
                    let _turn = self.turns.take(self.rank);
                    one(&items[place])
                };
                failed.fetch_or(result.is_err(), Relaxed);
                self.progress.set_message(what(&items[place]));
                self.progress.inc(1);
                if Some(self.progress.position()) > self.progress.length() {
                    self.progress.inc_length(1);
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.turns.all.min(items.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(place, _)| *place);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_whichever_thread_made_them() {
        for jobs in [1, 7] {
            let turns = Turns::new(jobs);
            let doubled =
                Pool::new(&turns, 0, &ProgressBar::hidden()).map("", &[1, 2, 3, 4], |n| Ok(2 * n)).expect("none fails");
            assert_eq!(doubled, [2, 4, 6, 8]);
        }
        assert!(
            Pool::new(&Turns::new(3), 0, &ProgressBar::hidden())
                .map("", &[], |n: &u8| Ok(*n))
                .expect("none fails")
                .is_empty()
        );
    }

    #[test]
    fn the_longest_is_first() {
        let done = Mutex::new(Vec::new());
        let one = |item: &u64| {
            done.lock().unwrap_or_else(PoisonError::into_inner).push(*item);
            Ok(*item)
        };
        let turns = Turns::new(1);
        let results = Pool::new(&turns, 0, &ProgressBar::hidden()).map_longest_first(
            |_| String::new(),
            &[3, 9, 1, 7],
            |item| *item,
            one,
        );
        assert_eq!(results.expect("none fails"), [3, 9, 1, 7]);
        assert_eq!(done.into_inner().unwrap_or_else(PoisonError::into_inner), [9, 7, 3, 1]);
    }

    #[test]
    fn a_failure_is_reported() {
        let one = |n: &i32| if *n == 2 { anyhow::bail!("not {n}") } else { Ok(*n) };
        assert_eq!(
            Pool::new(&Turns::new(2), 0, &ProgressBar::hidden())
                .map("", &[1, 2, 3], one)
                .expect_err("one fails")
                .to_string(),
            "not 2"
        );
    }

    #[test]
    fn pools_share_turns() {
        let (turns, running) = (Turns::new(2), AtomicUsize::new(0));
        let most = AtomicUsize::new(0);
        let one = |_: &u8| {
            most.fetch_max(running.fetch_add(1, Relaxed) + 1, Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(1));
            running.fetch_sub(1, Relaxed);
            Ok(())
        };
        std::thread::scope(|scope| {
            for rank in 0..4 {
                let (turns, one) = (&turns, &one);
                scope.spawn(move || {
                    let bar = ProgressBar::hidden();
                    let pool = Pool::new(turns, rank, &bar);
                    pool.map("", &[0_u8; 8], one).expect("none fails");
                });
            }
        });
        assert_eq!(most.load(Relaxed), 2);
    }

    #[test]
    fn the_lowest_rank_is_next() {
        let turns = Turns::new(1);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let first = turns.take(0);
            for rank in [2, 3, 1] {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    let _turn = turns.take(rank);
                    order.lock().unwrap_or_else(PoisonError::into_inner).push(rank);
                });
            }
            while turns.state().waiting.len() < 3 {
                std::thread::yield_now();
            }
            drop(first);
        });
        assert_eq!(order.into_inner().unwrap_or_else(PoisonError::into_inner), [1, 2, 3]);
    }
}
