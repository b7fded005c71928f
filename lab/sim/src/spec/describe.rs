//! A machine for people, as numbers with their sources; and as a fingerprint.

use super::{ByClass, Class, Machine, Ps, Topology};

/// One number of a machine, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Number<'a> {
    /// Its key in the file.
    pub key: &'a str,
    /// The number, times in nanoseconds.
    pub text: &'a str,
    /// Where it comes from.
    pub source: &'a str,
    /// Whether it is recalled or guessed.
    pub provisional: bool,
}

/// A number that the engine uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its key in the file.
    pub(super) key: String,
    /// The number as people read it.
    pub(super) text: String,
    /// The number itself, for the fingerprint.
    pub(super) bits: Vec<u64>,
}

/// Returns times by distance as people read them, from the nearest distance of them on.
pub(super) fn times(times: &ByClass, topology: &Topology, nearest: Class) -> String {
    let exists = |class: Class| match class {
        Class::SAME_CORE => topology.threads_per_core > 1,
        Class::SAME_CLUSTER => topology.clusters_per_node > 1,
        _ => true,
    };
    let shown = |(class, time): (Class, &Ps)| {
        (exists(class) && class >= nearest).then(|| format!("{} {}", class.name(), ns(*time)))
    };
    let text: Vec<String> = (0..).map(Class).zip(&times.0).filter_map(shown).collect();
    format!("{} ns", text.join(", "))
}

/// Formats picoseconds as nanoseconds, with all their decimals.
pub(super) fn ns(time: Ps) -> String {
    let (whole, rest) = (time / super::NS, time % super::NS);
    let text = format!("{whole}.{rest:03}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Machine {
    /// Returns the keys of the numbers that are recalled or guessed, in the order of the file.
    #[must_use]
    pub fn provisional(&self) -> Vec<&str> {
        self.sources.iter().filter(|source| source.provisional).map(|source| source.key.as_str()).collect()
    }

    /// Returns a hash of all numbers, 16 hexadecimal digits: the same on every host, with every compiler, for files
    /// that differ in names, sources, units and comments only. It is of the file as it was read: later changes of
    /// fields are not in it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let bytes = self.entries.iter().flat_map(|Entry { key, bits, .. }| {
            let numbers = std::iter::once(bits.len() as u64).chain(bits.iter().copied());
            key.bytes().chain(numbers.flat_map(u64::to_le_bytes))
        });
        format!("{:016x}", fnv(bytes))
    }

    /// Returns every number with its source, in the order of the file.
    pub fn numbers(&self) -> impl Iterator<Item = Number<'_>> {
        self.entries.iter().map(|Entry { key, text, .. }| {
            let (source, provisional) = self.source_of(key).map_or(("", false), |of| (&of.source, of.provisional));
            Number { key, text, source, provisional }
        })
    }

    fn source_of(&self, key: &str) -> Option<&super::Source> {
        let exact = self.sources.iter().find(|source| source.key == key);
        let group = key.split('.').next().unwrap_or(key);
        exact.or_else(|| self.sources.iter().find(|source| source.key == group))
    }
}

/// FNV-1a, 64 bits. Fingerprints are compared across programs and years, which std's hasher does not guarantee; they
/// are not forged, so that a cryptographic hash would be a needless dependency.
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{fnv, ns};

    #[test]
    fn hashes_as_published() {
        // Vectors of draft-eastlake-fnv, appendix C.
        for (text, expected) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(fnv(text.bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn nanoseconds_have_as_many_decimals_as_needed() {
        assert_eq!([0, 5, 1000, 9390, 100_000].map(ns), ["0", "0.005", "1", "9.39", "100"]);
    }
}
