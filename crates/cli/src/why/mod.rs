//! `turnwise why`: which threads wait for which, right now.

mod json;
mod looks;
mod report;

use crate::live::{Model, Names, Outside, View, Watch, Which};
use anyhow::{Error, Result, bail};
use looks::Looks;
use std::process::ExitCode;
use std::time::Duration;
use turnwise_futex_trace::threads;
use turnwise_present::ending::{STUCK, print};

/// The time between two looks: a wait that lasts from one to the next is not transient.
const APART: Duration = Duration::from_millis(200);

/// Explain why a program is stuck: which thread waits for which
///
/// Looks twice within a fifth of a second, without stopping anything: at the live view of a program under `turnwise
/// run`; at any other process of yours from outside, where glibc's mutexes and readers-writer locks name their owners.
/// Threads that wait for each other in a circle are a deadlock, and are shown with their call stacks; so are threads
/// that others wait for. A thread that waits for a lock that it has itself is in a deadlock, too, unless other threads
/// run that may release it. Exits with 3 if there is a deadlock, with 0 if not.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A process number, or the name of programs under `turnwise run`
    #[arg(value_name = "PID | NAME")]
    which: Which,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  turnwise why 1234
  turnwise why --json 1234 | jq .deadlock
  turnwise why server || echo deadlock or no such program";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut names = Names::default();
    let [first, second] = match Watch::open(args.which.clone()) {
        Ok(watch) => looks_at(watch, &mut names)?,
        Err(error) => looks_from_outside(&args.which, error, &mut names)?,
    };
    let looks = Looks { first: &first, second: &second, count: threads_of, goes_on };
    let (text, is_stuck) = if args.json { json::line(looks, &mut names) } else { report::text(looks, &mut names) };
    print(&text)?;
    Ok(if is_stuck { ExitCode::from(STUCK) } else { ExitCode::SUCCESS })
}

fn looks_at(mut watch: Watch, names: &mut Names) -> Result<[View; 2]> {
    let mut model = Model::default();
    let first = model.step(&watch.snapshots()?);
    std::thread::sleep(APART);
    let mut looks = [first, model.step(&watch.snapshots()?)];
    looks.iter_mut().for_each(|look| names.add_kinds(look));
    Ok(looks)
}

/// Looks at a process that has no live view, for the reason in `error`, because it does not run under `turnwise run`.
fn looks_from_outside(which: &Which, error: Error, names: &mut Names) -> Result<[View; 2]> {
    let &Which::Pid(pid) = which else {
        bail!("{error}; a process without one is known by its number: turnwise why PID");
    };
    let Some(mut outside) = Outside::of(pid)? else { return Err(error) };
    let first = outside.look(names)?;
    std::thread::sleep(APART);
    Ok([first, outside.look(names)?])
}

/// Returns how many threads a process has.
fn threads_of(pid: u32) -> Option<usize> {
    std::fs::read_dir(format!("/proc/{pid}/task")).ok().map(Iterator::count)
}

/// Returns whether any thread of a process but these can make progress by itself. One that waits in the kernel to be
/// woken by another, without a timeout (a condition variable, a join), cannot.
fn goes_on(pid: u32, but: &[u32]) -> bool {
    let read = |tid: u32, name: &str| std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}")).ok();
    let mut others = threads(pid).into_iter().filter(|tid| !but.contains(tid));
    others.any(|tid| match (read(tid, "syscall"), read(tid, "wchan")) {
        (Some(call), _) => !waits_to_be_woken(&call),
        // Only a debugger may see the call; this shows less.
        (None, Some(place)) => !place.starts_with("futex"),
        (None, None) => true,
    })
}

/// Returns whether a line of `/proc/PID/task/TID/syscall` is of a call that lasts until another thread ends it.
fn waits_to_be_woken(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let is_futex = words.next().and_then(|number| number.parse().ok()) == Some(libc::SYS_futex);
    // The fourth argument is the timeout.
    is_futex && words.nth(3) == Some("0x0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_without_a_time_goes_on_only_by_others() {
        let futex = |time: &str| format!("{} 0x7f00 0x80 0x2 {time} 0x0 0x0 0x7ffd 0x7fdb", libc::SYS_futex);
        assert!(waits_to_be_woken(&futex("0x0")) && !waits_to_be_woken(&futex("0x7ffd41bf9840")));
        assert!(
            ["running", "-1 0x7ffd 0x7fdb", "35 0x7f00 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7fdb", ""]
                .iter()
                .all(|line| !waits_to_be_woken(line))
        );
    }
}
