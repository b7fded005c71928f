//! The table for people.

use crate::document::{self, Style};
use serde_json::{Value, json};
use turnwise_calibrate::{At, Calibration, Figure, Unit, class};

/// Renders the whole result.
pub(super) fn text(found: &Calibration) -> String {
    let row = |figure: &Figure| {
        let shown = |value| figure.unit.shown(value);
        let half = figure.spread.map(|spread| format!("{} to {}", shown(spread.q1), shown(spread.q3)));
        json!([figure.provisional, figure.key, place(figure.at), shown(figure.value), half, figure.how])
    };
    let t = &found.grid.topology;
    let counts = [t.cpus(), t.sockets, t.nodes, t.clusters_per_node, t.cores_per_cluster, t.threads_per_core];
    let values = json!({
        "found": found,
        "cpu": found.machine.cpu_name(),
        "counts": counts,
        "rows": found.figures.iter().map(row).collect::<Vec<Value>>(),
    });
    document::shown(&document::filled("calibrate.jinja", include_str!("text.jinja"), values), Style::Wrapped)
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
    use turnwise_calibrate::{Cpu, Grid, Summary};
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
