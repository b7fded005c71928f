//! The types of the locks that are not just ours of the catalogue: the peers, and ours in other shapes. What is said of
//! them is in `subjects.toml`.

use crate::adapt::counters::{Additions, Clones, Exchanges};
use crate::adapt::listed::{CountUnder, Sample};
use crate::adapt::monitors::{Pair, PthreadMonitor};
use crate::adapt::pthread::{PthreadMutex, PthreadRwLock};
use crate::adapt::seqlocks::{Blocking, With};
use crate::adapt::trees::{Holding, LockedTree, OurPaths, Ours, Table, Tmpfs, TmpfsPaths};
use crate::blind::Blind;
use crate::load::counted::{self, Locked};
use crate::load::exclusive::{self, Protected};
use crate::load::monitor::{self, Broadcast, Inside, Pattern, PingPong, Queue};
use crate::load::names::{self, Disjoint, Shared, Siblings, Whose};
use crate::load::shared::{self, Record};
use turnwise_vfs::locks::{Linux37, Linux310, Linux310Dcache, Linux312, Today};

/// Returns how our file system is measured in one of its three adapters, on the set of locks of this name.
macro_rules! on_each_set {
    ($adapter:ident, $whose:ty, $name:expr) => {
        match $name {
            "turnwise" => Some(names::sample::<$adapter<Today>, $whose> as Sample),
            "linux-3.7" => Some(names::sample::<$adapter<Linux37>, $whose> as Sample),
            "linux-3.10" => Some(names::sample::<$adapter<Linux310>, $whose> as Sample),
            "linux-3.10-dcache" => Some(names::sample::<$adapter<Linux310Dcache>, $whose> as Sample),
            "linux-3.12" => Some(names::sample::<$adapter<Linux312>, $whose> as Sample),
            _ => None,
        }
    };
}

/// Returns how a peer of this kind is measured; `None`: it is not built in, or a lock of the catalogue.
pub(super) fn sample(kind: &str, name: &'static str) -> Option<Sample> {
    match kind {
        "exclusive" => exclusive(name),
        "shared" => shared(name),
        "count" | "d_count" => count(name),
        "monitor.ping-pong" => monitor::<PingPong>(name),
        "monitor.queue" => monitor::<Queue>(name),
        "monitor.broadcast" => monitor::<Broadcast>(name),
        "tree.shared" => tree::<Shared>(name),
        "tree.siblings" => tree::<Siblings>(name),
        "tree.disjoint" => tree::<Disjoint>(name),
        "tree.held" => on_each_set!(Holding, Shared, name),
        "path.shared" => path::<Shared>(name),
        "path.disjoint" => path::<Disjoint>(name),
        _ => None,
    }
}

fn exclusive(name: &str) -> Option<Sample> {
    Some(match name {
        "mutex-blind" => exclusive::sample::<turnwise::Mutex<Protected, Blind>>,
        "std" => exclusive::sample::<std::sync::Mutex<Protected>>,
        "parking_lot" => exclusive::sample::<parking_lot::Mutex<Protected>>,
        #[cfg(feature = "parking_lot_0_12")]
        "parking_lot-0.12" => exclusive::sample::<parking_lot_0_12::Mutex<Protected>>,
        #[cfg(feature = "usync")]
        "usync" => exclusive::sample::<usync::Mutex<Protected>>,
        "pthread" => exclusive::sample::<PthreadMutex<Protected, false>>,
        "pthread-adaptive" => exclusive::sample::<PthreadMutex<Protected, true>>,
        "spin" => exclusive::sample::<spin::mutex::SpinMutex<Protected>>,
        "spin-ticket" => exclusive::sample::<spin::mutex::TicketMutex<Protected>>,
        _ => return None,
    })
}

fn shared(name: &str) -> Option<Sample> {
    Some(match name {
        "std" => shared::sample::<std::sync::RwLock<Record>>,
        "parking_lot" => shared::sample::<parking_lot::RwLock<Record>>,
        #[cfg(feature = "parking_lot_0_12")]
        "parking_lot-0.12" => shared::sample::<parking_lot_0_12::RwLock<Record>>,
        #[cfg(feature = "usync")]
        "usync" => shared::sample::<usync::RwLock<Record>>,
        "pthread" => shared::sample::<PthreadRwLock<false>>,
        "pthread-writers" => shared::sample::<PthreadRwLock<true>>,
        "spin" => shared::sample::<spin::RwLock<Record>>,
        "mutex" => shared::sample::<turnwise::Mutex<Record>>,
        "std-mutex" => shared::sample::<std::sync::Mutex<Record>>,
        "seqrwlock-with" => shared::sample::<With>,
        "seqrwlock-blocking" => shared::sample::<Blocking>,
        "seqlock" => shared::sample::<seqlock::SeqLock<Record>>,
        _ => return None,
    })
}

fn count(name: &'static str) -> Option<Sample> {
    Some(match name {
        "cmpxchg" => counted::sample::<Exchanges>,
        "atomic-add" => counted::sample::<Additions>,
        "arc" => counted::sample::<Clones>,
        "std-mutex" => counted::sample::<Locked<std::sync::Mutex<u64>>>,
        "spin" => counted::sample::<Locked<spin::mutex::SpinMutex<u64>>>,
        "mutex" | "ttas" | "ttas-backoff" | "ticket" | "ticket-backoff" | "queued" | "mcs" => {
            turnwise_catalogue::visit(name, CountUnder)
        }
        _ => return None,
    })
}

fn monitor<T: Pattern>(name: &str) -> Option<Sample> {
    type Turnwise<T> = Pair<turnwise::Mutex<T>, turnwise::Condvar>;
    type Std<T> = Pair<std::sync::Mutex<T>, std::sync::Condvar>;
    type ParkingLot<T> = Pair<parking_lot::Mutex<T>, parking_lot::Condvar>;
    Some(match name {
        "mutex" => monitor::sample::<Turnwise<Inside<T::State>>, T>,
        "std" => monitor::sample::<Std<Inside<T::State>>, T>,
        "parking_lot" => monitor::sample::<ParkingLot<Inside<T::State>>, T>,
        "pthread" => monitor::sample::<PthreadMonitor<Inside<T::State>>, T>,
        _ => return None,
    })
}

fn tree<W: Whose>(name: &str) -> Option<Sample> {
    Some(match name {
        "tmpfs" => names::sample::<Tmpfs, W>,
        "dashmap" => names::sample::<Table, W>,
        "rwlock-btree" => names::sample::<LockedTree, W>,
        _ => return on_each_set!(Ours, W, name),
    })
}

fn path<W: Whose>(name: &str) -> Option<Sample> {
    if name == "tmpfs" { Some(names::sample::<TmpfsPaths, W>) } else { on_each_set!(OurPaths, W, name) }
}
