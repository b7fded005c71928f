//! Reports with made-up figures, for the tests of what is made from reports.

use turnwise_bench::report::Waits;
use turnwise_simbench::report::{Cell, FORMAT, Figures, Handoffs, ProfileRow, SimMachine, SimReport, Stuck};

/// Returns a sweep over these locks and numbers of (CPUs, threads).
pub(crate) fn report(locks: &[&str], shapes: &[(u32, u32)]) -> SimReport {
    let shaped = locks.iter().flat_map(|lock| shapes.iter().map(move |shape| (lock, shape)));
    let cells: Vec<Cell> =
        shaped.zip(0..).map(|((lock, &(cpus, threads)), index)| cell(index, lock, cpus, threads)).collect();
    SimReport {
        format: FORMAT.to_owned(),
        command: "turnwise-lab sim --machine m".to_owned(),
        commit: Some("abc".to_owned()),
        machine: machine(),
        workload: "100/4000".to_owned(),
        duration_ns: 20_000_000,
        warm_up_ns: 2_000_000,
        seed: 1,
        part: (1, 1),
        cells_in_all: u32::try_from(cells.len()).unwrap(),
        cells,
    }
}

fn machine() -> SimMachine {
    SimMachine {
        name: "m".to_owned(),
        title: "Made up".to_owned(),
        cpus: 80,
        nodes: 8,
        fingerprint: "f".to_owned(),
        provisional: vec!["coherence.load_modified".to_owned()],
        numbers: 25,
        from_memory: 1,
    }
}

/// Returns a cell in which each lock (by its name) has a curve of its own.
pub(crate) fn cell(index: u32, lock: &str, cpus: u32, threads: u32) -> Cell {
    let letter = lock.bytes().map(u32::from).sum::<u32>() % 13 + 1;
    let parallel = f64::from(cpus.min(threads));
    let ops_per_s = 1e6 * f64::from(letter) * parallel / (1.0 + parallel * parallel / 300.0 / f64::from(letter));
    let result = Ok(figures(ops_per_s, parallel));
    Cell { index, lock: lock.to_owned(), cpus, nodes: cpus.div_ceil(10), threads, seed: u64::from(index) + 1, result }
}

fn figures(ops_per_s: f64, parallel: f64) -> Figures {
    let ops = (ops_per_s * 0.02) as u64;
    let op_ns = 1e9 / ops_per_s;
    let wait = |factor: f64| (op_ns * parallel * factor) as u64;
    Figures {
        ops,
        reads: None,
        ops_per_s,
        op_ns,
        cpu_ns: op_ns * parallel,
        fairness: 1.0 / parallel.sqrt(),
        wait: Some(Waits {
            count: ops,
            mean_ns: op_ns * parallel,
            p50_ns: wait(0.9),
            p99_ns: wait(4.0),
            p999_ns: wait(9.0),
            max_ns: wait(40.0),
        }),
        hold: None,
        handoffs: Handoffs { same_thread: ops / 2, same_node: ops / 4, other_node: ops / 4, run_length: 2.0 },
        transfers_per_op: 1.5 + parallel.log2(),
        remote_transfers_per_op: 0.3,
        voluntary: 12,
        involuntary: 3,
        profile: profile(parallel),
        notes: Vec::new(),
    }
}

fn profile(parallel: f64) -> Vec<ProfileRow> {
    let waits = 1.0 - 1.0 / (1.0 + parallel / 20.0);
    let row = |function: &str, place: Option<&str>, kind: &str, share: f64| ProfileRow {
        function: function.to_owned(),
        place: place.map(str::to_owned),
        kind: kind.to_owned(),
        share,
    };
    let place = Some("crates/turnwise/src/mutex/spin.rs:210");
    let mut rows = vec![
        row("turnwise::mutex::spin::wait_for_owner", place, "spin", waits * 0.8),
        row("turnwise::mutex::raw::lock", Some("crates/turnwise/src/mutex/raw.rs:80"), "memory", waits * 0.2),
        row("the workload", None, "compute", (1.0 - waits) * 0.75),
        row("idle", None, "idle", (1.0 - waits) * 0.25),
    ];
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    rows
}

/// Returns the reason why a cell found nothing.
pub(crate) fn stuck() -> Stuck {
    Stuck {
        what: "deadlock at 1.5 ms".to_owned(),
        who: "thread 1 holds lock, waits for </script> lock\nthread 2 waits".to_owned(),
        replay: "turnwise-lab sim --machine m --lock a --cpus 2 --seed 9".to_owned(),
    }
}
