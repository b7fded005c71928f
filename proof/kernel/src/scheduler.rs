//! Threads that give up their CPU by themselves, on as many CPUs as there are.
//!
//! One spin lock of Turnwise's guards it all. The thread that switches has it, and the thread that continues then
//! releases it: so no CPU takes up a thread that is still on its way out of another.

use crate::machine;
use crate::platform::Machine;
use core::cell::{Cell, UnsafeCell};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::Relaxed};
use turnwise::backoff::NoBackoff;
use turnwise::platform::{Lane, Parked, ThreadSlot, Token};
use turnwise::{RawLock, RawSpinLock};

pub(crate) const CPUS: usize = 4;
pub(crate) const THREADS: usize = 12;
/// Bytes of every stack.
pub(crate) const STACK: usize = 64 << 10;
/// After how long `need_resched` is true for a spinner. Nothing takes the CPU from a thread.
const SLICE_NS: u64 = 2_000_000;
/// Without any thread to run for this long, none will ever be woken.
const HANG_NS: u64 = 20_000_000_000;

#[repr(C, align(128))]
struct Stack(UnsafeCell<[u8; STACK]>);

// SAFETY: a stack is used by the one thread, or CPU, that runs on it.
unsafe impl Sync for Stack {}

#[unsafe(no_mangle)]
static boot_stacks: [Stack; CPUS] = [const { Stack(UnsafeCell::new([0; STACK])) }; CPUS];
static STACKS: [Stack; THREADS] = [const { Stack(UnsafeCell::new([0; STACK])) }; THREADS];

/// What a CPU knows of itself. The machine finds it by its first word.
#[repr(C)]
pub(crate) struct Cpu {
    this: Cell<*const Cpu>,
    number: Cell<usize>,
    thread: Cell<*const Thread>,
    /// Where its scheduler continues.
    context: Cell<usize>,
}

// SAFETY: each CPU uses its own alone.
unsafe impl Sync for Cpu {}

static CPU: [Cpu; CPUS] =
    [const { Cpu { this: Cell::new(null()), number: Cell::new(0), thread: Cell::new(null()), context: Cell::new(0) } };
        CPUS];

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
enum State {
    Ready,
    Running,
    Parked,
    Over,
}

/// Where and until when a thread sleeps.
#[derive(Clone, Copy)]
struct Sleep {
    address: usize,
    lane: Lane,
    until: Option<u64>,
    /// Who fell asleep earlier has a lower number.
    turn: u64,
    ended: Parked,
}

pub(crate) struct Thread {
    number: usize,
    /// A [`State`]: written under the scheduler's lock, read by spinners that ask whether an owner runs.
    state: AtomicU32,
    pub(crate) slot: ThreadSlot<Machine>,
    context: Cell<usize>,
    /// Under the scheduler's lock.
    sleep: Cell<Sleep>,
    /// The thread's own.
    slice_end: Cell<u64>,
}

// SAFETY: `context` and `sleep` are used under the scheduler's lock, `slice_end` by the thread and the CPU that starts
// it, one after the other.
unsafe impl Sync for Thread {}

impl Thread {
    fn new(number: usize) -> Self {
        let sleep = Sleep { address: 0, lane: Lane::Waiters, until: None, turn: 0, ended: Parked::Woken };
        let top = STACKS[number].0.get() as usize + STACK;
        // SAFETY: the top of an unused stack.
        let context = unsafe { machine::first_context(top) };
        Thread {
            number,
            state: AtomicU32::new(State::Ready as u32),
            slot: ThreadSlot::new_in(),
            context: Cell::new(context),
            sleep: Cell::new(sleep),
            slice_end: Cell::new(0),
        }
    }

    fn is(&self, state: State) -> bool {
        self.state.load(Relaxed) == state as u32
    }

    fn set(&self, state: State) {
        self.state.store(state as u32, Relaxed);
    }

    /// Its number as the locks have it: 1 is unused.
    pub(crate) fn token(&self) -> Token {
        Token::new(self.number as u32 + 2).expect("few threads")
    }
}

