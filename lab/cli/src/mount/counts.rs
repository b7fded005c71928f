//! Counts of the kernel's requests, by operation.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! operations {
    ($($name:ident = $text:literal,)*) => {
        /// The operations that the kernel may request.
        #[derive(Clone, Copy)]
        pub(super) enum Operation {
            $($name,)*
        }

        const NAMES: &[&str] = &[$($text,)*];
    };
}

operations! {
    Lookup = "lookup",
    Forget = "forget",
    GetAttributes = "getattr",
    SetAttributes = "setattr",
    ReadLink = "readlink",
    MakeNode = "mknod",
    MakeDirectory = "mkdir",
    Unlink = "unlink",
    RemoveDirectory = "rmdir",
    Symlink = "symlink",
    Rename = "rename",
    Link = "link",
    Create = "create",
    Open = "open",
    Read = "read",
    Write = "write",
    Flush = "flush",
    Release = "release",
    Sync = "fsync",
    OpenDirectory = "opendir",
    ReadDirectory = "readdir",
    ReadDirectoryPlus = "readdirplus",
    ReleaseDirectory = "releasedir",
    StatFs = "statfs",
    Allocate = "fallocate",
    Seek = "lseek",
    CopyRange = "copy_file_range",
}

/// One counter for each.
pub(super) struct Counts {
    operations: [AtomicU64; NAMES.len()],
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
}

impl Counts {
    pub(super) fn new() -> Self {
        Counts {
            operations: std::array::from_fn(|_| AtomicU64::new(0)),
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
        }
    }

    pub(super) fn add(&self, operation: Operation) {
        self.operations[operation as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn read(&self, bytes: usize) {
        self.bytes_read.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn written(&self, bytes: usize) {
        self.bytes_written.fetch_add(bytes as u64, Relaxed);
    }

    /// Renders one line for each operation that happened.
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        for (name, count) in NAMES.iter().zip(&self.operations) {
            let count = count.load(Relaxed);
            if count > 0 {
                _ = writeln!(text, "  {name:<16} {count:>12}");
            }
        }
        let (read, written) = (self.bytes_read.load(Relaxed), self.bytes_written.load(Relaxed));
        _ = writeln!(text, "  {:<16} {read:>12}\n  {:<16} {written:>12}", "bytes read", "bytes written");
        text
    }
}
