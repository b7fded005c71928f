//! One component of a path: where it ends, and its hash, in one go over its bytes, eight at a time.
//!
//! The hash is a chain of folded multiplications (the two halves of a 128-bit product, exclusive-or), seeded per file
//! system and by the directory, so that equal names in different directories lie in different chains. It needs no
//! cryptographic strength: a user who makes long chains slows down only his own file system.

/// Odd constants without a pattern: the fractional parts of pi and e.
const K1: u64 = 0x243f_6a88_85a3_08d3;
const K2: u64 = 0xb7e1_5162_8aed_2a6b;

#[inline(always)]
const fn fold(value: u64) -> u64 {
    let product = value as u128 * K1 as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Returns the first component of `path`, which does not begin with a slash: its length, and its hash in a directory
/// with this number. (Of a component that is too long for a name, the hash means nothing.)
#[inline(always)]
pub(crate) fn component(seed: u64, directory: u64, path: &[u8]) -> (usize, u64) {
    let mut hash = seed ^ directory.wrapping_mul(K2);
    let mut rest = path;
    while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let slashes = slashes(word);
        if slashes != 0 {
            return end(hash, path.len() - rest.len(), word, slashes);
        }
        hash = fold(hash ^ word);
        rest = behind;
    }
    // A slash behind the end, where there are zeros, saves a case.
    let word = last_word(path, rest) | u64::from(b'/') << (8 * rest.len());
    end(hash, path.len() - rest.len(), word, slashes(word))
}

/// Ends the component in `word`, before the first of the slashes in it. `whole` bytes came before. The last part has
/// seven bytes at most, so that the length has room in the eighth.
#[inline(always)]
const fn end(hash: u64, whole: usize, word: u64, slashes: u64) -> (usize, u64) {
    let first = slashes & slashes.wrapping_neg();
    let part = word & ((first >> 7) - 1);
    let len = whole + (first.trailing_zeros() / 8) as usize;
    (len, fold(hash ^ part ^ ((len as u64) << 56)))
}

/// Returns the bytes of `rest`, fewer than eight, with which `path` ends; zeros behind.
#[inline(always)]
fn last_word(path: &[u8], rest: &[u8]) -> u64 {
    match path.last_chunk::<8>() {
        Some(_) if rest.is_empty() => 0,
        Some(eight) => u64::from_le_bytes(*eight) >> (8 * (8 - rest.len())),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Returns the top bit of each byte that is a slash. Above the lowest one there may be false ones.
#[inline(always)]
const fn slashes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zero_where_slash = word ^ (ONES * b'/' as u64);
    zero_where_slash.wrapping_sub(ONES) & !zero_where_slash & (ONES * 0x80)
}

/// Compares two names eight bytes at a time, since a call of the C library takes longer than most names.
#[inline(always)]
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(x), Some(y)) => x == y && a.chunks_exact(8).zip(b.chunks_exact(8)).all(|(x, y)| x == y),
        _ => a.iter().zip(b).all(|(x, y)| x == y),
    }
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
    fn names_are_the_same_when_all_bytes_are() {
        let name: Vec<u8> = (0..30).collect();
        for len in 0..30 {
            assert!(same(&name[..len], &name[..len]) && !same(&name[..len], &name[..len + 1]));
            for at in 0..len {
                let mut other = name[..len].to_vec();
                other[at] ^= 1;
                assert!(!same(&name[..len], &other));
            }
        }
    }

    #[test]
    fn numbered_names_spread_over_the_chains() {
        let mut chains = vec![0_u32; 1 << 10];
        for number in 0..if cfg!(miri) { 1 << 6 } else { 1 << 12 } {
            chains[(component(9, 4, format!("file{number}").as_bytes()).1 >> 54) as usize] += 1;
        }
        assert!(chains.iter().all(|len| *len < 20), "{:?}", chains.iter().max());
    }
}
