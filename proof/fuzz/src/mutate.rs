//! Damages bytes, the way that parsers fear: numbers at their limits, parts that are gone, twice there, or another's.

use fastrand::Rng;

/// Numbers at which widths, signs and sums break.
const ODD: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
    u64::MAX - 7,
    1 << 32,
];

/// No input grows beyond.
const MOST_BYTES: usize = 1 << 16;

/// Returns `bytes` with one to six changes; some of them take over a part of `other`.
pub fn mutated(random: &mut Rng, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.u32(1..=6) {
        change(random, &mut bytes, other);
    }
    bytes.truncate(MOST_BYTES);
    bytes
}

fn change(random: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = if bytes.is_empty() { 0 } else { random.usize(..bytes.len()) };
    match random.u32(..9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.u32(..8),
        1 if at < bytes.len() => bytes[at] = random.u8(..),
        2 | 3 => number(random, bytes, at),
        4 => bytes.truncate(at),
        5 => drop(bytes.drain(part(random, at, bytes.len()))),
        6 => {
            let again = bytes[part(random, at, bytes.len())].to_vec();
            let place = random.usize(..=bytes.len());
            bytes.splice(place..place, again);
        }
        7 if !other.is_empty() => {
            let from = random.usize(..other.len());
            let taken = other[part(random, from, other.len())].to_vec();
            let end = if random.bool() { at } else { bytes.len().min(at + taken.len()) };
            bytes.splice(at..end, taken);
        }
        _ => {
            let more: Vec<u8> = (0..random.usize(1..8)).map(|_| random.u8(..)).collect();
            bytes.splice(at..at, more);
        }
    }
}

/// A range of `0..len` that begins at `at`: short ones are likelier.
fn part(random: &mut Rng, at: usize, len: usize) -> std::ops::Range<usize> {
    let most = (len - at).min(1 << random.u32(1..10));
    at..at + random.usize(..=most)
}

/// Overwrites a number of 1, 2, 4 or 8 bytes, often at a place where numbers lie.
fn number(random: &mut Rng, bytes: &mut [u8], at: usize) {
    let width = 1 << random.u32(..4);
    let at = if random.bool() { at & !(width - 1) } else { at };
    let Some(place) = bytes.get_mut(at..at + width) else { return };
    let mut was = [0; 8];
    was[..width].copy_from_slice(place);
    let value = match random.u32(..4) {
        0 => u64::from_le_bytes(was).wrapping_add(random.u64(1..9)),
        1 => u64::from_le_bytes(was).wrapping_sub(random.u64(1..9)),
        2 => 1 << random.u32(..64),
        _ => ODD[random.usize(..ODD.len())],
    };
    place.copy_from_slice(&value.to_le_bytes()[..width]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_mutated_and_a_seed_does_it_again() {
        let all = |seed| {
            let mut random = Rng::with_seed(seed);
            let mut bytes = b"[[rule]]\nlock = \"libc\"".to_vec();
            (0..2000)
                .map(|_| {
                    bytes = mutated(&mut random, &bytes, b"other");
                    if bytes.len() > 100 {
                        bytes.clear();
                    }
                    bytes.clone()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
        assert!(all(3).iter().any(|bytes| bytes.windows(5).any(|part| part == b"other")));
    }
}
