//! The locks of the five papers from which Turnwise grew, as they were then: before and after.
//!
//! They are for measuring and reproducing, not for use: programs should use `turnwise`'s own. There is one file per
//! lock; what a paper changed is a policy of the one type, so that before and after differ in nothing else.
#![no_std]

#[cfg(test)]
extern crate std;

/// Keeps the versions of a lock to those in its file: the locks' `unsafe` implementations rely on what they do.
mod sealed {
    pub trait Sealed {}
}

/// The versions of a lock: types, some with a number, and what `Policy` says of each. There are no others.
macro_rules! versions {
    ($($(#[$doc:meta])* $version:ident $(<$number:ident = $default:ident>)? { $($says:tt)* })*) => {$(
        $(#[$doc])*
        pub struct $version $(<const $number: u32 = $default>)?;
        impl $(<const $number: u32>)? Policy for $version $(<$number>)? { $($says)* }
        impl $(<const $number: u32>)? crate::sealed::Sealed for $version $(<$number>)? {}
    )*};
}

/// The `Default` of a lock, in all its versions, which a `Policy` distinguishes or a constant; and its `Debug`, which
/// shows these fields.
macro_rules! lock_basics {
    ($lock:ident $(<$version:ident>)? $([const $number:ident: $of:ty])?,
        |$this:ident| $($field:ident: $value:expr),*) => {
        impl<$($version: Policy,)? $(const $number: $of,)? P: Platform> Default
            for $lock<$($version,)? $($number,)? P>
        {
            fn default() -> Self {
                Self::new_in()
            }
        }

        impl<$($version: Policy,)? $(const $number: $of,)? P: Platform> core::fmt::Debug
            for $lock<$($version,)? $($number,)? P>
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($lock))$(.field(stringify!($field), &$value))*.finish()
            }
        }
    };
}

/// Lets a lock without a read mode stand where a readers-writer lock is asked for: its readers are its owners.
macro_rules! readers_are_owners {
    ([$($generics:tt)*] $lock:ty) => {
        // SAFETY: a reader is the lock's only owner, so no writer has it, and `RawLock` orders one after the other.
        unsafe impl<$($generics)*> turnwise::raw::RawRwLock for $lock {
            #[inline]
            fn read(&self) {
                self.lock();
            }

            #[inline]
            fn try_read(&self) -> bool {
                self.try_lock()
            }

            #[inline]
            unsafe fn unlock_read(&self) {
                // SAFETY: contract of `RawLock::unlock`, which is the caller's, too: its `read` was `lock`.
                unsafe { self.unlock() };
            }
        }
    };
}

pub mod biased_rwlock;
pub mod d_count;
pub mod ia64_spin;
pub mod linux_mutex;
pub mod osv_mutex;
pub mod queued_rwlock;
pub mod rename_lock;
pub mod rwsem_spinlock;
pub mod rwsem_xadd;
pub mod ticket;
mod wait;

pub use biased_rwlock::BiasedRwLock;
pub use d_count::DCount;
pub use ia64_spin::Ia64SpinLock;
pub use linux_mutex::LinuxMutex;
pub use osv_mutex::OsvMutex;
pub use queued_rwlock::QueuedRwLock;
pub use rename_lock::RenameLock;
pub use rwsem_spinlock::RwsemSpinlock;
pub use rwsem_xadd::RwsemXadd;
pub use ticket::KernelTicketLock;