pub(crate) struct Scheduler {
    /// Not a fair one: virtual CPUs have turns on the host's, and whose turn it is may have none.
    lock: RawSpinLock<NoBackoff, Machine>,
    threads: [Thread; THREADS],
    body: fn(usize),
    /// The thread that runs next, if it can, counted on for ever; under the lock.
    next: Cell<usize>,
    turns: Cell<u64>,
    ran: Cell<u64>,
    over: AtomicBool,
}

// SAFETY: the cells are used under the lock.
unsafe impl Sync for Scheduler {}

/// Written by the first CPU before the others start.
static SCHEDULER: AtomicPtr<Scheduler> = AtomicPtr::new(null_mut());

/// Returns the scheduler, once there is one.
pub(crate) fn scheduler() -> &'static Scheduler {
    // SAFETY: `run` put a scheduler there, and never returns, before any other CPU started, or any thread.
    unsafe { &*SCHEDULER.load(Relaxed) }
}

/// Runs `body(number)` in [`THREADS`] threads on all CPUs, and then `end` on the first.
pub(crate) fn run(body: fn(usize), end: fn() -> !) -> ! {
    let scheduler = Scheduler {
        lock: RawLock::new_in(),
        threads: core::array::from_fn(Thread::new),
        body,
        next: Cell::new(0),
        turns: Cell::new(0),
        ran: Cell::new(machine::now()),
        over: AtomicBool::new(false),
    };
    SCHEDULER.store((&raw const scheduler).cast_mut(), Relaxed);
    (1..CPUS).for_each(machine::start_cpu);
    run_on(0);
    end() // with the scheduler still there: other CPUs may look at it
}

/// Makes this the CPU of this number, before all else.
pub(crate) fn enter(number: usize) {
    let cpu = &CPU[number];
    cpu.number.set(number);
    cpu.this.set(cpu);
    // SAFETY: this CPU's own, which is static.
    unsafe { machine::set_cpu(cpu) };
}

/// Runs threads on this CPU until all are over.
pub(crate) fn run_on(number: usize) {
    let (scheduler, cpu) = (scheduler(), &CPU[number]);
    while !scheduler.over.load(Relaxed) {
        scheduler.lock.lock();
        scheduler.wake_late();
        match scheduler.take() {
            Some(thread) => {
                cpu.thread.set(thread);
                // SAFETY: the thread is not on a CPU, since it was ready and we have the lock; it releases that, and
                // has it again when it comes back.
                unsafe { machine::switch(cpu.context.as_ptr(), thread.context.get()) };
                cpu.thread.set(null());
            }
            None => scheduler.watch(),
        }
        // SAFETY: we have it, or the thread that came back took it.
        unsafe { scheduler.lock.unlock() };
        core::hint::spin_loop();
    }
}

impl Scheduler {
    /// Takes the next thread that can run. The lock is held.
    fn take(&self) -> Option<&Thread> {
        let first = self.next.get();
        let mut order = (0..THREADS).map(|n| &self.threads[(first + n) % THREADS]);
        let thread = order.find(|thread| thread.is(State::Ready))?;
        let now = machine::now();
        self.next.set(thread.number + 1);
        self.ran.set(now);
        thread.set(State::Running);
        thread.slice_end.set(now + SLICE_NS);
        Some(thread)
    }

    /// Wakes those whose time is out. The lock is held.
    fn wake_late(&self) {
        let now = machine::now();
        for thread in self.threads.iter().filter(|thread| thread.is(State::Parked)) {
            let sleep = thread.sleep.get();
            if sleep.until.is_some_and(|until| now >= until) {
                thread.sleep.set(Sleep { ended: Parked::TimedOut, ..sleep });
                thread.set(State::Ready);
            }
        }
    }

    /// Notices the end, or that there will be none. The lock is held, and nothing can run here.
    fn watch(&self) {
        if self.threads.iter().all(|thread| thread.is(State::Over)) {
            self.over.store(true, Relaxed);
        } else if self.threads.iter().any(|thread| thread.is(State::Running)) {
            self.ran.set(machine::now());
        } else if machine::now() > self.ran.get() + HANG_NS {
            panic!("all threads sleep, and nobody is left to wake them");
        }
    }

