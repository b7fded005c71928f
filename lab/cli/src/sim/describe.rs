//! `turnwise-lab sim --describe`: the numbers of a machine, with their sources.

use std::fmt::Write;
use turnwise_present::table;
use turnwise_sim::spec::Machine;

/// Columns of a description; long sources take several lines.
const WIDTH: u16 = 120;

/// Before a number that is recalled or guessed.
const MARK: &str = "?";

/// Replaces a source that is the same as the number's above.
const AS_ABOVE: &str = "\"";

/// Returns all numbers in nanoseconds, with sources; those that are recalled or guessed have a mark.
pub(super) fn text(machine: &Machine) -> String {
    let mut text = format!("{}: {}\n", machine.name, machine.title);
    let _ = writeln!(text, "{} CPUs, fingerprint {}\n", machine.topology.cpus(), machine.fingerprint());
    let mut table = table::wrapped(WIDTH);
    table.set_header(["", "number", "value", "source"]);
    let mut above = "";
    for number in machine.numbers() {
        let mark = if number.provisional { MARK } else { "" };
        let shown = if number.source == above && !above.is_empty() { AS_ABOVE } else { number.source };
        table.add_row([mark, number.key, number.text, shown]);
        above = number.source;
    }
    let (provisional, all) = (machine.provisional().len(), machine.sources.len());
    let _ = writeln!(
        text,
        "{}\n\n{MARK}: provisional, recalled or guessed rather than read or measured ({provisional} of {all})",
        table.trim_fmt()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_sim::spec::{builtin, load};

    #[test]
    fn provisional_numbers_are_marked() {
        let machine = load("westmere-ex-80").unwrap();
        let text = text(&machine);
        let row =
            |key: &str| text.lines().find(|line| line.contains(key)).unwrap_or_else(|| panic!("no {key}: {text}"));
        assert!(row("coherence.load_modified").trim_start().starts_with('?'), "{text}");
        assert!(!row("cpu.rmw_hit").trim_start().starts_with('?'), "{text}");
        assert!(row("coherence.load_modified").contains("node 51.174, 1 hop 135.681, 2 hops 187.793"), "{text}");
        assert!(row("cpu.rmw_hit").contains("9.39 ns") && row("cpu.rmw_hit").contains("8270137a"), "{text}");
        let count = format!("({} of {})", machine.provisional().len(), machine.sources.len());
        assert!(text.contains(&count), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }

    /// Each key of the engine's numbers has a row, with a source.
    #[test]
    fn no_source_is_left_out() {
        for (name, _) in builtin() {
            let machine = load(name).unwrap();
            let text = text(&machine);
            for source in machine.sources.iter().filter(|source| source.key.contains('.')) {
                assert!(text.contains(&source.key), "{name}: no {}: {text}", source.key);
            }
        }
    }
}
