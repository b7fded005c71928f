//! `Stub`: a small deterministic machine, which shows that a simulated one can be a platform.
//!
//! Virtual CPUs run threads that are coroutines, in virtual time. A thread may be switched at every operation that it
//! asks of the platform. The same seed gives the same run to the last step. Words are sequentially consistent: this
//! machine finds no missing ordering, but it finds a thread that waits too long or for ever.
//!
//! ```
//! use std::rc::Rc;
//! use turnwise::Mutex;
//! use turnwise_model::stub::{Config, Stub, run};
//!
//! let hits = Rc::new(Mutex::<u64, Stub>::new_in(0));
//! let add = |hits: Rc<Mutex<u64, Stub>>| -> Box<dyn FnOnce()> { Box::new(move || *hits.lock() += 1) };
//! let report = run(Config::new(2, 7), vec![add(hits.clone()), add(hits.clone())]).unwrap();
//! assert!(report.elapsed_ns > 0);
//! assert_eq!(*hits.lock(), 2);
//! ```

mod machine;
mod word;

pub use machine::{Config, Report, Stuck, run};
pub use word::StubWord;

use machine::{Cost, step};
use turnwise::platform::{Deadline, Lane, Me, OnCpu, Parked, Platform, SpinEnd, SpinLimit, ThreadSlot, Token, Word};

/// The machine that the calling coroutine runs on.
pub struct Stub;

// SAFETY: a thread's token is its number plus 2, and its slot has that number; the machine keeps the slots for as long
// as any of its threads runs.
unsafe impl Platform for Stub {
    type U32 = StubWord<u32>;
    type U64 = StubWord<u64>;
    type Ptr<T: 'static> = StubWord<*mut T>;

    fn relax() {
        step(Cost::RELAX);
    }

    fn yield_now() {
        machine::yield_now();
    }

    fn spin_until<W: Word>(
        word: &W,
        mut ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        let watched = [word::address(word); 2];
        machine::spin(watched, limit, || Some(word.load(word::LOOK)).filter(|&value| ready(value)))
    }

    fn spin_until_either<A: Word, B: Word>(
        a: &A,
        mut ready_a: impl FnMut(A::Value) -> bool,
        b: &B,
        mut ready_b: impl FnMut(B::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<(), SpinEnd> {
        let watched = [word::address(a), word::address(b)];
        machine::spin(watched, limit, || (ready_a(a.load(word::LOOK)) || ready_b(b.load(word::LOOK))).then_some(()))
    }

    fn park(word: &StubWord<u32>, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
        machine::park(word::address(word), || word.peek() == expected, lane, deadline.map(|d| d.at))
    }

    fn wake(word: *const StubWord<u32>, lane: Lane, count: u32) -> u32 {
        machine::wake(word.addr(), lane, count)
    }

    fn requeue(from: &StubWord<u32>, expected: u32, to: *const StubWord<u32>) -> Option<u32> {
        machine::requeue(word::address(from), || from.peek() == expected, to.addr())
    }

    fn now() -> u64 {
        step(Cost::CLOCK);
        machine::now()
    }

    fn current() -> Token {
        machine::current().map_or(Token::ANONYMOUS, token)
    }

    fn me() -> Option<Me<Self>> {
        let number = machine::current()?;
        Some(Me { token: token(number), slot: machine::slot(number) })
    }

    fn slot(token: Token) -> &'static ThreadSlot<Self> {
        machine::slot(token.get() as usize - 2)
    }

    fn on_cpu(token: Token) -> OnCpu {
        step(Cost::LINE);
        match (token.get() as usize).checked_sub(2) {
            None => OnCpu::Unknown,
            Some(number) if machine::running(number) => OnCpu::Running,
            Some(_) => OnCpu::NotRunning,
        }
    }

    fn cpu() -> u32 {
        machine::cpu()
    }

    fn cpus() -> u32 {
        machine::cpus()
    }

    fn node() -> u32 {
        0
    }

    fn touch(_data: *const u8, _bytes: usize, _write: bool) {
        step(Cost::LINE);
    }
}

fn token(number: usize) -> Token {
    u32::try_from(number + 2).ok().and_then(Token::new).expect("a machine has fewer threads than tokens")
}
