//! `turnwise-lab sim --self-bench`: how fast the simulator is on this host.

use anyhow::Result;
use std::sync::Arc;
use turnwise_present::figures::short;
use turnwise_present::table::{self, Cell, CellAlignment};
use turnwise_sim::selfbench::{self, Row};
use turnwise_sim::spec::Machine;

/// Measures, and renders the result.
///
/// # Errors
/// The host has no clock of a thread's CPU time.
pub(crate) fn text(machine: &Machine) -> Result<String> {
    let bench = selfbench::run(&Arc::new(machine.clone()))?;
    let mut table = table::ruled();
    table.set_header(["simulated on one CPU of this host", "accesses", "CPU time", "per second", "/ switches"]);
    for row in &bench.rows {
        table.add_row(cells(row, bench.switches_per_s));
    }
    let switches = short(bench.switches_per_s);
    let memory = bench.peak_bytes >> 20;
    Ok(format!(
        "machine {}; a bare switch to another stack and back: {switches} per second; memory: {memory} MiB at most\n\
         {table}\naccesses: loads, stores and read-modify-writes that were charged, those of waiters that read a \
         line again included\n",
        machine.name
    ))
}

fn cells(row: &Row, switches_per_s: f64) -> impl Iterator<Item = Cell> {
    let time = format!("{:.2} s", row.seconds);
    let ratio = format!("{:.2}", row.per_s() / switches_per_s);
    let figures = [short(row.accesses as f64), time, short(row.per_s()), ratio];
    let figures = figures.map(|text| Cell::new(text).set_alignment(CellAlignment::Right));
    [Cell::new(&row.what)].into_iter().chain(figures)
}
