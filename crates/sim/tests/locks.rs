mod support;
use std::cell::Cell;
use std::rc::Rc;
use turnwise::{Mutex, SpinLock, McsLock, TicketLock};
use turnwise_sim::{Affinity, Config, Sim, Simulation};


macro_rules! contended {
    ($name:expr, $cpus:expr, $make:expr, |$lock:ident| $body:expr) => {{
        let machine = support::shared(8, 10);
        let mut sim = Simulation::new(Config { cpus: (0..$cpus).collect(), ..Config::new(machine, 1) }, $cpus as usize);
        let lock = sim.place("lock", $make);
        let ops = Rc::new(Cell::new(0u64));
        for cpu in 0..$cpus {
            let $lock = lock.clone();
            let ops = Rc::clone(&ops);
            sim.spawn(Affinity::Cpu(cpu), move || {
                while Sim::time_ns() < 20_000_000 {
                    $body;
                    Sim::progress();
                    Sim::compute(Sim::chance(200));
                    ops.set(ops.get() + 1);
                }
            });
        }
        let t = std::time::Instant::now();
        let out = sim.run().expect("gets on");
        let el = t.elapsed().as_secs_f64();
        println!("{:8} {:4} {:8.1} ns/op  acc/s {:6.2}M ev/s {:6.2}M  {:.3}s vol {} inv {} tr/op {:.1}", $name, $cpus, out.counters.now_ps as f64/1000.0/ops.get() as f64, out.counters.accesses as f64/el/1e6, out.counters.events as f64/el/1e6, el, out.counters.voluntary, out.counters.involuntary, out.counters.transfers as f64/ops.get() as f64);
    }};
}

#[test]
fn try_all() {
    for cpus in [1, 2, 4, 8, 10, 20, 40, 80] {
        contended!("ttas", cpus, SpinLock::<u64, turnwise::backoff::NoBackoff, Sim>::new_in(0), |l| *l.lock() += 1);
        contended!("ticket", cpus, TicketLock::<u64, turnwise::backoff::NoBackoff, Sim>::new_in(0), |l| *l.lock() += 1);
        contended!("mcs", cpus, McsLock::<u64, Sim>::new_in(0), |l| l.with(|n| *n += 1));
        contended!("mutex", cpus, Mutex::<u64, Sim>::new_in(0), |l| *l.lock() += 1);
    }
}

#[test]
fn prof() {
    for cpus in [10u32, 80] {
        let machine = support::shared(8, 10);
        let mut sim = Simulation::new(Config { cpus: (0..cpus).collect(), ..Config::new(machine, 1) }, cpus as usize);
        let lock = sim.place("lock", Mutex::<u64, Sim>::new_in(0));
        for cpu in 0..cpus {
            let l = lock.clone();
            sim.spawn(Affinity::Cpu(cpu), move || {
                while Sim::time_ns() < 20_000_000 {
                    *l.lock() += 1;
                    Sim::compute(Sim::chance(200));
                }
            });
        }
        let out = sim.run().expect("gets on");
        let total: u64 = out.profile.iter().map(|p| p.ps).sum();
        let mut p = out.profile.clone(); p.sort_by_key(|p| std::cmp::Reverse(p.ps));
        for e in p.iter().take(14) { println!("{:5.1}% {:?} {}:{}", e.ps as f64 * 100.0/total as f64, e.kind, e.file, e.line); }
    }
}
#[test]
fn perf_mcs() {
    for _ in 0..3 { contended!("mcs", 80, McsLock::<u64, Sim>::new_in(0), |l| l.with(|n| *n += 1)); }
}
#[test]
fn perf_ticket() {
    contended!("ticket", 80, TicketLock::<u64, turnwise::backoff::NoBackoff, Sim>::new_in(0), |l| *l.lock() += 1);
}
