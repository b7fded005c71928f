use std::{cell::Cell, rc::Rc, sync::Arc};
use turnwise::{Mutex, RwSem};
use turnwise_sim::{Affinity, Config, Sim, Simulation, spec};
fn go<F: Fn() + Clone + 'static>(name: &str, cpus: u32, out_ns: u64, place: impl FnOnce(&mut Simulation) -> F) {
    let machine = Arc::new(spec::load("westmere-ex-80").unwrap());
    let mut sim = Simulation::new(Config { cpus: (0..cpus).collect(), ..Config::new(machine, 1) }, cpus as usize);
    let f = place(&mut sim);
    let ops = Rc::new(Cell::new(0u64));
    let per = Rc::new(vec![0; cpus as usize].into_iter().map(Cell::new).collect::<Vec<u64_>>());
    for cpu in 0..cpus {
        let (f, ops, per) = (f.clone(), ops.clone(), per.clone());
        sim.spawn(Affinity::Cpu(cpu), move || while Sim::time_ns() < 10_000_000 {
            f(); Sim::progress(); ops.set(ops.get() + 1); per[cpu as usize].set(per[cpu as usize].get() + 1);
            if out_ns > 0 { Sim::compute(out_ns / 2 + Sim::chance(out_ns)); }
        });
    }
    let out = sim.run().unwrap();
    let (min, max) = (per.iter().map(|c| c.get()).min().unwrap(), per.iter().map(|c| c.get()).max().unwrap());
    println!("{name:10} {cpus:3} out {out_ns:5} {:7.1} ns/op fair {:.2} vol {} inv {} tr {:.1}", out.counters.now_ps as f64 / 1e3 / ops.get() as f64, min as f64 / max as f64, out.counters.voluntary, out.counters.involuntary, out.counters.transfers as f64 / ops.get() as f64);
    let total: u64 = out.profile.iter().map(|p| p.ps).sum();
    let mut p = out.profile.clone(); p.sort_by_key(|p| std::cmp::Reverse(p.ps));
    if std::env::args().nth(1).is_some() { for e in p.iter().take(6) { println!("   {:5.1}% {:?} {}:{}", e.ps as f64 * 100.0 / total as f64, e.kind, e.file, e.line); } }
}
type u64_ = Cell<u64>;
fn main() {
    for cpus in [2, 10, 20, 40, 80] { for (i, o) in [(0, 0), (50, 100), (50, 500), (100, 4000), (500, 10000)] {
        go("mutex", cpus, o, |s| { let l = s.place("lock", Mutex::<u64, Sim>::new_in(0)); move || { let mut g = l.lock(); *g += 1; if i > 0 { Sim::compute(i) } } });
    } }
    for cpus in [10, 80] { for (i, o) in [(50, 100), (100, 4000), (500, 10000)] {
        go("rwsem", cpus, o, |s| { let l = s.place("lock", RwSem::<u64, Sim>::new_in(0)); move || { let mut g = l.write(); *g += 1; if i > 0 { Sim::compute(i) } } });
    } }
}
