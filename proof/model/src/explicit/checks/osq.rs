//! The queue of optimistic spinners.

use super::*;
use turnwise::osq::Osq;

/// What threads leave behind in the empty queue.
const SPIN_HINT: u16 = 0x5a5a;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): all(), forks() }
}

struct Queue {
    osq: Osq<Explicit>,
    section: Section,
}

impl Queue {
    fn keep(stage: &CheckSetup) -> &'static Queue {
        let queue = stage.keep(Queue { osq: Osq::new_in(), section: scenarios::Section::new() });
        stage.at_end(move || assert!(queue.osq.is_empty(), "the queue is not empty when everybody has left"));
        queue
    }

    /// Waits to be the first, if it does not leave; may fork then.
    fn round(&self, forks: bool) {
        let me = Explicit::me().expect("the threads of this check have slots");
        if self.osq.lock(me, None).is_err() {
            saw("left");
            return;
        }
        self.section.alone();
        saw("first");
        // As in a signal handler. In the child, newcomers ignore it, so two threads may be first for a moment.
        let forked = forks && fork();
        if forked {
            saw("forked");
            self.section.count(Writer, -1);
        } else {
            self.section.leave(Writer);
        }
        self.osq.unlock_with_hint(me, 0, SPIN_HINT);
    }
}

fn all(stage: &CheckSetup, size: Size) {
    let queue = Queue::keep(stage);
    stage.spawn_many(size.threads, size.rounds, move || queue.round(false));
}

/// The first thread may fork while it is the first. The child has none of those behind it, but two of its own.
fn forks(stage: &CheckSetup, size: Size) {
    let queue = Queue::keep(stage);
    stage.spawn(move || {
        queue.round(true);
        queue.round(false);
    });
    stage.spawn_many(size.threads - 1, size.rounds, move || queue.round(false));
    stage.spawn_in_child(2, move || queue.round(false));
}
