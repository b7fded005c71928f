//! What a writer and the locks of crate turnwise need to know of each other.

use crate::writer::Me;
use crate::{Setting, Values};
use turnwise::events::here;
use turnwise::platform::native::{generation, thread_of};
use turnwise::wait::Tuned;

/// Returns what the locks make of settings.
#[cold]
#[must_use]
pub fn tuned(values: Values) -> Tuned {
    let ns = |setting| values.get(setting).map(u64::from);
    Tuned { spin_ns: ns(Setting::Spin), turn_ns: ns(Setting::YieldAfter), claim_after_ns: ns(Setting::FairAfter) }
}

/// Returns what the writer wants to know of this thread: its first three counters are sleeps, steals and hand-offs.
#[inline(always)]
#[must_use]
pub fn me() -> Me {
    let [sleeps, steals, handoffs, ..] = here::read();
    Me { generation: generation(), events: [sleeps, steals, handoffs] }
}

/// Returns what the view calls a thread: its number, where its token tells that, else `pointer`.
#[inline]
#[must_use]
pub fn named(token: u32, pointer: usize) -> usize {
    match thread_of(token) {
        0 => pointer,
        thread => thread as usize,
    }
}
