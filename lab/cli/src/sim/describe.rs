//! `turnwise-lab sim --describe`: the numbers of a machine, with their sources.

use crate::document::{self, Style};
use serde_json::{Value, json};
use turnwise_sim::spec::Machine;

/// Returns all numbers in nanoseconds, with sources; those that are recalled or guessed have a mark.
pub(super) fn text(machine: &Machine) -> String {
    let numbers = machine.numbers().map(|n| json!([n.provisional, n.key, n.text, n.source]));
    let values = json!({
        "name": machine.name,
        "title": machine.title,
        "cpus": machine.topology.cpus(),
        "fingerprint": machine.fingerprint(),
        "numbers": numbers.collect::<Vec<Value>>(),
        "provisional": machine.provisional().len(),
        "sources": machine.sources.len(),
    });
    document::shown(&document::filled("describe.jinja", include_str!("describe.jinja"), values), Style::Wrapped)
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
