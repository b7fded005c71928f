//! The portable platform's table of sleeping threads.

use super::*;
use crate::explicit::Machine as Setting;
use crate::parking::{Link, Machine, Source, Stage, System, change, counts, lanes, pass, token, words};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{Lane, SpinLimit};

/// A bucket's lock: a thread that waits for it spins.
pub(crate) struct Locked<T> {
    word: ExplicitWord<u32>,
    value: UnsafeCell<T>,
}

/// A record's link.
pub(crate) struct Next<T>(Cell<*const T>);

impl<T> Default for Next<T> {
    fn default() -> Self {
        Next(Cell::new(ptr::null()))
    }
}

impl<T> Link<T> for Next<T> {
    fn get(&self) -> *const T {
        self.0.get()
    }

    fn set(&self, to: *const T) {
        self.0.set(to);
    }
}

impl System for Explicit {
    type Word = ExplicitWord<u32>;
    type Link<T: 'static> = Next<T>;
    type Lock<T: Send + 'static> = Locked<T>;

    fn locked<T: Send, R>(lock: &Locked<T>, body: impl FnOnce(&mut T) -> R) -> R {
        while lock.word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            let _ = Explicit::spin_until(&lock.word, |value| value == 0, SpinLimit::NONE);
        }
        // SAFETY: the word states which thread is here, alone.
        let answer = body(unsafe { &mut *lock.value.get() });
        lock.word.store(0, Release);
        answer
    }

    #[inline(always)]
    fn wait(word: &ExplicitWord<u32>, expected: u32, ns: Option<u64>) {
        let after = |ns| Deadline { clock: Clock::Monotonic, at: <Explicit as Platform>::now() + ns };
        <Explicit as Platform>::park(word, expected, Lane::Waiters, ns.map(after));
    }

    #[inline(always)]
    fn wake(word: *const ExplicitWord<u32>) {
        <Explicit as Platform>::wake(word, Lane::Waiters, 1);
    }

    #[inline(always)]
    fn time(_clock: Clock) -> u64 {
        <Explicit as Platform>::now()
    }
}

impl Machine for Explicit {
    fn lock<T: Send>(value: T) -> Locked<T> {
        Locked { word: Word::new(0), value: UnsafeCell::new(value) }
    }
}

impl Stage for CheckSetup {
    type P = Explicit;

    fn keep<T: 'static>(&self, value: T) -> &'static T {
        self.keep(value)
    }

    fn thread(&self, body: impl Fn() + Copy + 'static) {
        self.spawn(body);
    }

    fn at_end(&self, holds: impl Fn() + 'static) {
        self.at_end(holds);
    }
}

/// Records lie on stacks.
const SETTING: Setting = Setting { stacks_are_shared: true, ..Setting::SPINS };
/// A thread that is not woken, or woken without success, relies on its deadline.
const TIMELY: Setting = Setting { time_helps: true, ..SETTING };
const TWO: (Size, Size) = (Size::of(2, 2), Size::of(2, 4));
const ALL_FOUR: (Size, Size) = (Size::of(4, 1), Size::of(4, 1));
const SIGNALS: (Size, Size) = (Size::of(3, 1).woken_spuriously(), Size::of(4, 1).woken_spuriously());
/// Every thread's time may run out.
const COUNTS: (Size, Size) = (Size::of(3, 1).timed(2), Size::of(4, 1).timed(3));
const TIMED: (Size, Size) = (Size::of(3, 1).timed(1), Size::of(3, 1).timed(1).woken_spuriously());

type Of<S> = <S as Source>::Table<Explicit>;

/// The checks of one copy of the table.
struct Checks<S>(S);

impl<S: Source> Checks<S> {
    const ALL: &'static [Check] = checks! {
        "parking: a word is passed on": SETTING, TWO, &["woke"] => pass::<_, Of<S>>;
        "parking: all wait for a change": SETTING, FOUR, &["woke several"] => change::<_, Of<S>>;
        "parking: sleeps end for nothing": SETTING, SIGNALS, &["woke several"] => change::<_, Of<S>>;
        "parking: two lanes of one word": SETTING, FOUR, &["woke"] => lanes::<_, Of<S>>;
        "parking: as many are woken as wake-ups say": TIMELY, COUNTS, &["woke several", "gave up"] =>
            counts::<_, Of<S>>;
        "parking: a timed waiter and a patient one": TIMELY, TIMED, &["got it in time", "gave up"] => token::<_, Of<S>>;
        "parking: two words in one bucket": SETTING, ALL_FOUR, &["woke several"] => words::<_, Of<S>>;
    };
}

/// Returns the checks of one copy of the table.
pub(crate) const fn of<S: Source>() -> &'static [Check] {
    Checks::<S>::ALL
}
