//! The counts of a lock at one look, and the figures computed from two of them.

use super::figures::Figures;
use super::model::LockView;
use std::sync::Arc;
use turnwise_live::{Lock, Site};

/// A lock's waits that have ended, as the reader returns them.
pub(super) type Ended = Arc<Lock>;

/// The counts of a lock since its program began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// `None`: no wait for it has ended.
    pub(super) ended: Option<Ended>,
    /// The time that current waiters have waited so far.
    pub(super) unfinished_ns: u64,
}

/// A call site of a lock at a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SiteView {
    pub(crate) address: u64,
    /// Waits that ended since the previous look, and their time.
    pub(crate) waits: u64,
    pub(crate) wait_ns: u64,
    /// The totals since the program began.
    pub(crate) total: Site,
}

impl Counted {
    /// Returns the number of waits that ended.
    pub(super) fn waits(&self) -> u64 {
        self.ended.as_ref().map_or(0, |ended| ended.waits)
    }

    /// Returns how long threads waited, including current waiters.
    pub(super) fn waited_ns(&self) -> u64 {
        self.ended.as_ref().map_or(0, |ended| ended.wait_ns).saturating_add(self.unfinished_ns)
    }

    fn sites(&self) -> &[Site] {
        self.ended.as_ref().map(|ended| ended.sites.as_slice()).unwrap_or_default()
    }

    fn figures(&self) -> Figures {
        let ended = self.ended.as_ref().map(|ended| ended.totals).unwrap_or_default();
        Figures { ended, unfinished_ns: self.unfinished_ns }
    }
}

impl LockView {
    /// Returns the figures since the previous look.
    pub(crate) fn now(&self) -> Figures {
        let total = self.total();
        match &self.before {
            Some(before) => total.since(&before.figures()),
            None => total,
        }
    }

    /// Returns the figures since the program began.
    pub(crate) fn total(&self) -> Figures {
        self.counted.figures()
    }

    /// Returns its call sites.
    pub(crate) fn sites(&self) -> Vec<SiteView> {
        let before = self.before.as_ref().map(Counted::sites).unwrap_or_default();
        let view = |site: &Site| {
            let earlier = before.iter().find(|before| before.address == site.address);
            SiteView {
                address: site.address,
                waits: site.waits.saturating_sub(earlier.map_or(0, |earlier| earlier.waits)),
                wait_ns: site.wait_ns.saturating_sub(earlier.map_or(0, |earlier| earlier.wait_ns)),
                total: *site,
            }
        };
        self.counted.sites().iter().map(view).collect()
    }
}
