//! Calls in which threads sleep until others wake them, other than those of pthread's locks. The exported functions
//! jump into `c/sleep.c`, which calls back the functions of a library.

use crate::frames::words;
use crate::module::find;
use core::ffi::{c_long, c_void};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// A call that may sleep: `struct sleep` of `c/sleep.c`. `T`, of three words, is the library's own; zeros at first.
#[repr(C)]
pub struct Sleep<T> {
    /// The place that the thread sleeps on.
    pub address: u64,
    /// The return address of the program's call.
    pub site: u64,
    /// The first word of the stack above the call.
    pub above: usize,
    /// The library's own.
    pub own: T,
    /// The class of a recording, or the kind of a live view: they have the same numbers.
    pub class: u32,
}

/// How a call ended: another thread woke this one.
pub const WOKEN: u32 = 0;
/// Its time was over, or a signal or a cancellation ended it.
pub const GAVE_UP: u32 = 1;

/// What a library does before and after such calls: `struct sleep_ops` of `c/sleep.c`.
#[repr(C)]
pub struct SleepOps<T, E: 'static> {
    /// Notes that a call begins which may sleep; returns whether its end is to be noted.
    pub begin: extern "C" fn(&mut Sleep<T>) -> bool,
    /// Notes that such a call has ended.
    pub end: extern "C" fn(&Sleep<T>, u32),
    /// Does as `begin` for a call on several words; gets the address of an array of `struct futex_waitv`.
    pub begin_several: extern "C" fn(&mut Sleep<T>, u64) -> bool,
    /// Does as `end`; gets the array, and the number of the word that ended it, or an error.
    pub end_of_several: extern "C" fn(&mut Sleep<T>, u64, c_long, u32),
    /// Notes that a call is about to wake sleepers: its class, address and call site. `None`: such calls pass on.
    pub wakes: Option<extern "C" fn(u32, u64, u64) -> Option<&'static E>>,
    /// Notes how many threads it woke, if that is not negative.
    pub woke: Option<extern "C" fn(Option<&'static E>, c_long)>,
    /// The next library's functions.
    pub next: [extern "C" fn() -> *mut c_void; 10],
}

/// Where the program itself lies.
static PROGRAM: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Finds where the program lies, for the constructor of a library that uses [`Sleep::path`].
pub fn find_program() {
    // SAFETY: the vector's entry is a number that the kernel passed.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) } as usize;
    if let Some(program) = find(entry) {
        PROGRAM[0].store(program.start, Relaxed);
        PROGRAM[1].store(program.end, Relaxed);
    }
}

impl<T> Sleep<T> {
    /// Identifies the path of calls that led to the call, without a walk through their frames: by the depth of the
    /// stack, and by the words on it that look like return addresses.
    pub fn path(&self) -> u64 {
        const { assert!(size_of::<T>() == 3 * size_of::<u64>() && align_of::<T>() == align_of::<u64>()) };
        /// Enough for some frames, and less than their walk takes.
        const WORDS: usize = 48;
        /// Libraries lie above, data of most programs below.
        const LIBRARIES: usize = 1 << 40;
        const END: usize = 1 << 47;
        const ALIGNED: usize = 7;
        /// Fibonacci hashing.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut read = [0; WORDS];
        let count = words(self.above - size_of::<usize>(), self.above, &mut read);
        let program = PROGRAM[0].load(Relaxed)..PROGRAM[1].load(Relaxed);
        // Pointers to data are mostly aligned, and differ from call to call.
        let is_code = |word: usize| program.contains(&word) || (LIBRARIES..END).contains(&word) && word & ALIGNED != 0;
        let start = (self.above as u64).wrapping_mul(SPREAD) ^ self.site;
        let mix = |hash: u64, word: &usize| (hash.rotate_left(9) ^ *word as u64).wrapping_mul(SPREAD);
        read[..count].iter().filter(|word| is_code(**word)).fold(start, mix)
    }
}

/// Defines the exported functions in a library's module `exports`, and [`SleepOps`] of its functions, on what it keeps
/// for each call and for calls that wake. The next library's functions are in the module `$real`. Futex calls come once
/// `take_futexes` was called, by which `FUTEX` gets the function for them.
#[macro_export]
macro_rules! sleeps {
    ($real:path, <$own:ty, $entry:ty> $($function:ident: $value:expr,)*) => {
        $crate::exports! {
            sem_wait -> turnwise_sleep_sem_wait with OPS;
            sem_timedwait -> turnwise_sleep_sem_timedwait with OPS;
            sem_clockwait -> turnwise_sleep_sem_clockwait with OPS;
            pthread_barrier_wait -> turnwise_sleep_barrier_wait with OPS;
            pthread_join -> turnwise_sleep_join with OPS;
            pthread_timedjoin_np -> turnwise_sleep_timedjoin with OPS;
            pthread_clockjoin_np -> turnwise_sleep_clockjoin with OPS;
            pthread_once -> turnwise_sleep_once with OPS;
        }

        /// The function of `c/sleep.c` for futex calls; null: they pass on.
        pub(super) static FUTEX: ::core::sync::atomic::AtomicPtr<::core::ffi::c_void> =
            ::core::sync::atomic::AtomicPtr::new(::core::ptr::null_mut());

        // SAFETY: `c/sleep.c` defines it with this signature.
        unsafe extern "C" {
            fn turnwise_sleep_by(ops: *const ::core::ffi::c_void) -> *mut ::core::ffi::c_void;
        }

        /// Begins to take futex calls, for the constructor.
        pub(crate) fn take_futexes() {
            // SAFETY: the operations are static, and of the structure that the function expects.
            let function = unsafe { turnwise_sleep_by((&raw const OPS).cast()) };
            FUTEX.store(function, ::core::sync::atomic::Ordering::Relaxed);
        }

        /// The functions that `c/sleep.c` may call.
        static OPS: $crate::SleepOps<$own, $entry> = {
            use $real as next;
            $crate::SleepOps {
                $($function: $value,)*
                next: [
                    next::syscall::address,
                    next::sem_wait::address,
                    next::sem_timedwait::address,
                    next::sem_clockwait::address,
                    next::sem_post::address,
                    next::pthread_barrier_wait::address,
                    next::pthread_join::address,
                    next::pthread_timedjoin_np::address,
                    next::pthread_clockjoin_np::address,
                    next::pthread_once::address,
                ],
            }
        };
    };
}