    /// Gives the CPU to the scheduler; returns when it has come back to this thread. The lock is held, and is released
    /// by then.
    fn leave(&self, thread: &Thread, state: State) {
        thread.set(state);
        let cpu = machine::cpu();
        // SAFETY: this CPU's own, whose scheduler waits for this; it releases the lock, and has it again when it comes
        // back to the thread, maybe on another CPU.
        unsafe {
            machine::switch(thread.context.as_ptr(), (*cpu).context.get());
            self.lock.unlock();
        }
    }

    /// Lets other threads run that can.
    pub(crate) fn yield_now(&self, thread: &Thread) {
        self.lock.lock();
        self.leave(thread, State::Ready);
    }

    /// Sleeps until a thread wakes the lane at this address, or until then; not if `changed` says so under the lock.
    pub(crate) fn park(
        &self,
        thread: &Thread,
        address: usize,
        lane: Lane,
        until: Option<u64>,
        changed: impl FnOnce() -> bool,
    ) -> Parked {
        self.lock.lock();
        if changed() {
            // SAFETY: taken above.
            unsafe { self.lock.unlock() };
            return Parked::Changed;
        }
        let turn = self.turns.get();
        self.turns.set(turn + 1);
        thread.sleep.set(Sleep { address, lane, until, turn, ended: Parked::Woken });
        self.leave(thread, State::Parked);
        thread.sleep.get().ended
    }

    /// The longest sleeper in a lane. The lock is held.
    fn longest(&self, address: usize, lane: Lane) -> Option<&Thread> {
        let sleeps = |thread: &&Thread| {
            let sleep = thread.sleep.get();
            thread.is(State::Parked) && sleep.address == address && sleep.lane == lane
        };
        self.threads.iter().filter(sleeps).min_by_key(|thread| thread.sleep.get().turn)
    }

    /// Does something to sleepers, with the lock.
    fn locked<R>(&self, body: impl FnOnce() -> R) -> R {
        self.lock.lock();
        let result = body();
        // SAFETY: taken above.
        unsafe { self.lock.unlock() };
        result
    }

    /// Wakes up to `count` of a lane, longest sleeper first; returns how many.
    pub(crate) fn wake(&self, address: usize, lane: Lane, count: u32) -> u32 {
        self.locked(|| {
            let sleepers = (0..count).map_while(|_| self.longest(address, lane));
            sleepers.inspect(|thread| thread.set(State::Ready)).count() as u32
        })
    }

    /// Wakes one waiter, and lets the others sleep at another address; `None` if `changed` says so under the lock.
    pub(crate) fn requeue(&self, from: usize, to: usize, changed: impl FnOnce() -> bool) -> Option<u32> {
        let moved = || {
            let mut count = 0;
            while let Some(thread) = self.longest(from, Lane::Waiters) {
                match count {
                    0 => thread.set(State::Ready),
                    _ => thread.sleep.set(Sleep { address: to, ..thread.sleep.get() }),
                }
                count += 1;
            }
            count
        };
        self.locked(|| (!changed()).then(moved))
    }

    pub(crate) fn thread(&self, token: Token) -> &Thread {
        &self.threads[token.get() as usize - 2]
    }

    pub(crate) fn is_running(&self, token: Token) -> bool {
        self.thread(token).is(State::Running)
    }
}

/// Returns the calling thread; `None` in a CPU's scheduler.
#[inline]
pub(crate) fn current() -> Option<&'static Thread> {
    // SAFETY: this CPU's own, and the thread, which lives for ever.
    unsafe { (*machine::cpu()).thread.get().as_ref() }
}

/// Returns the number of the CPU.
pub(crate) fn cpu_number() -> usize {
    // SAFETY: this CPU's own.
    unsafe { (*machine::cpu()).number.get() }
}

/// Whether the calling thread has had its CPU for long enough.
pub(crate) fn slice_is_over() -> bool {
    current().is_some_and(|thread| machine::now() >= thread.slice_end.get())
}

/// Where a thread begins: the scheduler has switched to it, and still has the lock.
#[unsafe(no_mangle)]
extern "C" fn begin() -> ! {
    let (scheduler, thread) = (scheduler(), current().expect("a thread begins"));
    // SAFETY: the CPU's scheduler took it before the switch.
    unsafe { scheduler.lock.unlock() };
    (scheduler.body)(thread.number);
    scheduler.lock.lock();
    scheduler.leave(thread, State::Over);
    unreachable!("a thread that is over went on");
}
