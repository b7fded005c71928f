//! The cost of the kernel's code without its locks, in nanoseconds on a CPU of about 2.5 GHz of 2011.
//!
//! These are estimates from the known times of such system calls (provisional; none is fitted to a published row).
//! Where a paper's row depends on one of them, the report of `turnwise-lab reproduce` states it. They are charged only
//! in the simulator: on metal the work itself is done, or there is none.

/// A system call that does nothing.
pub const CALL: u32 = 60;
/// Giving out a process number.
pub const PID: u32 = 40;
/// Linking a task into the list, or out of it.
pub const TASK_LIST: u32 = 150;
/// The rest of a fork: copying the task and its tables.
pub const FORK: u32 = 40_000;
/// The rest of an exit and of the wait for it.
pub const EXIT: u32 = 25_000;
/// The rest of an exec: reading the program, setting up its memory.
pub const EXEC: u32 = 120_000;
/// Mapping one part of a program.
pub const MAP: u32 = 1500;
/// Copying one area of memory in a fork.
pub const COPY_AREA: u32 = 600;
/// Linking an area into a tree of `anon_vma`, or out of it.
pub const LINK_AREA: u32 = 60;
/// Changing the end of a process' memory.
pub const BREAK: u32 = 350;
/// A page fault: clearing a page and mapping it.
pub const FAULT: u32 = 500;
/// Taking a batch of pages from a zone.
pub const ZONE_BATCH: u32 = 400;
/// Taking two pages at once from a zone, or giving them back.
pub const ZONE_BLOCK: u32 = 60;
/// Putting the top table of a process on the list of all, or taking it off.
pub const PGD_LIST: u32 = 40;
/// Queueing a signal, or taking it off the queue.
pub const SIGNAL: u32 = 80;
/// Entering and leaving a handler.
pub const HANDLER: u32 = 700;
/// Making or removing an entry of a table of semaphores or shared memory.
pub const IPC_TABLE: u32 = 900;
/// An operation on a semaphore.
pub const SEMAPHORE: u32 = 120;
/// Making a pipe or a socket, without what it shares.
pub const CHANNEL: u32 = 2500;
/// Binding a port.
pub const PORT: u32 = 120;
/// Passing a message on, without copying it.
pub const MESSAGE: u32 = 250;
/// Passing a message on through the network's layers, there and back.
pub const NETWORK: u32 = 2500;
/// Looking up a user, a group or a terminal in the program's own tables.
pub const NAME_SERVICE: u32 = 3000;
