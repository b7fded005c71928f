//! One component of a path: where it ends, and its hash, in one go over its bytes, eight at a time.
//!
//! The hash is a chain of folded multiplications (the two halves of a 128-bit product, exclusive-or), seeded per file
//! system and by the directory, so that equal names in different directories lie in different chains. It needs no
//! secret strength: who makes long chains slows down only the file system that is his own.

/// Odd constants without a pattern: the fractional parts of pi and e.
const K1: u64 = 0x243f_6a88_85a3_08d3;
const K2: u64 = 0xb7e1_5162_8aed_2a6b;

const fn fold(value: u64) -> u64 {
    let product = value as u128 * K1 as u128;
    product as u64 ^ (product >> 64) as u64
}

/// The first component of `path`, which does not begin with a slash: its length, and its hash in a directory with this
/// number.
#[inline]
pub(crate) fn component(seed: u64, directory: u64, path: &[u8]) -> (usize, u64) {
    let mut hash = seed ^ directory.wrapping_mul(K2);
    let mut len = 0;
    loop {
        let (word, bytes) = load(&path[len..]);
        let slash = first_slash(word).min(bytes);
        if slash == 8 {
            hash = fold(hash ^ word);
            len += 8;
            continue;
        }
        let part = word & ((1 << (8 * slash)) - 1);
        len += slash;
        return (len, fold(fold(hash ^ part) ^ len as u64));
    }
}

/// Up to eight bytes, the first one lowest, zeros behind the end; and how many there are.
#[inline(always)]
fn load(bytes: &[u8]) -> (u64, usize) {
    if let Some(eight) = bytes.first_chunk::<8>() {
        return (u64::from_le_bytes(*eight), 8);
    }
    let mut word = [0; 8];
    let (mut at, mut rest) = (0, bytes);
    if let Some((four, more)) = rest.split_first_chunk::<4>() {
        word[..4].copy_from_slice(four);
        (at, rest) = (4, more);
    }
    for byte in rest {
        word[at] = *byte;
        at += 1;
    }
    (u64::from_le_bytes(word), at)
}

/// The number of bytes before the first slash; 8: none.
#[inline(always)]
const fn first_slash(word: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zero_where_slash = word ^ (ONES * b'/' as u64);
    let found = zero_where_slash.wrapping_sub(ONES) & !zero_where_slash & (ONES * 0x80);
    (found.trailing_zeros() / 8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_ends_at_the_slash_and_hashes_alike_wherever_it_stands() {
        for len in 1..40 {
            let all = vec![b'a' + (len % 26) as u8; len];
            let alone = component(7, 3, &all);
            assert_eq!(alone.0, len);
            for tail in ["/", "/x", "/and/more/of/it"] {
                let path = [&all[..], tail.as_bytes()].concat();
                assert_eq!(component(7, 3, &path), alone, "{len} {tail}");
            }
        }
    }

    #[test]
    fn seed_directory_and_every_byte_count() {
        let hash = |seed, directory, path: &str| component(seed, directory, path.as_bytes()).1;
        let all = [
            hash(1, 1, "abcdefghi"),
            hash(0x7700, 1, "abcdefghi"),
            hash(1, 2, "abcdefghi"),
            hash(1, 1, "abcdefghj"),
            hash(1, 1, "bbcdefghi"),
            hash(1, 1, "abcdefgh"),
            hash(1, 1, "abcdefgh\0"),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
    }

    #[test]
    fn numbered_names_spread_over_the_chains() {
        let mut chains = vec![0_u32; 1 << 10];
        for number in 0..1 << 12 {
            chains[(component(9, 4, format!("file{number}").as_bytes()).1 >> 54) as usize] += 1;
        }
        assert!(chains.iter().all(|len| *len < 20), "{:?}", chains.iter().max());
    }
}
