//! Large files with holes as short inputs: what is written where.
//!
//! An input is a list of patches: the place (8 bytes), the length (2 bytes), the bytes. What is cut off at its end
//! counts as it is; so nearly every input is a file.

const HEAD: usize = 10;
/// Longer parts are cut into patches of this length.
const MOST: usize = u16::MAX as usize;

/// Returns the patches of an input: place and bytes.
pub fn read(mut input: &[u8]) -> Vec<(u64, &[u8])> {
    let mut patches = Vec::new();
    while let Some((head, rest)) = input.split_first_chunk::<HEAD>() {
        let [place @ .., low, high] = *head;
        let length = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        patches.push((u64::from_le_bytes(place), &rest[..length]));
        input = &rest[length..];
    }
    patches
}

/// Appends patches that write `bytes` at `place`, leaving out what is zero in between.
pub fn write(input: &mut Vec<u8>, place: u64, bytes: &[u8]) {
    /// Shorter runs of zeros stay.
    const HOLE: usize = 24;
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(|byte| *byte != 0) {
        let start = at + start;
        let part = &bytes[start..];
        let end = part.windows(HOLE).position(|window| window.iter().all(|byte| *byte == 0));
        let end = end.unwrap_or_else(|| part.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)).min(MOST);
        input.extend((place + start as u64).to_le_bytes());
        input.extend((end as u16).to_le_bytes());
        input.extend(&part[..end]);
        at = start + end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = vec![0; 300_000];
        bytes[5..9].copy_from_slice(b"abcd");
        bytes[100..70_000].fill(7);
        bytes[299_999] = 1;
        let mut input = Vec::new();
        write(&mut input, 1000, &bytes);
        let mut again = vec![0; 301_000];
        for (place, patch) in read(&input) {
            again[place as usize..][..patch.len()].copy_from_slice(patch);
        }
        assert!(again[1000..] == bytes && again[..1000].iter().all(|byte| *byte == 0));
        assert_eq!(read(&input).len(), 4, "the hole is left out, the long part is cut");
        assert_eq!(read(&input[..HEAD + 2]), [(1005, &b"ab"[..])]);
    }
}
