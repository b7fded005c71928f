//! `sim MACHINE 'NAME=VALUE ...;...' 'WORKLOAD;...' THREADS[/CPUS],... LOCK MS SEEDS`: simulated cells under policies.
//! Million operations a second, fairness, the longest wait in us, lines an operation; the median of the seeds.
//!
//! In a crate that depends on `turnwise` (features `native`, `spin`, `set-policy`), `turnwise-sim` and
//! `turnwise-simbench`.

use std::sync::Arc;
use turnwise::wait::{Field, Policy, set_policy};
use turnwise_sim::spec::Machine;
use turnwise_simbench::report::Figures;
use turnwise_simbench::{Plan, SimLock, Workload, run};

fn policy(text: &str) -> &'static Policy {
    let mut policy = Policy::DEFAULT;
    for (name, value) in text.split_whitespace().map(|set| set.split_once('=').unwrap()) {
        Field::named(name).unwrap().set(&mut policy, value.parse().unwrap()).unwrap();
    }
    Box::leak(Box::new(policy))
}

fn cell(machine: &Arc<Machine>, lock: &str, workload: &Workload, place: &str, words: &[String]) -> Figures {
    let (threads, cpus) = place.split_once('/').unwrap_or((place, place));
    let run = |seed| {
        let mut plan = Plan::new(Arc::clone(machine), SimLock::find(lock).unwrap(), workload.clone(), seed);
        plan.threads = threads.parse().unwrap();
        plan.cpus.truncate(cpus.parse().unwrap());
        plan.pinned = threads == cpus;
        plan.duration_ns = words[5].parse::<u64>().unwrap() * 1_000_000;
        plan.warm_up_ns = 2_000_000;
        run::run(&plan).unwrap().cell.result.expect("nobody is stuck")
    };
    let mut all: Vec<_> = (1..=words[6].parse().unwrap()).map(run).collect();
    all.sort_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s));
    all.swap_remove(all.len() / 2)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let machine = Arc::new(turnwise_sim::spec::load(&words[0]).unwrap());
    for text in words[2].split(';') {
        let workload: Workload = text.parse().unwrap();
        for sets in words[1].split(';') {
            set_policy(policy(sets));
            print!("{text:10} {sets:36}");
            for place in words[3].split(',') {
                let found = cell(&machine, &words[4], &workload, place, &words);
                let longest_us = found.wait.as_ref().map_or(0.0, |wait| wait.max_ns as f64 / 1e3);
                let (speed, lines) = (found.ops_per_s / 1e6, found.transfers_per_op);
                print!(" {speed:6.2}(f{:.2} w{longest_us:5.0} t{lines:4.1})", found.fairness);
            }
            println!();
        }
    }
}
