//! What is measured: one kind of operation on many files, through the system's own interface.

use anyhow::Result;
use rustix::fs::{Mode, OFlags, open, stat, unlink};
use std::ffi::CString;
use std::path::Path;
use std::time::Instant;

/// The operations, in the order in which a round does them.
pub(crate) const OPERATIONS: [&str; 6] = ["create", "write", "stat", "open", "read", "unlink"];

/// Bytes of a read and a write.
const BYTES: usize = 4096;

/// Does each operation on every one of `files` files in a new directory; returns seconds for each of [`OPERATIONS`].
pub(crate) fn round(mount: &Path, files: usize) -> Result<[f64; OPERATIONS.len()]> {
    let directory = mount.join("round");
    std::fs::create_dir_all(&directory)?;
    let path = |file: usize| CString::new(format!("{}/{file}", directory.display()));
    let paths = (0..files).map(path).collect::<Result<Vec<_>, _>>()?;
    // The kernel reads past its page cache only into memory that suits a disk.
    let mut buffer = Aligned([0; BYTES]);
    let mut seconds = [0.0; OPERATIONS.len()];
    for (number, operation) in OPERATIONS.iter().enumerate() {
        let start = Instant::now();
        for path in &paths {
            match *operation {
                "create" => drop(open(path, OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY, Mode::RUSR | Mode::WUSR)?),
                "stat" => drop(stat(path)?),
                "open" => drop(open(path, OFlags::RDONLY, Mode::empty())?),
                "unlink" => unlink(path)?,
                _ => {}
            }
        }
        seconds[number] = match *operation {
            "write" | "read" => transfers(&paths[0], *operation == "write", files, &mut buffer)?,
            _ => start.elapsed().as_secs_f64(),
        };
    }
    Ok(seconds)
}

#[repr(align(4096))]
struct Aligned([u8; BYTES]);

/// Does this many reads or writes of one open file, past the kernel's page cache.
fn transfers(path: &CString, write: bool, count: usize, buffer: &mut Aligned) -> Result<f64> {
    let file = open(path, OFlags::RDWR | OFlags::DIRECT, Mode::empty())?;
    let start = Instant::now();
    for _ in 0..count {
        let bytes =
            if write { rustix::io::pwrite(&file, &buffer.0, 0)? } else { rustix::io::pread(&file, &mut buffer.0, 0)? };
        anyhow::ensure!(bytes == BYTES, "a transfer of {bytes} bytes");
    }
    Ok(start.elapsed().as_secs_f64())
}
