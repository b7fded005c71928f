//! The scripts of docs/simulate-on-a-cluster.md, run as plain processes.

use crate::common::{expect, expect_of, scratch, shown};
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/simulate-on-a-cluster.md");
const SWEEP: &str = "--lock mcs,ticket --cpus 1-6 --duration 20us --warm-up 0s";
const PARTS: u32 = 16;

/// Returns the fenced block with this line in it.
fn block(line: &str) -> &'static str {
    let blocks = PAGE.split("```").skip(1).step_by(2);
    let block = blocks.into_iter().find(|block| block.lines().any(|other| other.trim() == line));
    block.and_then(|block| block.split_once('\n')).expect("the page has the block").1
}

/// Returns a process that finds the program under test on its path.
fn process(directory: &Path, program: &str) -> Command {
    let program_under_test = Path::new(crate::PROGRAM);
    let folder = program_under_test.parent().expect("it is in a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.current_dir(directory).env("PATH", path).env("SWEEP", SWEEP).env_remove("LD_PRELOAD");
    command
}

/// Checks that the parts in a folder are the sweep.
fn check(folder: &Path) {
    let files: Vec<_> = (1..=PARTS).map(|part| folder.join(format!("{part}.json"))).collect();
    let files: Vec<&str> = files.iter().map(|file| shown(file)).collect();
    let (merged, _) = expect(0, &[["sim", "merge"].as_slice(), &files].concat());
    let sweep: Vec<&str> = SWEEP.split(' ').collect();
    let (whole, _) = expect(0, &[["sim"].as_slice(), &sweep].concat());
    assert_eq!(merged, whole);
}

#[test]
fn the_slurm_script_runs_a_part() {
    let directory = scratch();
    std::fs::write(directory.path().join("sweep.sh"), block("#SBATCH --array=1-16")).expect("it can be written");
    for task in 1..=PARTS {
        let mut command = process(directory.path(), "bash");
        command.arg("sweep.sh").env("SLURM_ARRAY_TASK_ID", task.to_string()).env("SLURM_CPUS_PER_TASK", "2");
        expect_of(0, &mut command);
    }
    check(&directory.path().join("parts"));
}

#[test]
fn the_container_of_the_kubernetes_job_runs_a_part() {
    let job = block("completionMode: Indexed");
    assert!(job.contains(&format!("completions: {PARTS}\n")));
    let (_, script) = job.split_once("- |\n").expect("the script is a literal");
    let indent = script.len() - script.trim_start().len();
    let inside = |line: &&str| line.len() > indent && line[..indent].trim().is_empty();
    let script: Vec<&str> = script.lines().take_while(inside).map(|line| &line[indent..]).collect();
    let directory = scratch();
    for index in 0..PARTS {
        let mut command = process(directory.path(), "sh");
        command.args(["-euc", &script.join("\n")]);
        command.env("JOB_COMPLETION_INDEX", index.to_string()).env("PARTS_DIR", directory.path());
        expect_of(0, &mut command);
    }
    check(directory.path());
}
