//! What the papers' authors would see today: their workloads on a modern machine of 1 to 1024 CPUs. These are
//! predictions of the simulator, without published counterparts.

use super::report::{Plot, Series};
use anyhow::Result;
use std::sync::Arc;
use turnwise_sim::spec::{self, Machine, OnCpuView};

/// The machine file of these curves.
pub(super) const MACHINE: &str = "mesh-1024";
/// Numbers of CPUs, or of threads.
pub(super) const COUNTS: [u32; 6] = [1, 4, 16, 64, 256, 1024];

/// Returns the machine, as programs see it.
pub(super) fn machine() -> Result<Arc<Machine>> {
    Ok(Arc::new(spec::load(MACHINE)?))
}

/// Returns the machine, as a kernel sees it, which knows which threads run.
pub(super) fn machine_of_a_kernel() -> Result<Arc<Machine>> {
    let mut machine = spec::load(MACHINE)?;
    machine.system.on_cpu = OnCpuView::Exact;
    Ok(Arc::new(machine))
}

/// Returns this many CPUs of the machine, and the number of its nodes that they are on: whole nodes, or a part of the
/// first one, whose other cores do not exist.
pub(super) fn part(machine: &Arc<Machine>, cpus: u32) -> (Arc<Machine>, u32) {
    let each = machine.topology.cpus_per_node();
    if cpus >= each {
        return (Arc::clone(machine), cpus.div_ceil(each));
    }
    let mut small = Machine::clone(machine);
    small.topology.cores_per_cluster = cpus;
    (Arc::new(small), 1)
}

/// Returns how much longer than on a whole node a window has to be on so few CPUs to see the same number of jobs.
pub(super) fn longer(machine: &Machine, cpus: u32) -> u64 {
    u64::from((machine.topology.cpus_per_node() / cpus.max(1)).max(1))
}

/// A figure over the number of CPUs, for several locks.
pub(super) struct Scaling {
    title: String,
    unit: &'static str,
    counted: &'static str,
    rows: Vec<(String, Vec<f64>)>,
}

impl Scaling {
    /// Creates one without rows. `counted`: `CPUs` or `threads`; `unit`: of the figures.
    pub(super) fn new(title: &str, unit: &'static str, counted: &'static str) -> Scaling {
        Scaling { title: format!("Predicted, on {MACHINE}: {title}"), unit, counted, rows: vec![] }
    }

    /// Adds a lock's figures, one for each number of CPUs.
    pub(super) fn push(&mut self, lock: &str, figures: impl IntoIterator<Item = f64>) {
        let figures: Vec<f64> = figures.into_iter().collect();
        debug_assert_eq!(figures.len(), COUNTS.len(), "{lock}: a figure for each");
        self.rows.push((lock.to_owned(), figures));
    }

    /// Shows the figures as curves.
    pub(super) fn plot(&self) -> Plot {
        let series = self.rows.iter().map(|(lock, figures)| Series {
            name: lock.clone(),
            published: false,
            points: COUNTS.map(f64::from).into_iter().zip(figures.iter().copied()).collect(),
        });
        let (x, y) = (self.counted.to_owned(), self.unit.to_owned());
        Plot { title: self.title.clone(), x, y, series: series.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_have_a_point_for_each_count() {
        let mut scaling = Scaling::new("forks", "thousand/s", "CPUs");
        scaling.push("a lock", [2.0, 7.0, 20.0, 60.0, 90.0, 150.4]);
        let plot = scaling.plot();
        assert_eq!(plot.title, "Predicted, on mesh-1024: forks");
        assert_eq!((plot.x.as_str(), plot.y.as_str()), ("CPUs", "thousand/s"));
        assert_eq!((plot.series[0].points[0], plot.series[0].points[5]), ((1.0, 2.0), (1024.0, 150.4)));
    }

    #[test]
    fn parts_of_the_machine_have_so_many_cpus() {
        let machine = machine_of_a_kernel().expect("it comes with the simulator");
        for (cpus, nodes) in COUNTS.into_iter().zip([1, 1, 1, 4, 16, 64]) {
            let (part, used) = part(&machine, cpus);
            assert_eq!((used, part.topology.cpus_of_first_nodes(used).len() as u32), (nodes, cpus));
        }
        assert_eq!(COUNTS.map(|cpus| longer(&machine, cpus)), [16, 4, 1, 1, 1, 1]);
        assert_eq!((machine.system.on_cpu, COUNTS.last()), (OnCpuView::Exact, Some(&machine.topology.cpus())));
    }
}
