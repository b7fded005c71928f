//! The accuracy of the simulator: its predictions next to what others published and what this machine measures. Facts
//! go in (machine files), predictions come out; nothing is fitted to a published lock table.
//!
//! | file | what |
//! |---|---|
//! | `published.toml`, `curve.rs` | published curves as data; their prediction |
//! | `loops.rs` | a loop of threads around a lock |
//! | `small_locks.rs`, `qspinlock.rs` | the locks that the curves are of |
//! | `cells.rs` | which locks of the catalogue collapse |
//! | `metal.rs` | `turnwise-lab bench mutex` on a host, measured and simulated |
//! | `judge.rs`, `page.jinja` | how near predictions are; the page |

mod cells;
mod curve;
mod judge;
mod loops;
mod metal;
mod qspinlock;
mod small_locks;

use anyhow::Result;
use curve::{Curve, Predicted, Protocol, curves};
use judge::{Judgement, Summary, judge};
use serde::Serialize;
use std::sync::Arc;
use turnwise_bench::report::Report;
use turnwise_present::template;
use turnwise_sim::spec::{self, Machine};

/// What a validation needs from outside.
#[derive(Default)]
pub struct Inputs {
    /// Reports of `turnwise-lab bench mutex --json`, each with the machine that `turnwise-lab calibrate` wrote where it
    /// ran.
    pub metal: Vec<(Report, Arc<Machine>)>,
    /// Only the published curves that are predicted blindly, with every point.
    pub curves_alone: bool,
    /// Few of their points, and short runs.
    pub quick: bool,
    /// The command line.
    pub command: String,
    /// The commit of this program, if known.
    pub commit: Option<String>,
}

/// What the page shows.
#[derive(Default, Serialize)]
struct Page {
    command: String,
    commit: Option<String>,
    curves_alone: bool,
    quick: bool,
    hand_over: HandOver,
    shapes: Vec<cells::Shape>,
    hammer: Summarised,
    oversubscribed: Vec<Predicted>,
    servers: Summarised,
    metal: Vec<metal::Host>,
}

#[derive(Default, Serialize)]
struct HandOver {
    curves: Vec<Predicted>,
    /// The kernel's lock.
    judged: Option<Judgement>,
    provisional: Vec<String>,
}

#[derive(Default, Serialize)]
struct Summarised {
    curves: Vec<Predicted>,
    summary: Option<Summary>,
}

/// Returns how many runs a validation takes.
#[must_use]
pub fn runs(inputs: &Inputs) -> usize {
    let published: usize = shown(inputs).map(|curve| curve.runs(inputs.quick)).sum();
    let cells = if inputs.curves_alone { 0 } else { cells::RUNS };
    published + cells + inputs.metal.iter().map(|(report, machine)| metal::count(report, machine)).sum::<usize>()
}

fn shown(inputs: &Inputs) -> impl Iterator<Item = &'static Curve> {
    let alone = inputs.curves_alone;
    curves(move |of| !alone || of != Protocol::HandOver)
}

/// Returns the page, as Markdown; calls `tick` after each run.
///
/// # Errors
/// A machine file is wrong, or a lock broke its guarantee.
pub fn page(inputs: &Inputs, mut tick: impl FnMut()) -> Result<String> {
    let tick: &mut dyn FnMut() = &mut tick;
    let Inputs { command, commit, curves_alone, .. } = inputs;
    let mut page = Page { command: command.clone(), commit: commit.clone(), ..Page::default() };
    (page.curves_alone, page.quick) = (*curves_alone, inputs.quick);
    for curve in shown(inputs) {
        let predicted = curve.predict(inputs.quick, tick)?;
        match curve.protocol {
            Protocol::HandOver => page.hand_over.curves.push(predicted),
            Protocol::Rounds => page.hammer.curves.push(predicted),
            Protocol::Oversubscribed => page.oversubscribed.push(predicted),
            Protocol::Calibrated => page.servers.curves.push(predicted),
        }
    }
    if !curves_alone {
        let westmere = Arc::new(spec::load("westmere-ex-80")?);
        page.shapes = cells::shapes(&westmere, tick)?;
        page.hand_over.provisional = westmere.provisional().into_iter().map(str::to_owned).collect();
    }
    for (report, machine) in &inputs.metal {
        page.metal.push(metal::host(report, machine, tick)?);
    }
    page.text()
}

