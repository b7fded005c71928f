//! A file with holes, in memory, as an input's patches say.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use turnwise_fuzz::patches;

pub(crate) struct Sparse {
    file: File,
}

impl Sparse {
    /// Of this length, or of the one that a patch behind its end asks for: so files are cut short, too.
    pub(crate) fn new(length: u64, input: &[u8]) -> Sparse {
        let made = rustix::fs::memfd_create("fuzz", rustix::fs::MemfdFlags::CLOEXEC).expect("a file in memory");
        // SAFETY: the descriptor was just made, and is ours alone.
        let file = unsafe { File::from_raw_fd(made.into_raw_fd()) };
        let mut length = length;
        let all = patches::read(input);
        for (place, bytes) in &all {
            match place.checked_add(bytes.len() as u64) {
                Some(end) if end <= length => file.write_all_at(bytes, *place).expect("there is room"),
                _ => length = place % (length + 1),
            }
        }
        file.set_len(length).expect("there is room");
        Sparse { file }
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}
