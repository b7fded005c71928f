//! Where the CPUs' time went in an interval, by function.

use super::functions;
use super::report::ProfileRow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use turnwise_sim::spec::Ps;
use turnwise_sim::{Kind, ProfileEntry};

/// What a function did of one kind.
#[derive(Default)]
struct Sum {
    ps: Ps,
    /// The line that took most of it, and how much.
    most: Option<(Ps, String)>,
}

/// Returns the time that each entry got between two profiles, where it got any.
pub fn spent<'a>(begin: &[ProfileEntry], end: &'a [ProfileEntry]) -> Vec<(&'a ProfileEntry, Ps)> {
    let key = |e: &ProfileEntry| (e.file, e.line, e.column, e.scope, e.command, e.kind);
    let before: BTreeMap<_, Ps> = begin.iter().map(|e| (key(e), e.ps)).collect();
    let spent = end.iter().map(|e| (e, e.ps - before.get(&key(e)).copied().unwrap_or(0)));
    spent.filter(|(_, ps)| *ps > 0).collect()
}

/// Returns the rows of what came between two profiles, the greatest first; their shares are 1 together.
pub fn rows(begin: &[ProfileEntry], end: &[ProfileEntry]) -> Vec<ProfileRow> {
    let mut sums: BTreeMap<(String, &'static str), Sum> = BTreeMap::new();
    for (entry, ps) in spent(begin, end) {
        sums.entry((function(entry), kind(entry.kind))).or_default().add(ps, place(entry));
    }
    let all: Ps = sums.values().map(|sum| sum.ps).sum();
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| Reverse(sum.ps));
    let row = |((function, kind), sum): ((String, &str), Sum)| ProfileRow {
        function,
        place: sum.most.map(|(_, place)| place),
        kind: kind.to_owned(),
        share: sum.ps as f64 / all as f64,
    };
    sums.into_iter().map(row).collect()
}

impl Sum {
    fn add(&mut self, ps: Ps, place: Option<String>) {
        self.ps += ps;
        let Some(place) = place else { return };
        if self.most.as_ref().is_none_or(|(most, _)| ps > *most) {
            self.most = Some((ps, place));
        }
    }
}

/// Returns the function that a place is in, or else the place; or what the CPU did outside of functions.
fn function(entry: &ProfileEntry) -> String {
    match functions::at(entry.file, entry.line, entry.column) {
        Some(name) => name.to_owned(),
        None => place(entry).unwrap_or_else(|| match entry.kind {
            Kind::Idle => "idle".to_owned(),
            _ => "context switch".to_owned(),
        }),
    }
}

fn place(entry: &ProfileEntry) -> Option<String> {
    (!entry.file.is_empty()).then(|| format!("{}:{}", entry.file, entry.line))
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Compute => "compute",
        Kind::Memory => "memory",
        Kind::Spin => "spin",
        Kind::System => "system",
        Kind::Idle => "idle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn entry(file: &'static str, line: u32, kind: Kind, ps: Ps) -> ProfileEntry {
        ProfileEntry { file, line, column: 1, scope: "", command: "", kind, ps }
    }

    #[test]
    fn rows_are_merged_by_function_and_the_time_before_is_left_out() {
        let here = file!();
        let (first, second) = (line!(), line!());
        let begin = [entry(here, first, Kind::Spin, 50), entry("", 0, Kind::Idle, 7)];
        let end = [
            entry("", 0, Kind::System, 10),
            entry("", 0, Kind::Idle, 7),
            entry(here, first, Kind::Spin, 60),
            entry(here, second, Kind::Memory, 20),
            entry("no/such.rs", 9, Kind::Compute, 60),
        ];
        let rows = rows(&begin, &end);
        let name = "tests::rows_are_merged_by_function_and_the_time_before_is_left_out";
        let found: Vec<_> = rows.iter().map(|r| (r.function.as_str(), r.kind.as_str(), r.share)).collect();
        let expected = [
            ("no/such.rs:9", "compute", 0.6),
            (name, "memory", 0.2),
            ("context switch", "system", 0.1),
            (name, "spin", 0.1),
        ];
        assert_eq!(found, expected);
        assert_eq!(rows[1].place.as_deref(), Some(format!("{here}:{second}").as_str()));
        assert_eq!(rows[2].place, None);
    }

    #[test]
    fn a_function_is_shown_by_its_costliest_line() {
        let rows = rows(&[], &[entry(file!(), line!(), Kind::Spin, 1), entry(file!(), line!() + 1, Kind::Spin, 3)]);
        assert_eq!((rows.len(), rows[0].share), (1, 1.0));
        assert_eq!(rows[0].place.as_deref(), Some(format!("{}:{}", file!(), line!() - 1).as_str()));
    }
}