impl Page {
    fn text(mut self) -> Result<String> {
        let kernel = self.hand_over.curves.iter().flat_map(Predicted::points);
        self.hand_over.judged = Some(judge(kernel.map(|point| point.predicted / point.published - 1.0)));
        for part in [&mut self.hammer, &mut self.servers] {
            let points: Vec<_> = part.curves.iter().flat_map(Predicted::points).collect();
            part.summary = Some(Summary::of(&points));
        }
        let mut env = template::environment();
        env.add_filter("percent", |share: f64| format!("{:+.0}%", share * 100.0));
        template::render(&env, "page.jinja", include_str!("page.jinja"), self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a benchmark's report with two locks, of which one is not ours.
    fn report() -> Report {
        let lock = |name: &str, ns: f64| {
            serde_json::json!({
                "name": name, "ours": true, "sleeps": true, "notes": [],
                "rounds_ns": [ns], "rounds_voluntary_per_s": [0.0],
                "op_ns": { "median": ns, "min": ns, "max": ns }, "fairness": { "median": 1.0, "min": 1.0, "max": 1.0 },
            })
        };
        let machine = serde_json::json!({ "cpus": 2, "arch": "x86_64", "on_cpu_layer": "rseq" });
        let method = serde_json::json!({ "samples": 1, "timed_samples": 1, "sample_ms": 1, "seed": 1 });
        let scenario = serde_json::json!({
            "name": "uncontended", "help": "", "threads": 1, "locks": [lock("mutex", 10.0), lock("std", 10.0)],
        });
        let report = serde_json::json!({
            "format": turnwise_bench::report::FORMAT, "subject": "mutex",
            "command": "turnwise-lab bench", "machine": machine,
            "method": method, "scenarios": [scenario], "documents": [],
        });
        serde_json::from_value(report).expect("as a benchmark writes it")
    }

    #[test]
    fn metal_is_held_against_what_can_be_simulated() {
        let machine = Arc::new(spec::load("desktop-4").expect("it is built in"));
        let inputs = Inputs { metal: vec![(report(), Arc::clone(&machine))], ..Inputs::default() };
        assert_eq!(runs(&inputs) - runs(&Inputs::default()), 1, "std cannot be simulated");
        let mut ticks = 0;
        let mut host = || metal::host(&report(), &machine, &mut || ticks += 1).expect("the cell can be run");
        let page = |metal| Page { metal, ..Page::default() }.text().expect("the template is right");
        let (text, twice) = (page(vec![host()]), page(vec![host(), host()]));
        assert!(text.contains("| uncontended | mutex | 10.0 |") && !text.contains("| std |"), "{text}");
        assert!(text.contains("of 1 cells within 25%") && ticks == 3, "{text}");
        assert!(!text.contains("###"), "{text}");
        assert_eq!(twice.matches("\n### 2 CPUs of an unknown CPU: `desktop-4`\n").count(), 2, "{twice}");
    }

    #[test]
    fn the_published_table_has_a_row_for_each_figure() {
        let mut ticks = 0;
        let hand_overs = || curves(|of| of == Protocol::HandOver);
        let predicted: Result<_> = hand_overs().map(|curve| curve.predict(true, &mut || ticks += 1)).collect();
        let hand_over = HandOver { curves: predicted.expect("the locks get on"), ..HandOver::default() };
        let text = Page { hand_over, ..Page::default() }.text().expect("the template is right");
        assert_eq!(
            text.lines().filter(|line| line.starts_with("| same node") || line.starts_with("| a node")).count(),
            8
        );
        assert_eq!(ticks, hand_overs().map(|curve| curve.runs(true)).sum::<usize>());
        assert!(text.contains("of 8 cells of the kernel's lock are within it"), "{text}");
    }

    /// What the page says of them: the aim is met without a fit.
    #[test]
    fn hand_overs_are_predicted_within_a_quarter() {
        let predicted: Vec<Predicted> = curves(|of| of == Protocol::HandOver)
            .map(|curve| curve.predict(false, &mut || ()).expect("the locks get on"))
            .collect();
        let kernel = judge(predicted.iter().flat_map(Predicted::points).map(|p| p.predicted / p.published - 1.0));
        let shown = serde_json::to_value(&kernel).expect("a judgement has a JSON form");
        assert_eq!((&shown["all"], &shown["within_25"]), (&8.into(), &8.into()), "{shown}");
        let median = shown["median_error"].as_f64().expect("a number");
        assert!((0.155..0.165).contains(&median), "16% on docs/simulator.md: {median}");
    }
}
