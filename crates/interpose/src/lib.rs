//! Code shared by the preload library and the recorder: both stand between a program and the C library's locks.
//!
//! None of this code allocates or waits for a lock of the program, and all of it works before the C library is ready
//! and before any constructor has run.
//!
//! | file | what |
//! |---|---|
//! | `../functions.rs`, `table.rs` | the functions that are exported and called, and the exports made of them |
//! | `../build.rs` | their versions, for the linker |
//! | `c.rs`, `c11.rs` | their types; C11's names for pthread's |
//! | `real.rs` | the functions of the next library |
//! | `tables.rs` | the same, where the loader cannot be used |
//! | `jump.rs` | exported functions that only jump, and pass on their return address |
//! | `exec.rs`, `c/exec.c` | exported functions that start programs |
//! | `sleep.rs`, `c/sleep.c` | exported functions in which threads sleep until others wake them, apart from those of locks |
//! | `filters.rs` | exported functions that install filters of system calls |
//! | `leaving.rs` | exported functions by which a process loses access to its files |
//! | `environment.rs` | variables as the kernel passed them |
//! | `module.rs` | which program or library an address belongs to |
//! | `identity.rs` | the identity of such a file |
//! | `frames/` | call stacks of the calling thread |
//! | `thread.rs` | per-thread variables |
//! | `text.rs` | texts made without allocating |
//! | `system.rs` | errno, files, memory and clocks, and a library's constructor |
#![no_std]

// The only error on other processors, and with other C libraries: all libraries loaded into programs need this crate.
#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!(
    "live views and what is loaded into programs (the preload library, the recorder) know glibc's objects on x86-64 \
     and aarch64 only; what works here are the locks: crate `turnwise`, and on 64 bits `turnwise-capi` with \
     `--no-default-features`"
);

#[macro_use]
mod table;
pub mod c;
pub mod c11;
mod environment;
mod exec;
mod filters;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod frames;
mod identity;
mod jump;
mod leaving;
mod module;
mod real;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod sleep;
mod system;
mod tables;
mod text;
mod thread;

pub use environment::{is_preloaded, race_checker, variable};
pub use filters::Filtering;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use frames::{caller_of, first_outside, registers, return_behind, stack, words};
pub use identity::{Identity, whole_name};
pub use module::{Module, can_find, each_module, find, find_quickly};
pub use real::next_function;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use sleep::{GAVE_UP, Sleep, SleepOps, WOKEN, find_program};
pub use system::{
    File, beginning, errno, keeping_errno, limit, nanoseconds, populate, program_path, store_bytes, zeroed,
};
pub use text::Text;
pub use thread::runs_in_memory_of_another;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use thread::thread_pointer;

/// Names that the macros' expansions use.
#[doc(hidden)]
pub use libc::{ENOSYS, SYS_futex, SYS_futex_waitv, SYS_prctl, SYS_seccomp, c_int, c_long};
