//! The condition variable and its peers.

use super::{BASIC, Group, LockInfo, Scenario, Subject};
use crate::adapt::monitors::{Pair, PthreadMonitor};
use crate::load::monitor::{Broadcast, Inside, Pattern, PingPong, Queue};

/// The condition variable and its peers.
pub static SUBJECT: Subject = Subject {
    name: "condvar",
    help: "mutexes with condition variables",
    groups: &[&PING_PONG, &QUEUE, &BROADCAST],
    default: &["ping-pong", "queue", "broadcast"],
    scenarios: SCENARIOS,
    figures: &[BASIC, &["p50 wait", "p99 wait", "longest wait", "sleeps per op"]],
    comparisons: &[],
    plugged: None,
};

static PING_PONG: Group = Group::of("ping-pong", "two threads by turns", const { &locks::<PingPong>() });
static QUEUE: Group = Group::of("queue", "a queue with room for 64", const { &locks::<Queue>() });
static BROADCAST: Group =
    Group::of("broadcast", "one thread that notifies all others at once", const { &locks::<Broadcast>() });

type Ours<T> = Pair<turnwise::Mutex<T>, turnwise::Condvar>;
type Std<T> = Pair<std::sync::Mutex<T>, std::sync::Condvar>;
type ParkingLot<T> = Pair<parking_lot::Mutex<T>, parking_lot::Condvar>;

const fn locks<T: Pattern>() -> [LockInfo; 4] {
    [
        LockInfo::monitor::<Ours<Inside<T::State>>, T>("mutex", "our adaptive mutex and condition variable").ours(),
        LockInfo::monitor::<Std<Inside<T::State>>, T>("std", "std::sync::Mutex and Condvar"),
        LockInfo::monitor::<ParkingLot<Inside<T::State>>, T>("parking_lot", "parking_lot 0.13's Mutex and Condvar"),
        LockInfo::monitor::<PthreadMonitor<Inside<T::State>>, T>("pthread", "the C library's, by default"),
    ]
}

static SCENARIOS: &[Scenario] = &[
    Scenario::tight(&PING_PONG, "ping-pong-2", 2, "2 threads by turns").turns(),
    Scenario::tight(&QUEUE, "queue-1-1", 2, "1 thread puts in and 1 takes out").turns(),
    Scenario::tight(&QUEUE, "queue-4-4", 8, "4 threads put in and 4 take out").turns(),
    Scenario::tight(&BROADCAST, "broadcast-8", 9, "1 thread tells 8").turns(),
    Scenario::tight(&BROADCAST, "broadcast-32", 33, "1 thread tells 32").turns(),
];
