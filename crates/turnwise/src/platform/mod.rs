//! The interface between a lock and the machine it runs on.
//!
//! A raw lock is generic over [`Platform`]. On bare metal every operation inlines to the instruction that one would
//! write by hand; a simulator may switch coroutines inside any of them; a model checker may explore every order. All
//! operations are associated functions, since an all-zero lock cannot hold a handle: a simulator finds its machine
//! through its current coroutine.
#![expect(clippy::exhaustive_enums, reason = "a platform outside gives or takes these, and must know all")]

#[macro_use]
mod make;

mod ask;
mod bare;
pub(crate) mod limits;
pub(crate) mod racy;
pub(crate) mod slot;
mod word;
mod yield_then_sleep;

#[cfg(feature = "native")]
pub mod native;

pub use ask::{Hint, Pause, Preempt};
pub use bare::Bare;
#[cfg(feature = "native")]
pub use native::Native;
pub use slot::{Me, ThreadSlot};
pub use word::{IntWord, Word};
pub use yield_then_sleep::YieldThenSleep;

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A platform whose words are core's atomic types: its locks can be created in constants (`const_new_in`), for statics.
/// Every such platform implements it; `T` is its pointers' pointee, which matters only to [`McsLock`](crate::McsLock).
///
/// ```
/// use turnwise::platform::Bare;
/// use turnwise::{Condvar, Mutex};
///
/// static PAGES: Mutex<u64, Bare> = Mutex::const_new_in(0);
/// static FREED: Condvar<Bare> = Condvar::const_new_in();
/// *PAGES.lock() += 1;
/// FREED.notify_all();
/// ```
pub trait ConstPlatform<T: 'static = ()>: Platform<U32 = AtomicU32, U64 = AtomicU64, Ptr<T> = AtomicPtr<T>> {}

impl<T: 'static, P: Platform<U32 = AtomicU32, U64 = AtomicU64, Ptr<T> = AtomicPtr<T>>> ConstPlatform<T> for P {}

/// The platform of `Mutex<T>` when none is named.
///
/// ```
/// use turnwise::{Mutex, platform::DefaultPlatform};
///
/// static HITS: Mutex<u64, DefaultPlatform> = Mutex::new(0); // as `Mutex<u64>`
/// ```
#[cfg(feature = "native")]
pub type DefaultPlatform = Native;
/// The platform of `Mutex<T>` when none is named.
#[cfg(not(feature = "native"))]
pub type DefaultPlatform = Bare;

/// A small non-zero number that identifies a thread for as long as it lives.
///
/// [`Token::ANONYMOUS`] stands for every thread without a [`ThreadSlot`]: one that has never met contention, one that
/// arrived when all slots were taken, or one that is exiting. It owns locks like any other, but its state cannot be
/// queried.
///
/// ```
/// use turnwise::platform::Token;
///
/// assert_eq!(Token::new(7).map(Token::get), Some(7));
/// assert!(Token::new(0).is_none() && Token::new(Token::LIMIT).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(transparent)]
pub struct Token(core::num::NonZeroU32);

impl Token {
    /// The token of all threads without a slot.
    pub const ANONYMOUS: Token = Token(core::num::NonZeroU32::MIN);
    /// The exclusive upper limit of tokens: they share a lock word with flag bits and half a word in queues.
    pub const LIMIT: u32 = 1 << 16;

    /// Returns the token with this number, if it is in `1..LIMIT`.
    #[inline]
    #[must_use]
    pub const fn new(number: u32) -> Option<Token> {
        if number >= Self::LIMIT {
            return None;
        }
        match core::num::NonZeroU32::new(number) {
            Some(n) => Some(Token(n)),
            None => None,
        }
    }

    /// Returns the token with this number, unchecked.
    ///
    /// # Safety
    /// `number` is in `1..LIMIT`.
    #[inline]
    #[must_use]
    pub const unsafe fn new_unchecked(number: u32) -> Token {
        // SAFETY: contract of `new_unchecked`: the number is not 0.
        Token(unsafe { core::num::NonZeroU32::new_unchecked(number) })
    }

