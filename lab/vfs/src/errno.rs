//! What went wrong, as POSIX numbers it.

pub use rustix::io::Errno;
