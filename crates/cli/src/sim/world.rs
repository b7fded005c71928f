//! temp
use super::args::Flags;
use super::fixture;
use super::plan::{Axes, CellPlan, Size};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use turnwise_workloads::simulate::report::{Cell, SimMachine};

pub(crate) const DEFAULT_LOCKS: [&str; 6] =
    ["mutex", "lineage-mutex-baseline", "lineage-mutex-mcs", "ttas", "ticket", "mcs"];
pub(crate) const DEFAULT_WORKLOAD: &str = "100/4000";
pub(crate) fn lock_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(DEFAULT_LOCKS)
}
#[allow(non_upper_case_globals)]
pub(crate) const MachineParser: fn(&str) -> Result<String> = |t| Ok(t.to_owned());
pub(crate) fn workload(text: &str) -> Result<String> {
    Ok(text.to_owned())
}
pub(crate) struct World {
    seed: u64,
}
pub(crate) struct M;
impl M {
    pub(crate) fn describe(&self) -> String {
        String::new()
    }
}
pub(crate) fn machine(_: &str) -> Result<M> {
    Ok(M)
}
pub(crate) fn lists() -> String {
    String::new()
}
impl World {
    pub(crate) fn new(f: &Flags) -> Result<World> {
        Ok(World { seed: f.seed })
    }
    pub(crate) fn size(&self) -> Size<'_> {
        Size { name: "m", cpus: 80, nodes: 8 }
    }
    pub(crate) fn run(&self, c: &CellPlan) -> Cell {
        fixture::cell(c.index, &c.lock, c.cpus, c.threads)
    }
    pub(crate) fn run_traced(&self, c: &CellPlan) -> (Cell, String) {
        (self.run(c), super::trace::chrome(&[], &[], 0))
    }
    pub(crate) fn command(&self, a: &Axes) -> String {
        format!("turnwise sim {}", a.flags().join(" "))
    }
    pub(crate) fn described(&self) -> SimMachine {
        fixture::report(&[], &[]).machine
    }
    pub(crate) fn workload(&self) -> String {
        "100/4000".into()
    }
    pub(crate) fn duration_ns(&self) -> u64 {
        20_000_000
    }
    pub(crate) fn warm_up_ns(&self) -> u64 {
        2_000_000
    }
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }
}
