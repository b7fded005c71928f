//! The table for people.

use super::figure::{At, Figure, Unit};
use super::sysfs::Cpu;
use super::{Calibration, Grid};
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, presets};
use std::fmt::Write;
use turnwise_sim::spec::Class;

/// Columns of the table.
const WIDTH: u16 = 120;
/// Before a number that was not measured.
const MARK: &str = "?";

impl Calibration {
    /// Everything that was found.
    #[must_use]
    pub fn text(&self) -> String {
        let name = self.machine.cpu.as_deref().unwrap_or(&self.machine.arch);
        let kernel = self.machine.kernel.as_deref().unwrap_or("unknown");
        let mut text = format!("{name}, Linux {kernel}, measured within {:.1} s\n", self.seconds);
        let _ = writeln!(text, "{}\n\n{}\n", self.grid.text(), self.listing());
        if self.figures.iter().any(|figure| figure.provisional) {
            let _ = writeln!(text, "{MARK}: provisional, not measured");
        }
        for note in &self.notes {
            let _ = writeln!(text, "Note: {note}");
        }
        text
    }

    fn listing(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING.header_separator(LineStyle::none().fill('─')));
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
        table.set_header(["", "number", "for", "value", "middle half", "how"]);
        let mut last = "";
        for figure in &self.figures {
            let key = if figure.key == last { "" } else { figure.key };
            last = figure.key;
            let mark = if figure.provisional { MARK } else { "" };
            let left = [mark.to_owned(), key.to_owned(), place(figure.at)].map(Cell::new);
            let half = figure.spread.map_or_else(String::new, |spread| {
                format!("{} to {}", shown(spread.q1, figure.unit), shown(spread.q3, figure.unit))
            });
            let right = [shown(figure.value, figure.unit), half];
            let right = right.map(|text| Cell::new(text).set_alignment(CellAlignment::Right));
            table.add_row(left.into_iter().chain(right).chain([Cell::new(&figure.how)]));
        }
        table.trim_fmt()
    }
}

impl Grid {
    fn text(&self) -> String {
        let t = &self.topology;
        let numbers: Vec<String> = self.cpus.iter().map(|Cpu { cpu, .. }| cpu.to_string()).collect();
        format!(
            "CPUs: {}; sockets {}, nodes {}, clusters per node {}, cores per cluster {}, threads per core {}\n\
             The simulator's CPUs 0, 1, ... are the kernel's {}",
            t.cpus(),
            t.sockets,
            t.nodes,
            t.clusters_per_node,
            t.cores_per_cluster,
            t.threads_per_core,
            numbers.join(" ")
        )
    }
}

/// What a distance is called.
pub(super) fn class(class: Class) -> String {
    match class.0 {
        0 => "same core".to_owned(),
        1 => "same cluster".to_owned(),
        2 => "same node".to_owned(),
        3 => "1 hop".to_owned(),
        more => format!("{} hops", more - 2),
    }
}

fn place(at: At) -> String {
    match at {
        At::All => String::new(),
        At::Class(distance) => class(distance),
        At::IdleNs(0) => "just idle".to_owned(),
        At::IdleNs(ns) => format!("idle {}", shown(ns as f64, Unit::Ns)),
    }
}

/// Three digits at least, in a unit of a fitting size.
fn shown(value: f64, unit: Unit) -> String {
    match (unit, value) {
        (Unit::Permille, _) => format!("x {:.2}", value / 1000.0),
        (Unit::Ns, ns) if ns < 10.0 => format!("{ns:.2} ns"),
        (Unit::Ns, ns) if ns < 1e3 => format!("{ns:.1} ns"),
        (Unit::Ns, ns) if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        (Unit::Ns, ns) => format!("{:.2} ms", ns / 1e6),
    }
}

impl Figure {
    /// The figure as a phrase, for sources: how, and the spread.
    pub(super) fn source(&self) -> String {
        match self.spread {
            Some(spread) => {
                let (q1, q3) = (shown(spread.q1, self.unit), shown(spread.q3, self.unit));
                format!("{}; middle half {q1} to {q3}", self.how)
            }
            None => self.how.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = |ns| shown(ns, Unit::Ns);
        assert_eq!([shown(1.234), shown(123.44), shown(12_345.0)], ["1.23 ns", "123.4 ns", "12.35 us"]);
        assert_eq!([shown(4e6), super::shown(1550.0, Unit::Permille)], ["4.00 ms", "x 1.55"]);
    }

    #[test]
    fn distances_have_names() {
        assert_eq!(class(Class::hops(1)), "1 hop");
        assert_eq!(class(Class::hops(3)), "3 hops");
        assert_eq!(place(At::IdleNs(1_000_000)), "idle 1.00 ms");
    }
}
