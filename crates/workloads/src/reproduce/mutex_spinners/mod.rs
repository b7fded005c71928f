//! `mutex_spinners`.
mod load;
mod model;
use super::Context;
use super::report::DocumentReport;
use anyhow::Result;
use load::Shape;
use model::*;
use std::sync::Arc;
use turnwise_sim::spec;
pub(super) fn run(context: &Context<'_>) -> Result<DocumentReport> {
    let env = |n: &str, d: u64| std::env::var(n).ok().and_then(|v| v.parse().ok()).unwrap_or(d);
    let mut machine = spec::load("westmere-ex-80")?;
    machine.system.syscall = 0;
    let machine = Arc::new(machine);
    let think = env("THINK", 90_000);
    let tax = env("TAX", 17) as f64 / 100.0;
    for nodes in [1u32, 2, 4, 8] {
        for kind in Kind::ALL {
            let t = std::time::Instant::now();
            let n = f64::from(nodes);
            let shape = Shape {
                users: env("USERS", 1500) as u32,
                file_systems: env("FS", 1) as u32,
                think_ns: (think as f64 * (1.0 + tax * 2.0 * (1.0 - 1.0 / n))) as u64,
                hold_ns: env("HOLD", 500),
                handles_per_write: env("C", 100) as u32,
                write_ns: env("WRITE", 1000),
                handles: env("HANDLES", 2) as u32,
                end_ns: WARM_UP_NS + env("MS", 30) * 1_000_000,
            };
            let s = Run { machine: Arc::clone(&machine), kind, cpus: nodes * 10, shape, seed: 1 }.run()?;
            let top: Vec<String> = s
                .profile
                .iter()
                .take(env("TOP", 5) as usize)
                .map(|r| format!("{} {} {:.1}", r.function, r.kind, r.share * 100.0))
                .collect();
            eprintln!(
                "{nodes} {:30} jpm {:8.0} {:?} {}",
                kind.name(),
                s.creats_per_s * 60.0 / 32.14,
                t.elapsed(),
                top.join(", ")
            );
        }
    }
    let _ = context;
    anyhow::bail!("x")
}
