//! The request of a futex call.

/// The system calls of the family whose tracepoints are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SysCall {
    /// `futex`, with its many operations.
    Futex,
    /// `futex_wait`, Linux 6.7.
    FutexWait,
    /// `futex_wake`, Linux 6.7.
    FutexWake,
    /// `futex_waitv`, Linux 5.16: a list of futexes. The record has the list's address instead of theirs.
    FutexWaitv,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    /// Sleeps until woken, or takes a priority-inheriting lock.
    Wait {
        /// The address that it sleeps on.
        address: u64,
        /// The meaning of the word there.
        word: Word,
    },
    /// Wakes sleepers, up to a number.
    Wake {
        /// The address whose sleepers are woken.
        address: u64,
        /// The maximum number.
        most: u64,
    },
    /// Wakes some sleepers and moves the other sleepers to another address.
    Requeue {
        /// The address whose sleepers move.
        from: u64,
        /// The address that they sleep on afterwards.
        to: u64,
        /// The maximum number that are woken instead.
        most: u64,
    },
}

/// The word that a call waits at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    /// It had this value when the wait began; only threads of this process may wait there.
    Private(u32),
    /// It had this value, and other processes may wait there. The C library waits for a thread's end in this way: the
    /// word is the thread's number, and the kernel clears it.
    Shared(u32),
    /// A priority-inheriting lock: the word contains the owner.
    Owner,
    /// Unknown.
    Other,
}

impl SysCall {
    pub(crate) const ALL: [SysCall; 4] = [SysCall::Futex, SysCall::FutexWait, SysCall::FutexWake, SysCall::FutexWaitv];

    pub(crate) fn name(self) -> &'static str {
        match self {
            SysCall::Futex => "futex",
            SysCall::FutexWait => "futex_wait",
            SysCall::FutexWake => "futex_wake",
            SysCall::FutexWaitv => "futex_waitv",
        }
    }

    pub(crate) fn of_number(number: i64) -> Option<SysCall> {
        /// Linux 6.7: the same number on all machines.
        const FUTEX_WAKE: i64 = 454;
        const FUTEX_WAIT: i64 = 455;
        match number {
            libc::SYS_futex => Some(SysCall::Futex),
            libc::SYS_futex_waitv => Some(SysCall::FutexWaitv),
            FUTEX_WAIT => Some(SysCall::FutexWait),
            FUTEX_WAKE => Some(SysCall::FutexWake),
            _ => None,
        }
    }

    /// Returns the names of the arguments that [`SysCall::decode`] takes.
    pub(crate) fn fields(self) -> &'static [&'static str] {
        match self {
            SysCall::Futex => &["uaddr", "op", "val", "uaddr2"],
            SysCall::FutexWait => &["uaddr"],
            SysCall::FutexWake => &["uaddr", "nr"],
            SysCall::FutexWaitv => &["waiters"],
        }
    }

    /// Decodes the call from its arguments; `None`: it neither waits nor wakes.
    pub(crate) fn decode(self, arguments: &[u64]) -> Option<Call> {
        let argument = |place: usize| arguments.get(place).copied();
        let address = argument(0)?;
        match self {
            SysCall::Futex => futex(address, argument(1)?, argument(2)?, argument(3)?),
            SysCall::FutexWait | SysCall::FutexWaitv => Some(Call::Wait { address, word: Word::Other }),
            SysCall::FutexWake => Some(Call::Wake { address, most: argument(1)? }),
        }
    }
}

fn futex(address: u64, operation: u64, value: u64, other: u64) -> Option<Call> {
    let most = u64::from(value as u32);
    match operation as i32 & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            let is_private = operation as i32 & libc::FUTEX_PRIVATE_FLAG != 0;
            let word = if is_private { Word::Private(value as u32) } else { Word::Shared(value as u32) };
            Some(Call::Wait { address, word })
        }
        libc::FUTEX_WAIT_REQUEUE_PI => Some(Call::Wait { address, word: Word::Other }),
        libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 => Some(Call::Wait { address, word: Word::Owner }),
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET | libc::FUTEX_WAKE_OP => Some(Call::Wake { address, most }),
        libc::FUTEX_UNLOCK_PI => Some(Call::Wake { address, most: 1 }),
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE | libc::FUTEX_CMP_REQUEUE_PI => {
            Some(Call::Requeue { from: address, to: other, most })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_count_without_their_flags() {
        let futex = |operation: i32, value| SysCall::Futex.decode(&[0x10, operation as u64, value, 0x20]);
        let wait = |word| Some(Call::Wait { address: 0x10, word });
        assert_eq!(futex(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, 5), wait(Word::Private(5)));
        let realtime = libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME;
        assert_eq!(futex(realtime | libc::FUTEX_PRIVATE_FLAG, 5), wait(Word::Private(5)));
        assert_eq!(futex(realtime, 5), wait(Word::Shared(5)));
        assert_eq!(futex(libc::FUTEX_LOCK_PI | libc::FUTEX_PRIVATE_FLAG, 0), wait(Word::Owner));
        assert_eq!(futex(libc::FUTEX_WAIT_REQUEUE_PI, 5), wait(Word::Other));
        assert_eq!(futex(libc::FUTEX_WAKE, 3), Some(Call::Wake { address: 0x10, most: 3 }));
        let requeue = Some(Call::Requeue { from: 0x10, to: 0x20, most: 1 });
        assert_eq!(futex(libc::FUTEX_CMP_REQUEUE, 1), requeue);
        assert_eq!(futex(libc::FUTEX_TRYLOCK_PI, 0), None);
        assert_eq!(SysCall::FutexWake.decode(&[0x10]), None, "an argument is missing");
    }
}
