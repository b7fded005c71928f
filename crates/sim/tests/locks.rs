mod support;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use turnwise::{Mutex, SpinLock, McsLock, TicketLock, QueuedSpinLock};
use turnwise_sim::{Affinity, Config, Sim, Simulation, spec};

macro_rules! contended {
    ($name:expr, $cpus:expr, $make:expr, |$lock:ident| $body:expr) => {{
        let machine = Arc::new(spec::load("westmere-ex-80").unwrap());
        let cpus: Vec<u32> = $cpus;
        let mut sim = Simulation::new(Config { cpus: cpus.clone(), ..Config::new(machine, 1) }, cpus.len());
        let lock = sim.place("lock", $make);
        let ops = Rc::new(Cell::new(0u64));
        for &cpu in &cpus {
            let $lock = lock.clone();
            let ops = Rc::clone(&ops);
            sim.spawn(Affinity::Cpu(cpu), move || {
                while Sim::time_ns() < 2_000_000 {
                    $body;
                    Sim::progress();
                    ops.set(ops.get() + 1);
                }
            });
        }
        let out = sim.run().expect("gets on");
        println!("{:8} {:4} {:8.1} ns/op tr/op {:.1}", $name, cpus.len(), out.counters.now_ps as f64/1000.0/ops.get() as f64, out.counters.transfers as f64/ops.get() as f64);
    }};
}

#[test]
fn micro() {
    for n in 2..=8 {
        contended!("queued same", (0..n).collect(), turnwise::QueuedSpinLock::<(), Sim>::new_in(()), |l| drop(l.lock()));
        contended!("mcs same", (0..n).collect(), McsLock::<(), Sim>::new_in(()), |l| l.with(|_| ()));
    }
    for n in 2..=8 {
        contended!("queued diff", (0..n).map(|c| c * 10).collect(), turnwise::QueuedSpinLock::<(), Sim>::new_in(()), |l| drop(l.lock()));
        contended!("mcs diff", (0..n).map(|c| c * 10).collect(), McsLock::<(), Sim>::new_in(()), |l| l.with(|_| ()));
    }
}
