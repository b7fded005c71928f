//! Recognises a module (a program or shared object) both in its file and in memory, by the bytes that both have: its
//! ELF header, its program headers and its build-id. Not every compiler writes a build-id; but the ELF header has the
//! offset of the section headers, which moves with nearly every change of the file.

const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
/// A limit on the program headers, above what any linker makes; it bounds reads of damaged memory.
const PROGRAM_HEADERS_MAX: usize = 64;
const NOTE: u32 = 4;
const NOTES_MAX_BYTES: usize = 4096;
const BUILD_ID: u32 = 3;

/// The position of a module's number in an address.
const NUMBER_SHIFT: u32 = 48;
/// The largest number: which of the modules was meant is unknown.
pub const UNKNOWN_MODULE: u64 = 255;

/// Returns an address at which several modules were loaded in turn, with the number of one of them: how many were
/// unloaded there before. That is 0 where none was unloaded, so the address is unchanged. The byte above the number
/// stays as it is.
#[must_use]
pub const fn numbered(address: u64, number: u64) -> u64 {
    let number = if number < UNKNOWN_MODULE { number } else { UNKNOWN_MODULE };
    if number == 0 { address } else { address & !(UNKNOWN_MODULE << NUMBER_SHIFT) | number << NUMBER_SHIFT }
}

/// Returns the address without the number of its module, and without what is above.
#[must_use]
pub const fn unnumbered(address: u64) -> u64 {
    address & ((1 << NUMBER_SHIFT) - 1)
}

/// The source of a module's bytes: its file, or memory.
pub trait Image {
    /// Returns the bytes at an offset of the file, or in memory those loaded from there. `None`: there are none.
    fn at_offset(&self, offset: u64, length: usize) -> Option<&[u8]>;
    /// Returns the bytes at an address that the file gives. `None`: there are none.
    fn at_address(&self, address: u64, offset: u64, length: usize) -> Option<&[u8]>;
}

/// Returns a hash that distinguishes modules; `None`: not a 64-bit ELF file of this machine's byte order.
pub fn fingerprint(image: &impl Image) -> Option<u64> {
    let header = image.at_offset(0, HEADER_BYTES)?;
    const CLASS_64: u8 = 2;
    const ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };
    if header.get(..6)? != [0x7f, b'E', b'L', b'F', CLASS_64, ORDER] {
        return None;
    }
    let count = usize::from(u16::from_ne_bytes(*header.get(56..)?.first_chunk()?));
    if u16::from_ne_bytes(*header.get(54..)?.first_chunk()?) as usize != PROGRAM_HEADER_BYTES
        || count > PROGRAM_HEADERS_MAX
    {
        return None;
    }
    let programs = image.at_offset(u64_at(header, 32)?, count * PROGRAM_HEADER_BYTES)?;
    let mut hash = mix(mix(0, header), programs);
    for program in programs.chunks_exact(PROGRAM_HEADER_BYTES) {
        if u32::from_ne_bytes(*program.first_chunk()?) != NOTE {
            continue;
        }
        let length = usize::try_from(u64_at(program, 32)?).ok()?.min(NOTES_MAX_BYTES);
        let alignment = u64_at(program, 48)?;
        let notes = image.at_address(u64_at(program, 16)?, u64_at(program, 8)?, length);
        if let Some(id) = notes.and_then(|notes| build_id(notes, alignment as usize)) {
            hash = mix(hash, id);
        }
    }
    Some(hash)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Finds the build-id in a segment of notes of this alignment.
pub fn build_id(mut notes: &[u8], alignment: usize) -> Option<&[u8]> {
    let alignment = if alignment == 8 { 8 } else { 4 };
    loop {
        let number = |at: usize| Some(u32::from_ne_bytes(*notes.get(at..)?.first_chunk()?) as usize);
        let (name, content, kind) = (number(0)?, number(4)?, number(8)?);
        let start = 12_usize.checked_add(name)?.checked_next_multiple_of(alignment)?;
        let end = start.checked_add(content)?;
        if kind == BUILD_ID as usize && notes.get(12..16) == Some(b"GNU\0") && name == 4 {
            return notes.get(start..end);
        }
        notes = notes.get(end.checked_next_multiple_of(alignment)?..)?;
    }
}

/// Hashes bytes, eight at a time, since it is computed again for each lock. It need not resist deliberate collisions.
fn mix(mut hash: u64, bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = (hash.rotate_left(23) ^ u64::from_ne_bytes(*word)).wrapping_mul(FACTOR);
    }
    rest.iter().fold(hash, |hash, byte| (hash.rotate_left(23) ^ u64::from(*byte)).wrapping_mul(FACTOR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    struct Bytes(Vec<u8>);

    impl Image for Bytes {
        fn at_offset(&self, offset: u64, length: usize) -> Option<&[u8]> {
            self.0.get(offset as usize..)?.get(..length)
        }

        fn at_address(&self, _: u64, offset: u64, length: usize) -> Option<&[u8]> {
            self.at_offset(offset, length)
        }
    }

    /// Makes a file of one note segment, with this build-id.
    fn file(id: &[u8; 4]) -> Bytes {
        let mut bytes = vec![0; HEADER_BYTES + PROGRAM_HEADER_BYTES];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        bytes[32] = HEADER_BYTES as u8;
        bytes[54] = PROGRAM_HEADER_BYTES as u8;
        bytes[56] = 1;
        let segment = &mut bytes[HEADER_BYTES..];
        segment[0] = NOTE as u8;
        segment[8] = (HEADER_BYTES + PROGRAM_HEADER_BYTES) as u8;
        segment[32] = 20;
        segment[48] = 4;
        for number in [4_u32, 4, BUILD_ID] {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
        bytes.extend_from_slice(b"GNU\0");
        bytes.extend_from_slice(id);
        Bytes(bytes)
    }

    #[test]
    fn build_ids_tell_files_apart() {
        let print = fingerprint(&file(b"abcd"));
        assert!(print.is_some());
        assert_eq!(print, fingerprint(&file(b"abcd")));
        assert_ne!(print, fingerprint(&file(b"abce")));
    }

    #[test]
    fn the_header_tells_files_apart() {
        let mut other = file(b"abcd");
        other.0[40] = 1;
        assert_ne!(fingerprint(&file(b"abcd")), fingerprint(&other));
    }

    #[test]
    fn damaged_files_have_none_or_any() {
        let whole = file(b"abcd").0;
        for length in 0..HEADER_BYTES + PROGRAM_HEADER_BYTES {
            assert_eq!(fingerprint(&Bytes(whole[..length].to_vec())), None);
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] = 0xff;
            fingerprint(&Bytes(changed));
        }
    }
}
