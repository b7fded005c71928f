//! The engine and the platform, from outside: what locks and workloads can see of the simulated machine.
//!
//! | file | what |
//! |---|---|
//! | `accesses.rs` | what accesses cost; coherence under random programs |
//! | `layout.rs` | which words share a line |
//! | `heap.rs` | objects that come and go |
//! | `store_buffer.rs` | stores that their CPU does not wait for |
//! | `time.rs` | no time is lost or made |
//! | `futex.rs`, `spinning.rs` | no notified thread sleeps or spins for ever |
//! | `scheduler.rs`, `preempt.rs` | which thread has which CPU, and when; sections without preemption |
//! | `runqueue.rs` | what sleeping and waking cost: lines and locks of run queues, deep idleness, where threads go |
//! | `determinism.rs`, `frames.rs` | a seed determines a run, wherever the host puts things |
//! | `stuck.rs` | runs in which no thread makes progress, and schedules that find them |
//! | `locks.rs` | every lock of the library in random schedules |

mod accesses;
mod determinism;
mod frames;
mod futex;
mod heap;
mod layout;
mod locks;
mod preempt;
mod runqueue;
mod scheduler;
mod spinning;
mod store_buffer;
mod stuck;
#[allow(unreachable_pub, reason = "other crates' tests use it, too")]
#[path = "../support/mod.rs"]
mod support;
mod time;
mod world;
