//! loop.c on the simulator: copy it to lab/forecast/examples, then
//! `cargo run --release -p turnwise-forecast --example loops MACHINE.toml`.

use std::sync::Arc;
use turnwise_forecast::order::{LIBC, Replay};
use turnwise_forecast::trace::{Act, Kind, Look, Stretch, Trace, TracedLock, TracedThread};

const ROUNDS: u32 = 2000;

/// A thread's stretch, which is a hundredth of what it did.
fn thread(number: u64, kind: u32, section_ns: f32, outside_ns: f32) -> TracedThread {
    let mut seed = number * 7919 + 1;
    let mut acts = Vec::new();
    for _ in 0..ROUNDS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let reader = kind == 2 || kind == 3 && (seed >> 60 & 3) != 0;
        acts.extend([Act::Acquire { lock: 0, reader }, Act::Run(section_ns)]);
        acts.extend([Act::Release { lock: 0 }, Act::Run(outside_ns)]);
    }
    let end_ns = f64::from(ROUNDS) * f64::from(section_ns + outside_ns);
    let stretches = vec![Stretch { begin_ns: 0.0, end_ns, made_before: 0, acts }];
    TracedThread { began_ns: 0.0, ended_ns: 100.0 * end_ns, acquisitions: 100 * u64::from(ROUNDS), stretches }
}

fn main() {
    let name = std::env::args().nth(1).expect("loops MACHINE.toml");
    let machine = Arc::new(turnwise_sim::spec::load(&name).expect("a machine file"));
    for (section, outside) in [(250.0, 250.0), (250.0, 100.0), (100.0, 400.0), (600.0, 200.0), (2000.0, 2000.0)] {
        for kind in 0..4 {
            let trace = Trace {
                locks: vec![TracedLock { address: 16, kind: if kind == 0 { Kind::Mutex } else { Kind::RwLock } }],
                threads: (0..2).map(|number| thread(number, kind, section, outside)).collect(),
                cpus: 2,
                policy: LIBC.to_owned(),
                kept: 1.0,
                awaited: 0.0,
                look: Look::default(),
            };
            let replay = Replay::new(trace).expect("a trace");
            let found = replay.on(&machine, 2, LIBC, 1).expect("a replay");
            println!("kind {kind}, {section} ns, {outside} ns: {:.0} k/s", found.per_s() / 1e3);
        }
    }
}