    /// Returns the token's number.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

/// Whether a thread currently occupies a CPU, as far as the platform knows.
///
/// ```
/// use turnwise::platform::{Bare, OnCpu, Platform, Token};
///
/// assert_eq!(Bare::on_cpu(Token::ANONYMOUS), OnCpu::Unknown);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OnCpu {
    /// The thread runs.
    Running,
    /// The thread sleeps, or is preempted: spinning for it is wasteful.
    NotRunning,
    /// The platform does not know: spin briefly.
    Unknown,
}

/// The clock of a [`Deadline`].
///
/// ```
/// use turnwise::platform::{Clock, Deadline};
///
/// let new_year_2030 = Deadline { clock: Clock::Realtime, at: 1_893_456_000_000_000_000 };
/// let soon = turnwise::Mutex::new(()).try_lock_until(new_year_2030).is_some();
/// assert!(soon, "it is free");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Clock {
    /// The clock of [`Platform::now`], which is never set back.
    Monotonic,
    /// The wall clock, which an administrator can set. Platforms without one treat it as monotonic.
    Realtime,
}

/// A point in time at which a wait ends.
///
/// ```
/// use std::time::Duration;
/// use turnwise::platform::{Deadline, DefaultPlatform};
///
/// let deadline = Deadline::after::<DefaultPlatform>(Duration::from_secs(1));
/// assert!(turnwise::RwSem::new(7).try_read_until(deadline).is_some());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a clock and a time on it")]
pub struct Deadline {
    /// The clock that `at` is on.
    pub clock: Clock,
    /// Nanoseconds on that clock.
    pub at: u64,
}

impl Deadline {
    /// Returns the deadline `timeout` from now on `P`'s monotonic clock; it saturates.
    #[must_use]
    pub fn after<P: Platform>(timeout: core::time::Duration) -> Deadline {
        let ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        Deadline { clock: Clock::Monotonic, at: P::now().saturating_add(ns) }
    }

    /// Returns whether the deadline has passed.
    #[must_use]
    pub fn expired<P: Platform>(self) -> bool {
        let now = match self.clock {
            Clock::Monotonic => P::now(),
            Clock::Realtime => P::wall(),
        };
        now >= self.at
    }

    /// Returns its time on the clock of [`Platform::now`], if the wall clock is not set meanwhile.
    #[must_use]
    pub fn monotonic<P: Platform>(self) -> u64 {
        match self.clock {
            Clock::Monotonic => self.at,
            Clock::Realtime => P::now().saturating_add(self.at.saturating_sub(P::wall())),
        }
    }
}

/// The limits of a spin.
///
/// ```
/// use turnwise::platform::{Bare, Platform, SpinEnd, SpinLimit};
///
/// let word = std::sync::atomic::AtomicU32::new(0);
/// let limit = SpinLimit { until: Some(Bare::now() + 10), ..SpinLimit::NONE };
/// assert_eq!(Bare::spin_until(&word, |value| value != 0, limit), Err(SpinEnd::Deadline));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "locks outside make it from `NONE`")]
pub struct SpinLimit {
    /// Stop at this time on [`Platform::now`]; `None` means never. A platform may read its clock only now and then: if
    /// the time has already passed, it stops at the first reading.
    pub until: Option<u64>,
    /// Stop when this thread is found to be off the CPU.
    pub owner: Option<Token>,
    /// Poll only every [`poll_ns`](crate::wait::Policy::poll_ns), since a poll of a word that its owner is about to
    /// write takes the cache line from it; and stop when polls have found the line unchanged for this long, as far as
    /// the platform can tell. `None` suits a word that is written once, for the spinner: it polls all the time.
    pub still_ns: Option<u32>,
    /// With `still_ns`: after polls that found the line changed, back off for longer
    /// ([`Policy::away_ns`](crate::wait::Policy::away_ns)). It suits a thread that waits alone for an owner which may
    /// take the lock again and again: any others that come change the line, too.
    pub batches: bool,
    /// Stop when [`Preempt::IsDue`] is answered with yes; where the platform does not know, this has no effect.
    pub need_resched: bool,
}

impl SpinLimit {
    /// The limit that lets a spin continue for ever.
    pub const NONE: SpinLimit =
        SpinLimit { until: None, owner: None, still_ns: None, batches: false, need_resched: false };
}

