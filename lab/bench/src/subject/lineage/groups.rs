//! The locks, by paper.

use crate::adapt::seqlocks::Blocking;
use crate::subject::{Group, LockInfo, Waiting::*};

pub(super) static MUTEX_SPINNERS: Group = Group {
    name: "mutex_spinners",
    help: "the mutex of Linux 3.7 to 3.10: spinners that poll first, spinners that queue",
    locks: &[
        LockInfo::own("linux-mutex-baseline"),
        LockInfo::own("linux-mutex-patch1"),
        LockInfo::own("linux-mutex-patch1-and-2"),
        LockInfo::own("linux-mutex-no-spin"),
        LockInfo::own("mutex"),
    ],
    default: &["all"],
    reference: &["linux-mutex-baseline"],
};

pub(super) static RWSEM_STEALING: Group = Group {
    name: "rwsem_stealing",
    help: "rwsems of Linux 3.8: granted in order, and stolen",
    locks: &[
        LockInfo::own("rwsem-spinlock-fifo"),
        LockInfo::own("rwsem-spinlock-stealing"),
        LockInfo::own("rwsem-xadd-fifo"),
        LockInfo::own("rwsem-xadd-stealing"),
        LockInfo::own("rwsem-xadd-fast-stealing"),
        LockInfo::own("rwsem"),
    ],
    default: &["all"],
    reference: &["rwsem-spinlock-fifo"],
};

pub(super) static D_COUNT: Group = Group {
    name: "d_count",
    help: "dcache: the count of a dentry",
    locks: &[
        LockInfo::own("d-count-under-lock"),
        LockInfo::own("d-count-cmpxchg"),
        LockInfo::own("d-count-lockref"),
        LockInfo::count_under("ttas").ours(),
        LockInfo::own("lockref"),
    ],
    default: &["all"],
    reference: &["d-count-under-lock"],
};

pub(super) static RENAME_LOCK: Group = Group {
    name: "rename_lock",
    help: "dcache: the lock around renames, which every d_path takes",
    locks: &[
        LockInfo::own("rename-lock-exclusive"),
        LockInfo::own("rename-lock-seqrw"),
        LockInfo::shared::<Blocking>("seqrwlock-blocking", Sleeps, "our sequence lock, readers keep writers out")
            .ours(),
    ],
    default: &["all"],
    reference: &["rename-lock-exclusive"],
};

pub(super) static SPIN_BACKOFF: Group = Group {
    name: "spin_backoff",
    help: "the inode lock of Linux 2.4 on ia64: spinning, backing off, redesigned",
    locks: &[
        LockInfo::own("inode-lock-spin"),
        LockInfo::own("inode-lock-backoff"),
        LockInfo::own("inode-lock-rwsem"),
        LockInfo::own("rwsem"),
    ],
    default: &["all"],
    reference: &["inode-lock-spin"],
};

pub(super) static HANDOFF_SPIN: Group = Group {
    name: "handoff_spin",
    help: "OSv's mutex: without spinning, with it, and with the other techniques of its issue",
    locks: &[
        LockInfo::own("osv-mutex-no-spin"),
        LockInfo::own("osv-mutex-spin"),
        LockInfo::own("osv-mutex-spin-to-one"),
        LockInfo::own("osv-mutex-spin-polling"),
        LockInfo::own("osv-mutex-spin-after-push"),
        LockInfo::own("mutex"),
    ],
    default: &["all"],
    reference: &["osv-mutex-no-spin"],
};

pub(super) static RWLOCK: Group = Group {
    name: "rwlock",
    help: "the rwlock of that time, at the top of mutex_spinners' profile, and a later one",
    locks: &[LockInfo::own("biased-rwlock"), LockInfo::own("queued-rwlock")],
    default: &["all"],
    reference: &["biased-rwlock"],
};
