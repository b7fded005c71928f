//! What the documents' authors would see today: their workloads on a modern machine of up to 1024 CPUs. Predictions of
//! the simulator, beside which nothing was published.

use super::report::{Listing, Plot, Series, figure};
use anyhow::Result;
use std::sync::Arc;
use turnwise_sim::spec::{self, Machine, OnCpuView};

/// The machine file of these curves.
pub(super) const MACHINE: &str = "mesh-1024";
/// Numbers of CPUs where a run is dear.
pub(super) const FEW: [u32; 4] = [16, 64, 256, 1024];
/// Numbers of CPUs, or of threads, where it is not.
pub(super) const MANY: [u32; 6] = [1, 4, 16, 64, 256, 1024];

/// The machine, as programs see it.
pub(super) fn machine() -> Result<Arc<Machine>> {
    Ok(Arc::new(spec::load(MACHINE)?))
}

/// The machine, as a kernel sees it, which knows who runs.
pub(super) fn machine_of_a_kernel() -> Result<Arc<Machine>> {
    let mut machine = spec::load(MACHINE)?;
    machine.system.on_cpu = OnCpuView::Exact;
    Ok(Arc::new(machine))
}

/// How many nodes of the machine have so many CPUs.
pub(super) fn nodes(machine: &Machine, cpus: u32) -> u32 {
    cpus.div_ceil(machine.topology.cpus_per_node())
}

/// A figure over the number of CPUs, for several locks.
pub(super) struct Scaling {
    title: String,
    unit: &'static str,
    counted: &'static str,
    counts: Vec<u32>,
    rows: Vec<(String, Vec<f64>)>,
}

impl Scaling {
    /// Without rows yet. `counted`: `CPUs` or `threads`; `unit`: of the figures.
    pub(super) fn new(title: &str, unit: &'static str, counted: &'static str, counts: &[u32]) -> Scaling {
        Scaling {
            title: format!("Predicted, on {MACHINE}: {title}"),
            unit,
            counted,
            counts: counts.to_vec(),
            rows: vec![],
        }
    }

    /// A lock's figures, one for each number of CPUs.
    pub(super) fn push(&mut self, lock: &str, figures: impl IntoIterator<Item = f64>) {
        let figures: Vec<f64> = figures.into_iter().collect();
        debug_assert_eq!(figures.len(), self.counts.len(), "{lock}: a figure for each");
        self.rows.push((lock.to_owned(), figures));
    }

    /// Adds both forms to a report's.
    pub(super) fn show(&self, listings: &mut Vec<Listing>, plots: &mut Vec<Plot>) {
        listings.push(self.listing());
        plots.push(self.plot());
    }

    /// Shows the figures as a table.
    fn listing(&self) -> Listing {
        let heads: Vec<String> = self.counts.iter().map(ToString::to_string).collect();
        let columns: Vec<&str> = std::iter::once("lock").chain(heads.iter().map(String::as_str)).collect();
        let title = format!("{}, {}, by {}", self.title, self.unit, self.counted);
        let mut listing = Listing::new(&title, &columns);
        for (lock, figures) in &self.rows {
            listing.rows.push(std::iter::once(lock.clone()).chain(figures.iter().copied().map(figure)).collect());
        }
        listing
    }

    /// Shows the figures as curves.
    fn plot(&self) -> Plot {
        let series = self.rows.iter().map(|(lock, figures)| Series {
            name: lock.clone(),
            published: false,
            points: self.counts.iter().map(|count| f64::from(*count)).zip(figures.iter().copied()).collect(),
        });
        let (x, y) = (self.counted.to_owned(), self.unit.to_owned());
        Plot { title: self.title.clone(), x, y, series: series.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_curves_show_the_same() {
        let mut scaling = Scaling::new("forks", "thousand/s", "CPUs", &[1, 1024]);
        scaling.push("a lock", [2.0, 150.4]);
        let (listing, plot) = (scaling.listing(), scaling.plot());
        assert_eq!(listing.title, "Predicted, on mesh-1024: forks, thousand/s, by CPUs");
        assert_eq!(listing.columns, ["lock", "1", "1024"]);
        assert_eq!(listing.rows, [["a lock", "2", "150"]]);
        assert_eq!((plot.x.as_str(), plot.y.as_str()), ("CPUs", "thousand/s"));
        assert_eq!(plot.series[0].points, [(1.0, 2.0), (1024.0, 150.4)]);
    }

    #[test]
    fn the_machine_has_all_the_cpus() {
        let machine = machine_of_a_kernel().expect("it comes with the simulator");
        assert_eq!(FEW.map(|cpus| nodes(&machine, cpus)), [1, 4, 16, 64]);
        assert_eq!(Some(&machine.topology.cpus()), FEW.last());
        assert_eq!((machine.system.on_cpu, MANY.last()), (OnCpuView::Exact, FEW.last()));
    }
}