/// Why a spin ended without success.
///
/// ```
/// use turnwise::platform::SpinEnd;
///
/// let end: Box<dyn std::error::Error> = SpinEnd::Deadline.into();
/// assert_eq!(end.to_string(), "the spin took as long as it may");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SpinEnd {
    /// [`SpinLimit::until`] passed, or the word was unchanged for [`SpinLimit::still_ns`], or the thread's slice is
    /// over and [`SpinLimit::need_resched`] asks for that.
    Deadline,
    /// [`SpinLimit::owner`] is not running: another thread of this program has its CPU.
    NotRunning,
}

impl core::fmt::Display for SpinEnd {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            SpinEnd::Deadline => "the spin took as long as it may",
            SpinEnd::NotRunning => "another thread has the owner's CPU",
        })
    }
}

impl core::error::Error for SpinEnd {}

/// Why [`Platform::park`] returned.
///
/// ```
/// use turnwise::platform::{Bare, Lane, Parked, Platform};
///
/// let word = std::sync::atomic::AtomicU32::new(1);
/// assert_eq!(Bare::park(&word, 0, Lane::Waiters, None), Parked::Changed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Parked {
    /// Another thread woke us (spurious wake-ups count as this, too).
    Woken,
    /// The word did not hold the expected value; we did not sleep.
    Changed,
    /// The deadline passed.
    TimedOut,
    /// A signal handler ran; no thread woke us.
    Interrupted,
}

/// A lane of the queue of threads parked on one word: a wake-up goes to one lane.
///
/// ```
/// use turnwise::platform::{DefaultPlatform, Lane, Platform};
///
/// let word = std::sync::atomic::AtomicU32::new(0);
/// assert_eq!(DefaultPlatform::wake(&word, Lane::Readers, u32::MAX), 0, "no thread sleeps there");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lane {
    /// Ordinary waiters, first come, first woken.
    Waiters,
    /// The one waiter to which the lock is handed next.
    First,
    /// Waiters that are all woken together.
    Readers,
}

