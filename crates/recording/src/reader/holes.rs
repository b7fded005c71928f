//! Reads a file with holes. Parts that were never written take no memory either: a file of some pages may be 4 GB long.

use crate::layout::PAGE;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Reads `bytes` bytes from `start` on, and returns which parts of them were written.
pub(super) fn read(file: &File, start: u64, bytes: u64) -> io::Result<(Vec<u8>, Vec<Range<usize>>)> {
    // Offsets and sizes have the width of a pointer, minus a bit.
    let (end, limit) = (start + bytes, isize::MAX as u64);
    let Some(room) = usize::try_from(bytes).ok().filter(|_| end <= limit) else {
        let why = format!("it is {end} bytes long, and this program reads no more than {limit}: read it on 64 bits");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    };
    // Untouched zeros take no memory.
    let mut all = vec![0; room];
    let mut parts = Vec::new();
    let mut at = start;
    while at < end {
        let Some(data) = seek(file, SeekFrom::Data(at))?.filter(|data| *data < end) else { break };
        let hole = seek(file, SeekFrom::Hole(data))?.unwrap_or(end).clamp(data + 1, end);
        let part = (data - start) as usize..(hole - start) as usize;
        file.read_exact_at(&mut all[part.clone()], data)?;
        parts.push(part);
        at = hole;
    }
    Ok((all, parts))
}

/// Finds the next data or hole; `None`: there is none up to the end of the file.
fn seek(file: &File, to: SeekFrom) -> io::Result<Option<u64>> {
    match (rustix::fs::seek(file, to), to) {
        (Ok(found), _) => Ok(Some(found)),
        // The file system does not support holes: all is data.
        (Err(Errno::INVAL), SeekFrom::Data(from)) => Ok(Some(from)),
        (Err(Errno::NXIO | Errno::INVAL), _) => Ok(None),
        (Err(errno), _) => Err(errno.into()),
    }
}

/// Returns the first page from `at` on with data in it, or a place after all.
pub(super) fn next(parts: &[Range<usize>], at: usize) -> usize {
    let part = parts.partition_point(|part| part.end <= at);
    parts.get(part).map_or(usize::MAX, |part| at.max(part.start & !(PAGE as usize - 1)))
}

/// Returns where the part that contains `at` ends; `at` itself if there is none.
pub(super) fn end(parts: &[Range<usize>], at: usize) -> usize {
    let part = parts.partition_point(|part| part.end <= at);
    parts.get(part).filter(|part| part.contains(&at)).map_or(at, |part| part.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = if cfg!(target_pointer_width = "64") { 1 << 30 } else { 1 << 28 };

    #[test]
    fn holes_are_zeros_and_take_no_time() {
        let path = std::env::temp_dir().join(format!("turnwise-holes-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.set_len(4 * GIB).unwrap();
        file.write_all_at(b"near", PAGE + 8).unwrap();
        file.write_all_at(b"far", 3 * GIB + 5 * PAGE).unwrap();
        let (bytes, parts) = read(&file, PAGE, 4 * GIB - PAGE).unwrap();
        let far = (3 * GIB + 4 * PAGE) as usize;
        assert_eq!((&bytes[8..12], &bytes[far..far + 3]), (&b"near"[..], &b"far"[..]));
        assert_eq!((next(&parts, 0), next(&parts, 1), end(&parts, far)), (0, 1, parts[parts.len() - 1].end));
        // Not on file systems without holes.
        if parts.len() == 2 {
            let here = PAGE as usize;
            assert!(next(&parts, here * 512) <= far && next(&parts, far + here * 512) == usize::MAX);
            assert_eq!(end(&parts, here * 512), here * 512);
        }
    }

    #[test]
    fn what_has_no_room_in_memory_is_refused() {
        let file = File::open("/dev/null").unwrap();
        let refused = read(&file, PAGE, isize::MAX as u64).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        assert!(
            refused.to_string().starts_with(&format!("it is {} bytes long", isize::MAX as u64 + PAGE)),
            "{refused}"
        );
    }
}
