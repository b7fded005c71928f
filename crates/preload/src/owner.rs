//! A thread's identity for mutexes that must know their owner: its thread pointer.
//!
//! Unlike turnwise's tokens it is never shared; unlike a thread id it costs no system call and stays the same in a
//! forked child, so a child handler can release what the parent's thread took. No two threads that live at the same
//! time share it. If a thread exits with a mutex locked, the thread that reuses its memory becomes the owner; POSIX
//! leaves that case undefined.

pub(crate) use turnwise_interpose::thread_pointer as current;
