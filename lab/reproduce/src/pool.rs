//! Simulations, several at a time: each is a world of its own, so how many run at once decides nothing.

use anyhow::Result;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Who is told how far it is.
pub trait Progress: Sync {
    /// A document begins, which takes about so many runs.
    fn begin(&self, document: &str, runs: usize);
    /// A run is done.
    fn done(&self, what: &str);
    /// The document is done, whatever was expected.
    fn end(&self);
}

/// Nobody.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _document: &str, _runs: usize) {}
    fn done(&self, _what: &str) {}
    fn end(&self) {}
}

/// Some threads of the host.
pub struct Pool<'a> {
    jobs: usize,
    progress: &'a dyn Progress,
}

impl<'a> Pool<'a> {
    /// So many, at least one.
    #[must_use]
    pub fn new(jobs: usize, progress: &'a dyn Progress) -> Pool<'a> {
        Pool { jobs: jobs.max(1), progress }
    }

    /// Returns the observer that is kept up to date.
    #[must_use]
    pub fn progress(&self) -> &dyn Progress {
        self.progress
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
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let results = Mutex::new(Vec::with_capacity(items.len()));
        let work = || {
            while !failed.load(Relaxed) {
                let turn = next.fetch_add(1, Relaxed);
                let Some(place) = items.len().checked_sub(turn + 1) else { break };
                let result = one(&items[place]);
                failed.fetch_or(result.is_err(), Relaxed);
                self.progress.done(what);
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
    fn results_are_in_order_whoever_made_them() {
        for jobs in [1, 7] {
            let doubled = Pool::new(jobs, &Silent).map("", &[1, 2, 3, 4], |n| Ok(2 * n)).expect("none fails");
            assert_eq!(doubled, [2, 4, 6, 8]);
        }
        assert!(Pool::new(3, &Silent).map("", &[], |n: &u8| Ok(*n)).expect("none fails").is_empty());
    }

    #[test]
    fn a_failure_is_told() {
        let one = |n: &i32| if *n == 2 { anyhow::bail!("not {n}") } else { Ok(*n) };
        assert_eq!(Pool::new(2, &Silent).map("", &[1, 2, 3], one).expect_err("one fails").to_string(), "not 2");
    }
}
