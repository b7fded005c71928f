//! Measures the cost of recording: `tests/c/cost.c` with and without the recorder, alternately: the medians, and the
//! best of each, which are more meaningful while other programs run.
//!
//! ```sh
//! cargo run --release -p turnwise-recorder --example cost -- [ROUNDS]
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;
use turnwise_preload_abi::environment::RECORDING;
use turnwise_preload_abi::libraries::RECORDER;
use turnwise_recording::writer;

/// The cases to measure: arguments for `cost.c`, and the meaning of its figure.
const CASES: &[(&[&str], &str)] = &[
    (&["pair", "5000000"], "ns for lock and unlock, one lock"),
    (&["locks", "5000000", "100"], "ns for lock and unlock, 100 locks in turn"),
    (&["locks", "5000000", "10000"], "ns for lock and unlock, 10000 locks in turn"),
    (&["under", "5000000", "1"], "ns for lock and unlock, one lock, where another thread exists"),
    (&["under", "1000000", "4"], "ns for lock and unlock, four locks under one another, where another thread exists"),
    (&["shared", "2", "300"], "sections per second, 2 threads on one lock, short sections"),
    (&["shared", "4", "300"], "sections per second, 4 threads on one lock, short sections"),
];

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(11);
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
    let program = directory.path().join("cost");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/cost.c");
    let built = Command::new("gcc").args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).status();
    assert!(built.is_ok_and(|status| status.success()), "gcc builds tests/c/cost.c");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{rounds} rounds, load {}", load.trim());
    for (words, what) in CASES {
        let mut values = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            values[0].push(run(&program, words, None));
            values[1].push(run(&program, words, Some(&directory.path().join("recording"))));
        }
        let ratios = values[0].iter().zip(&values[1]).map(|(without, with)| with / without).collect();
        let best = if what.starts_with("ns") { f64::min } else { f64::max };
        let [best_without, best_with] = [&values[0], &values[1]].map(|all| all.iter().copied().reduce(best).unwrap());
        let [without, with] = values.map(median);
        println!(
            "{what}: without {without:.1}, with {with:.1}, median ratio {:.3}; best without {best_without:.1}, with \
             {best_with:.1}",
            median(ratios)
        );
    }
}

fn run(program: &Path, words: &[&str], recording: Option<&Path>) -> f64 {
    let mut command = Command::new(program);
    command.args(words);
    if let Some(file) = recording {
        let _ = std::fs::remove_file(file);
        writer::create(file).expect("a recording");
        command.env("LD_PRELOAD", library()).env(RECORDING, file);
    }
    let output = command.output().expect("the program runs");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("the program prints a number")
}

/// Returns where cargo puts the library when it builds only an example: in `deps` next to the examples' folder.
fn library() -> PathBuf {
    let example = std::env::current_exe().expect("the example's own path");
    let found =
        example.ancestors().map(|folder| folder.join("deps").join(RECORDER).with_extension("so")).find(|p| p.is_file());
    found.expect("cargo built the recorder")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
