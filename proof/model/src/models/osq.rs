//! The queue of optimistic spinners: one thread at a time is first (A1), a waiter may leave at any point (P2), no
//! thread is forgotten, and the queue is empty in the end. "use their nodes twice": A2; "fork": P3.

use super::*;
use turnwise::osq::Osq;
use turnwise::platform::Me;

/// What threads leave behind in the empty queue.
const SPIN_HINT: u16 = 0x5a5a;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call():
        everyone(threads, rounds), some(threads, rounds), behind(others, rounds), leave_early(), vanished(),
        forks_as_first(),
    }
}

struct Queue {
    osq: Osq<Loom>,
    data: Protected,
}

impl Queue {
    fn keep() -> &'static Queue {
        keep(Queue { osq: Osq::new_in(), data: Protected::new() })
    }

    /// Makes the calling thread the first of an empty queue.
    fn enter(&self) -> Me<Loom> {
        let me = me();
        assert!(self.osq.lock(me, None).is_ok(), "the queue was empty");
        me
    }

    /// All threads are done.
    fn settled(&self) {
        assert!(self.osq.is_empty(), "the queue is not empty when everybody has left");
    }
}

fn me() -> Me<Loom> {
    Loom::me().expect("the threads of this model have slots")
}

/// Stays in the queue once; returns whether the thread came to be first.
fn stay(queue: &Queue) -> bool {
    let me = me();
    let first = queue.osq.lock(me, None).is_ok();
    if first {
        queue.data.add();
        queue.osq.unlock_with_hint(me, 0, SPIN_HINT);
    }
    saw(if first { "first" } else { "left" });
    first
}

/// The first thread is first and rests, so that `others` queue behind it, `rounds` times each.
fn behind(others: usize, rounds: usize) {
    let queue = Queue::keep();
    let me = queue.enter();
    let role = move |queue: &Queue| (0..rounds).for_each(|_| _ = stay(queue));
    let leave = |queue: &Queue| {
        queue.data.add();
        queue.osq.unlock(me);
    };
    wait_behind(queue, &vec![role; others], leave).settled();
}

/// No thread needs the first thread's help to leave.
fn leave_early() {
    let queue = Queue::keep();
    saw("first");
    let me = queue.enter();
    let others = [(); 2].map(|()| spawn(|| assert!(!stay(queue), "two are first")));
    join(others);
    queue.osq.unlock(me);
    queue.settled();
}

/// The first thread stays first for ever: it is not in the child that uses the queue.
fn vanished() {
    let queue = Queue::keep();
    spawn(move || _ = queue.enter()).join();
    forked();
    let others = [(); 2].map(|()| spawn(|| assert!(stay(queue), "it waited for one that is not here")));
    join(others);
    queue.settled();
}

/// The first thread is first when it becomes the only thread of a child, which starts one that uses the queue, too.
fn forks_as_first() {
    let queue = Queue::keep();
    let me = queue.enter();
    forked();
    let other = spawn(|| assert!(stay(queue), "it waited for one that is not here"));
    queue.osq.unlock(me);
    other.join();
    assert!(stay(queue), "it waited for nobody");
    queue.settled();
}

/// Runs `stay` on `threads` threads, `rounds` times each; returns the queue and how many were first.
fn run(threads: u32, rounds: u32) -> u32 {
    let queue = Queue::keep();
    together(threads, move || (0..rounds).for_each(|_| _ = stay(queue)));
    queue.settled();
    queue.data.get()
}

fn everyone(threads: u32, rounds: u32) {
    assert_eq!(run(threads, rounds), threads * rounds, "a patient waiter left");
}

fn some(threads: u32, rounds: u32) {
    let firsts = run(threads, rounds);
    assert!((1..=threads * rounds).contains(&firsts), "{firsts} were first");
}
