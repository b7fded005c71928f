//! Conversion between the file system's values and those of the FUSE protocol.

use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use turnwise_vfs::errno::Errno;
use turnwise_vfs::inode::{Kind, PAGE_BYTES, SetTime, Stat};

/// Returns it as the kernel expects it.
pub(super) fn errno(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error.raw_os_error())
}

/// Returns what `stat` reports.
pub(super) fn attributes(stat: &Stat) -> FileAttr {
    FileAttr {
        ino: INodeNo(stat.number),
        size: stat.size,
        blocks: stat.blocks,
        atime: time(stat.accessed),
        mtime: time(stat.modified),
        ctime: time(stat.changed),
        crtime: UNIX_EPOCH,
        kind: file_type(stat.kind),
        perm: stat.permissions as u16,
        nlink: stat.links,
        uid: stat.uid,
        gid: stat.gid,
        rdev: stat.device as u32,
        blksize: PAGE_BYTES as u32,
        flags: 0,
    }
}

/// Returns a negative entry, which the kernel may cache: inode number 0.
pub(super) fn nothing() -> FileAttr {
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

/// Returns the kind of a directory entry.
pub(super) fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::CharDevice => FileType::CharDevice,
        Kind::BlockDevice => FileType::BlockDevice,
    }
}

/// Nanoseconds since 1970 as a time.
fn time(ns: i64) -> SystemTime {
    let distance = Duration::from_nanos(ns.unsigned_abs());
    if ns < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// Converts a time from a request to nanoseconds since 1970; beyond the years 1677 to 2262, the nearest possible.
///
/// `fuser` 0.18 subtracts the nanoseconds of a time before 1970, which the kernel means to be added: -2 s and 0.3 s are
/// -1.7 s, and arrive as -2.3 s. This undoes it.
pub(super) fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).ok().and_then(|seconds| seconds.checked_mul(1_000_000_000));
            seconds.map_or(i64::MIN, |ns| i64::from(before.subsec_nanos()) - ns)
        }
    }
}

/// Returns a time that shall be set.
pub(super) fn set_time(time: TimeOrNow) -> SetTime {
    match time {
        TimeOrNow::Now => SetTime::Now,
        TimeOrNow::SpecificTime(time) => SetTime::At(nanoseconds(time)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_there_and_back() {
        for ns in [0, 1, 1_700_000_000_123_456_789, i64::MAX, -1_000_000_000, -86_400_000_000_000] {
            assert_eq!(nanoseconds(time(ns)), ns);
        }
    }

    #[test]
    fn times_before_1970_arrive_as_the_kernel_meant_them() {
        let garbled = UNIX_EPOCH - Duration::new(2, 300_000_000);
        assert_eq!(nanoseconds(garbled), -1_700_000_000);
        assert_eq!(nanoseconds(UNIX_EPOCH - Duration::from_secs(1 << 40)), i64::MIN);
    }
}