/// A machine on which locks run. See the module's documentation. What is not defined is as on a machine without threads
/// of its own, [`Bare`]: no thread has an identity, and spinners poll. [`Platform::current`], [`Platform::me`] and
/// [`Platform::slot`] belong together: define all three or none.
///
/// # Safety
/// [`Platform::current`] and [`Platform::me`] must never identify two live threads by one token other than
/// [`Token::ANONYMOUS`], slots must stay valid for ever, and [`Platform::slot`] must return the slot that belongs to
/// the token; the queues' memory safety rests on it.
///
/// ```
/// use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
/// use turnwise::{RawLock, RawMutex, RawTimedLock, platform::*};
///
/// /// A machine that counts how often a thread would have slept.
/// struct Counted;
/// static PARKED: AtomicU32 = AtomicU32::new(0);
///
/// // SAFETY: no thread has a token or a slot.
/// unsafe impl Platform for Counted {
///     type U32 = AtomicU32;
///     type U64 = AtomicU64;
///     type Ptr<T: 'static> = AtomicPtr<T>;
///
///     fn park(word: &AtomicU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
///         PARKED.fetch_add(1, Relaxed);
///         Bare::park(word, expected, lane, deadline)
///     }
///     fn wake(_: *const AtomicU32, _: Lane, _: u32) -> u32 {
///         0 // a thread in `park` sees the word change
///     }
///     fn now() -> u64 {
///         Bare::now()
///     }
/// }
///
/// let lock = RawMutex::<Counted>::new_in();
/// lock.lock();
/// assert!(!lock.lock_until(Deadline { clock: Clock::Monotonic, at: 1_000 }));
/// assert!(PARKED.load(Relaxed) > 0);
/// ```
pub unsafe trait Platform: Sized + Send + Sync + 'static {
    /// A shared 32-bit word.
    type U32: IntWord<Value = u32>;
    /// A shared 64-bit word.
    type U64: IntWord<Value = u64>;
    /// A shared pointer.
    type Ptr<T: 'static>: Word<Value = *mut T>;

    /// Pauses the calling thread. No other thread ends a pause.
    #[inline(always)]
    #[track_caller]
    fn pause(pause: Pause) {
        pause.by_default::<Self>();
    }

    /// Spins until `ready(value of word)`, and returns that value; gives up at `limit`.
    ///
    /// The loads are relaxed: a caller that needs what the writer published must acquire it afterwards. In a simulator
    /// this parks the coroutine on the word's cache line.
    ///
    /// # Errors
    /// The part of `limit` that ended it.
    #[track_caller]
    fn spin_until<W: Word>(
        word: &W,
        mut ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        loop {
            let value = word.load(Relaxed);
            if ready(value) {
                return Ok(value);
            }
            let is_due = || limit.need_resched && Self::preempt(Preempt::IsDue) == Some(true);
            if limit.until.is_some_and(|at| Self::now() >= at) || is_due() {
                return Err(SpinEnd::Deadline);
            }
            if limit.owner.is_some_and(|owner| Self::on_cpu(owner) == OnCpu::NotRunning) {
                return Err(SpinEnd::NotRunning);
            }
            Self::pause(Pause::Relax);
        }
    }

    /// Begins or ends a section in which the thread keeps its CPU, or asks whether it should yield it. Only
    /// [`Preempt::IsDue`] has an answer, and that is `None` where there is no such mechanism, as in every program on
    /// Linux: then this does nothing, and a lock has to stand in.
    #[inline(always)]
    #[track_caller]
    #[expect(clippy::must_use_candidate, reason = "only one step has an answer")]
    fn preempt(_what: Preempt) -> Option<bool> {
        None
    }

    /// Returns whether a thread may leave a lock call at any instruction, and never return to it: by a jump out of a
    /// signal handler, or by ending there.
    #[inline(always)]
    #[must_use]
    fn calls_may_be_left() -> bool {
        false
    }

    /// Sleeps in `lane` of `word` until woken or until `deadline`; returns at once if `word` is not `expected`.
    fn park(word: &Self::U32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked;

    /// Wakes up to `count` threads parked in `lane` of `word`, longest sleeper first; returns their number. Uses only
    /// the address: the word may be gone.
    fn wake(word: *const Self::U32, lane: Lane, count: u32) -> u32;

    /// Returns whether a wake-up wakes only threads of its lane. Otherwise a wake-up of a single thread may go to one
    /// of another lane, if there are threads in both.
    #[inline(always)]
    #[must_use]
    fn has_lanes() -> bool {
        true
    }

    /// Wakes one ordinary waiter of `from` and moves the others to `to`'s ordinary waiters, if `from` still holds
    /// `expected`. Returns the number woken or moved, or `None` if the value differed or the platform cannot. Uses only
    /// the address of `to`.
    fn requeue(_from: &Self::U32, _expected: u32, _to: *const Self::U32) -> Option<u32> {
        None
    }

    /// Returns nanoseconds on a clock that never runs backwards.
    fn now() -> u64;

    /// Returns nanoseconds on the wall clock; a platform without one uses [`Platform::now`].
    #[must_use]
    fn wall() -> u64 {
        Self::now()
    }

    /// Returns the calling thread's token, or [`Token::ANONYMOUS`] if it has none yet. Fast paths call it: it must be
    /// cheap.
    #[inline(always)]
    #[must_use]
    fn current() -> Token {
        Token::ANONYMOUS
    }

    /// Returns the calling thread's token and slot, and takes a slot if it has none; `None` if none is available.
    #[expect(clippy::must_use_candidate, reason = "also called for the slot that it takes")]
    fn me() -> Option<Me<Self>> {
        None
    }

    /// Returns the slot of a token that [`Platform::me`] gave to a thread.
    #[must_use]
    fn slot(_token: Token) -> &'static ThreadSlot<Self> {
        unreachable!("no thread was given a token")
    }

    /// Returns whether the thread of `token` runs.
    #[must_use]
    fn on_cpu(_token: Token) -> OnCpu {
        OnCpu::Unknown
    }

    /// Returns a number about the machine. A wrong one costs time, never safety. Fast paths call it: it must be cheap.
    #[inline(always)]
    #[must_use]
    fn hint(hint: Hint) -> u32 {
        u32::from(hint == Hint::Cpus)
    }

    /// Returns a number that identifies this process among its relatives: a forked child's differs from its parent's,
    /// and a process never changes its own. The threads of another generation do not exist here, so slow paths check
    /// before they rely on one. Where there are no processes there is one generation.
    #[must_use]
    fn generation() -> u32 {
        0
    }

    /// Reports that the calling thread reads (`write: false`) or writes these bytes of protected data. Does nothing on
    /// real hardware; a simulator charges their cache lines.
    #[inline]
    fn touch(_data: *const u8, _bytes: usize, _write: bool) {}
}
