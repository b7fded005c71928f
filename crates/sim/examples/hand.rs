//! scratch
#![allow(missing_docs, dead_code)]
#[path = "../../workloads/src/simulate/validation/qspinlock.rs"]
mod qspinlock;
mod m {}
use std::{cell::Cell, rc::Rc, sync::Arc};
use turnwise::{McsLock, QueuedSpinLock};
use turnwise_sim::{Affinity, Config, Sim, Simulation, spec};
fn once(which: u32, tasks: u32, stride: u32, seed: u64, sb: bool) -> f64 {
    let mut machine = spec::load("westmere-ex-80").unwrap();
    machine.cpu.store_buffer = sb;
    let mut s = Simulation::new(Config::new(Arc::new(machine), seed), tasks as usize);
    let body: Rc<dyn Fn()> = match which {
        0 => {
            let l = qspinlock::KernelQueuedLock::place(&mut s, tasks);
            Rc::new(move || {
                l.lock();
                l.unlock();
            })
        }
        1 => {
            let l = s.place("l", McsLock::<(), Sim>::new_in(()));
            Rc::new(move || l.with(|()| ()))
        }
        _ => {
            let l = s.place("l", QueuedSpinLock::<(), Sim>::new_in(()));
            Rc::new(move || drop(l.lock()))
        }
    };
    let done = Rc::new(Cell::new(0u64));
    for t in 0..tasks {
        let (b, d) = (body.clone(), done.clone());
        s.spawn(Affinity::Cpu(t * stride), move || {
            while Sim::time_ns() < 5_000_000 {
                b();
                Sim::progress();
                d.set(d.get() + 1);
            }
        });
    }
    let o = s.run().unwrap();
    o.counters.now_ps as f64 / 1e3 / done.get() as f64
}
fn main() {
    for (tasks, stride, p) in [
        (2, 1, 75.7),
        (3, 1, 150.0),
        (4, 1, 141.0),
        (5, 1, 141.0),
        (6, 1, 139.0),
        (7, 1, 139.0),
        (8, 1, 139.0),
        (3, 10, 806.0),
        (4, 10, 525.0),
    ] {
        print!("{tasks} x{stride} published {p}:");
        for w in 0..3 {
            for sb in [false, true] {
                print!("  {w}{} {:.0}", if sb { "b" } else { "" }, once(w, tasks, stride, 1, sb));
            }
        }
        println!();
    }
}
