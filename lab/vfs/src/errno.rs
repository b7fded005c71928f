//! Errors, as POSIX numbers them.

pub use rustix::io::Errno;
