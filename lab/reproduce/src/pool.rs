//! Simulations, several at a time: each is a world of its own, so the number that run at once does not affect results.

use anyhow::Result;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use turnwise::FairSemaphore;
use turnwise_present::progress::ProgressBar;

/// The host's threads, of which a number run at a time, over all papers.
pub struct Pool<'a> {
    jobs: usize,
    turns: FairSemaphore,
    /// The bar of all runs, whose number is a guess, since that of a fit is not known in advance.
    pub(crate) progress: &'a ProgressBar,
}

impl<'a> Pool<'a> {
    /// Returns a pool in which this many run at a time, at least one.
    #[must_use]
    pub fn new(jobs: usize, progress: &'a ProgressBar) -> Pool<'a> {
        let jobs = jobs.clamp(1, usize::from(u16::MAX));
        Pool { jobs, turns: FairSemaphore::new_fair(jobs as u32), progress }
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
                    let _turn = self.turns.acquire();
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
            for _ in 1..self.jobs.min(items.len()) {
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
            let doubled =
                Pool::new(jobs, &ProgressBar::hidden()).map("", &[1, 2, 3, 4], |n| Ok(2 * n)).expect("none fails");
            assert_eq!(doubled, [2, 4, 6, 8]);
        }
        assert!(Pool::new(3, &ProgressBar::hidden()).map("", &[], |n: &u8| Ok(*n)).expect("none fails").is_empty());
    }

    #[test]
    fn the_longest_is_first() {
        let done = Mutex::new(Vec::new());
        let one = |item: &u64| {
            done.lock().unwrap_or_else(PoisonError::into_inner).push(*item);
            Ok(*item)
        };
        let results =
            Pool::new(1, &ProgressBar::hidden()).map_longest_first(|_| String::new(), &[3, 9, 1, 7], |item| *item, one);
        assert_eq!(results.expect("none fails"), [3, 9, 1, 7]);
        assert_eq!(done.into_inner().unwrap_or_else(PoisonError::into_inner), [9, 7, 3, 1]);
    }

    #[test]
    fn a_failure_is_reported() {
        let one = |n: &i32| if *n == 2 { anyhow::bail!("not {n}") } else { Ok(*n) };
        assert_eq!(
            Pool::new(2, &ProgressBar::hidden()).map("", &[1, 2, 3], one).expect_err("one fails").to_string(),
            "not 2"
        );
    }

    #[test]
    fn all_who_ask_share_the_turns() {
        let (bar, running) = (ProgressBar::hidden(), AtomicUsize::new(0));
        let pool = Pool::new(2, &bar);
        let most = AtomicUsize::new(0);
        let one = |_: &u8| {
            most.fetch_max(running.fetch_add(1, Relaxed) + 1, Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(1));
            running.fetch_sub(1, Relaxed);
            Ok(())
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| pool.map("", &[0_u8; 8], one).expect("none fails"));
            }
        });
        assert_eq!(most.load(Relaxed), 2);
    }
}
