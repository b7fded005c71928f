//! The interface between a writer and the locks of crate turnwise.

use crate::writer::Me;
use crate::{Setting, Values};
use turnwise::events::here;
use turnwise::platform::native::{generation, thread_of};
use turnwise::wait::Tuned;

/// Converts settings to the locks' form.
#[cold]
#[must_use]
pub fn tuned(values: Values) -> Tuned {
    let ns = |setting| values.get(setting).map(u64::from);
    Tuned {
        spin_ns: ns(Setting::Spin),
        yield_after_ns: ns(Setting::YieldAfter),
        handoff_after_ns: ns(Setting::FairAfter),
    }
}

/// Returns the writer's data about this thread: its first three counters are sleeps, steals and hand-offs.
#[inline(always)]
#[must_use]
pub fn me() -> Me {
    let [sleeps, steals, handoffs, ..] = here::read();
    Me { generation: generation(), events: [sleeps, steals, handoffs] }
}

/// Returns the view's identity of a thread: its number, if its token contains that, otherwise `pointer`.
#[inline]
#[must_use]
pub fn named(token: u32, pointer: usize) -> usize {
    match thread_of(token) {
        0 => pointer,
        thread => thread as usize,
    }
}
