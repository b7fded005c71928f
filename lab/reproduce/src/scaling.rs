//! What the papers' authors would see today: their workloads on a modern machine of 1 to 1024 CPUs. These are
//! predictions of the simulator, without published counterparts.

use super::Context;
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

/// Returns curves of these locks from their figures, one for each number of CPUs. `words`: the title, the unit of the
/// figures, and what is counted: `CPUs` or `threads`.
pub(super) fn curves(words: [&str; 3], locks: &[&str], figures: impl IntoIterator<Item = f64>) -> Plot {
    let [title, unit, counted] = words;
    let mut figures = figures.into_iter();
    let series = locks.iter().map(|lock| Series {
        name: (*lock).to_owned(),
        published: false,
        points: COUNTS.map(f64::from).into_iter().zip(figures.by_ref()).collect(),
    });
    let series = series.collect();
    Plot { title: format!("Predicted, on {MACHINE}: {title}"), x: counted.to_owned(), y: unit.to_owned(), series }
}

/// Runs each of these locks with every number of CPUs or threads.
pub(super) fn run(
    context: &Context<'_>,
    what: &str,
    words: [&str; 3],
    locks: &[&'static str],
    figure: impl Fn(&'static str, u32) -> Result<f64> + Sync,
) -> Result<Plot> {
    let cells: Vec<(&'static str, u32)> = locks.iter().flat_map(|&lock| COUNTS.map(|count| (lock, count))).collect();
    Ok(curves(words, locks, context.pool.map(what, &cells, |&(lock, count)| figure(lock, count))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_have_a_point_for_each_count() {
        let words = ["forks", "thousand/s", "CPUs"];
        let plot = curves(words, &["a lock"], [2.0, 7.0, 20.0, 60.0, 90.0, 150.4]);
        assert_eq!(plot.title, "Predicted, on mesh-1024: forks");
        assert_eq!((plot.x.as_str(), plot.y.as_str()), ("CPUs", "thousand/s"));
        assert_eq!((plot.series[0].points[0], plot.series[0].points[5]), ((1.0, 2.0), (1024.0, 150.4)));
    }

    #[test]
    fn parts_of_the_machine_have_that_many_cpus() {
        let machine = machine_of_a_kernel().expect("it comes with the simulator");
        for (cpus, nodes) in COUNTS.into_iter().zip([1, 1, 1, 4, 16, 64]) {
            let (part, used) = part(&machine, cpus);
            assert_eq!((used, part.topology.cpus_of_first_nodes(used).len() as u32), (nodes, cpus));
        }
        assert_eq!(COUNTS.map(|cpus| longer(&machine, cpus)), [16, 4, 1, 1, 1, 1]);
        assert_eq!((machine.system.on_cpu, COUNTS.last()), (OnCpuView::Exact, Some(&machine.topology.cpus())));
    }
}
