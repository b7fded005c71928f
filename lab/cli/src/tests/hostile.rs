//! Hostile command lines. Machine files and reports are in `sim/tests` and `bench/tests`: next to the code that they
//! call.

use crate::{Cli, Command, PRODUCT};
use std::fmt::Display;
use turnwise_fuzz::{check, words};
use turnwise_present::{printable, usage};

/// Checks that an error names the file, and does nothing to a terminal.
pub(crate) fn named(error: impl Display, name: &str) {
    let shown = format!("{error:#}");
    assert!(shown.contains(name), "it does not say where: {shown}");
    assert!(shown.lines().all(|line| printable(line) == line), "a terminal would obey: {shown:?}");
}

#[test]
fn fuzz_lab_command() {
    let lines = [
        "bench mutex --threads 1,2-8 --lock mutex,ttas --set spin=off --json b.json --time 1s",
        "sim --machine altix-64 --lock mutex,mcs --workload 100/4000,read=90,jitter=20 --cpus 1,4-64:20 --seed 7",
        "sim --perturb random:5 --partition 1/3 --duration 20ms --warm-up 2ms --starvation 1s --html s.html",
        "sim merge a.json b.json --json all.json",
        "sim validate --curves --quick --markdown v.md",
        "calibrate --quick --cpus 0-1",
        "reproduce mutex-spinners --quick --jobs 2 --from r.json --html r.html",
        "completions bash",
    ];
    check("lab-command", 300, lines.map(|line| line.replace(' ', "\0").into()).to_vec(), |input| {
        let read = usage::try_parse::<Cli>(words("turnwise-lab", input), PRODUCT);
        let checked = read.and_then(|cli| match cli.command {
            Command::Bench(args) => args.checked().map(drop),
            _ => Ok(()),
        });
        if let Err(error) = checked {
            std::hint::black_box(error.render().to_string());
        }
    });
}
