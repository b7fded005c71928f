//! The table for people.

use std::fmt::Write;
use turnwise_calibrate::{At, Calibration, Cpu, Grid, Unit, class};
use turnwise_present::table::{self, Cell, CellAlignment};

/// Columns of the table.
const WIDTH: u16 = 120;
/// Before a number that was not measured.
const MARK: &str = "?";

/// Renders the whole result.
pub(super) fn text(found: &Calibration) -> String {
    let name = found.machine.cpu_name();
    let kernel = found.machine.kernel.as_deref().unwrap_or("unknown");
    let mut text = format!("{name}, Linux {kernel}, measured within {:.1} s\n", found.seconds);
    let _ = writeln!(text, "{}\n\n{}\n", grid(&found.grid), listing(found));
    if found.figures.iter().any(|figure| figure.provisional) {
        let _ = writeln!(text, "{MARK}: provisional, not measured");
    }
    for note in &found.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    text
}

fn listing(found: &Calibration) -> String {
    let mut table = table::wrapped(WIDTH);
    table.set_header(["", "number", "for", "value", "middle half", "how"]);
    let mut last = "";
    for figure in &found.figures {
        let key = if figure.key == last { "" } else { figure.key };
        last = figure.key;
        let mark = if figure.provisional { MARK } else { "" };
        let left = [mark.to_owned(), key.to_owned(), place(figure.at)].map(Cell::new);
        let half = figure.spread.map_or_else(String::new, |spread| {
            format!("{} to {}", figure.unit.shown(spread.q1), figure.unit.shown(spread.q3))
        });
        let right = [figure.unit.shown(figure.value), half];
        let right = right.map(|text| Cell::new(text).set_alignment(CellAlignment::Right));
        table.add_row(left.into_iter().chain(right).chain([Cell::new(&figure.how)]));
    }
    table.trim_fmt()
}

fn grid(grid: &Grid) -> String {
    let t = &grid.topology;
    let numbers: Vec<String> = grid.cpus.iter().map(|Cpu { cpu, .. }| cpu.to_string()).collect();
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

fn place(at: At) -> String {
    match at {
        At::All => String::new(),
        At::Class(distance) => class(distance),
        At::IdleNs(0) => "just idle".to_owned(),
        At::IdleNs(ns) => format!("idle {}", Unit::Ns.shown(ns as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_calibrate::{Figure, Summary};
    use turnwise_present::machine::Machine;
    use turnwise_sim::spec::{Class, Topology};

    fn figure(key: &'static str, at: At, samples: &[f64], unit: Unit) -> Figure {
        let spread = Summary::of(samples);
        Figure {
            key,
            at,
            value: samples[0],
            unit,
            spread,
            how: "measured: x; least of 2".to_owned(),
            provisional: false,
        }
    }

    fn found() -> Calibration {
        let topology = Topology {
            sockets: 1,
            nodes: 1,
            clusters_per_node: 1,
            cores_per_cluster: 2,
            threads_per_core: 2,
            hops: vec![0],
        };
        let cpu = |cpu| Cpu { cpu, package: 0, node: 0, cluster: 0, core: cpu / 2 };
        let figures = vec![
            figure("cpu.smt_slowdown", At::All, &[1600.0, 1601.0], Unit::Permille),
            figure("coherence.rmw_modified", At::Class(Class::SAME_CORE), &[10.0, 11.0], Unit::Ns),
            figure("coherence.rmw_modified", At::Class(Class::SAME_NODE), &[30.0, 31.0], Unit::Ns),
            figure("system.idle_exit", At::IdleNs(1_000_000), &[50_000.0, 50_001.0], Unit::Ns),
        ];
        let grid = Grid { cpus: (0..4).map(cpu).collect(), topology, notes: Vec::new(), nodes: vec![0] };
        Calibration { notes: vec!["a note".to_owned()], ..Calibration::of(Machine::here(), grid, Some(64), figures) }
    }

    #[test]
    fn the_table_shows_value_spread_and_how() {
        let text = text(&found());
        for part in ["CPUs: 4; sockets 1", "cpu.smt_slowdown", "x 1.60", "same core", "least of 2", "Note: a note"] {
            assert!(text.contains(part), "no {part:?} in:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }

    #[test]
    fn places_have_names() {
        assert_eq!(place(At::Class(Class::hops(3))), "3 hops");
        assert_eq!(place(At::IdleNs(1_000_000)), "idle 1.00 ms");
    }
}
