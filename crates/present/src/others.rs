//! Measures the CPU use of others during a measurement.

use crate::cpus;
use crate::spent::Spent;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The share below which others affect a figure little.
const LITTLE: f64 = 0.1;

/// Elapsed time on the CPUs that this process may use, in seconds, summed over them.
#[derive(Clone, Copy, Default)]
struct Times {
    all: f64,
    /// Programs ran.
    programs: f64,
    /// Programs were runnable, and the host ran others.
    stolen: f64,
    /// Of `programs`: this process and the children that it waited for.
    own: f64,
}

/// A watch from a moment on.
pub struct Watch {
    cpus: Vec<u32>,
    /// A process that is not ours, but counts as if it were.
    beside: Option<u32>,
    begin: Times,
    began: Instant,
}

/// The use by others, as shares of the time of the CPUs that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Others {
    /// Other programs of this system.
    pub programs: f64,
    /// The host of this virtual machine, for other machines ("steal").
    pub host: f64,
}

impl Watch {
    /// Starts a watch now; `None`: the system does not report the times.
    pub fn begin() -> Option<Watch> {
        Watch::of(None)
    }

    /// Starts a watch now, of all but this process and that one, which is not its child.
    pub fn beside(pid: u32) -> Option<Watch> {
        Watch::of(Some(pid))
    }

    fn of(beside: Option<u32>) -> Option<Watch> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let mut cpus = cpus::allowed().ok()?;
        // CPUs that are allowed but offline have no line.
        cpus.retain(|cpu| stat.contains(&format!("\ncpu{cpu} ")));
        let begin = Times::now(&cpus, beside)?;
        Some(Watch { cpus, beside, begin, began: Instant::now() })
    }

    /// Returns the use up to now; `None`: the system does not report it, or no time has passed.
    pub fn end(&self) -> Option<Others> {
        Times::now(&self.cpus, self.beside)?.since(self.begin)
    }

    /// Returns the use up to now; `None` also if the time is too short for the system's ticks.
    pub fn end_if_long(&self) -> Option<Others> {
        const LEAST: Duration = Duration::from_millis(200);
        (self.began.elapsed() >= LEAST).then(|| self.end())?
    }
}

impl Others {
    /// Returns whether they affected the figures of that time.
    pub fn took_much(&self) -> bool {
        self.programs > LITTLE || self.host > LITTLE
    }

    /// Returns the notes to print with the figures, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.each().map(|taken| format!("{taken} meanwhile, which affects the figures")).collect()
    }

    /// Returns the notes in one clause: `other programs took 31% of the CPUs`.
    pub fn taken(&self) -> String {
        self.each().collect::<Vec<_>>().join(", and ")
    }

    fn each(&self) -> impl Iterator<Item = String> {
        let shown = [(self.programs, "other programs"), (self.host, "the host of this virtual machine")];
        let shown = shown.into_iter().filter(|(share, _)| *share > LITTLE);
        shown.map(|(share, who)| format!("{who} took {:.0}% of the CPUs", share * 100.0))
    }
}

impl Times {
    fn now(cpus: &[u32], beside: Option<u32>) -> Option<Times> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let beside = beside.and_then(|pid| ticks_of(pid).map(|ticks| ticks / per_second)).unwrap_or(0.0);
        Some(Times { own: own_seconds() + beside, ..Times::of(&stat, cpus, per_second)? })
    }

    /// Parses `/proc/stat`. Interrupts are attributed to none: a program that sends itself packets causes them as well.
    fn of(stat: &str, cpus: &[u32], per_second: f64) -> Option<Times> {
        let mut times = Times::default();
        let (mut found, mut lines) = (0, stat.lines().filter_map(|line| line.strip_prefix("cpu")));
        while let Some((cpu, rest)) = lines.next().and_then(|line| line.split_once(' ')) {
            if !cpu.parse().is_ok_and(|cpu| cpus.contains(&cpu)) {
                continue;
            }
            let fields: Vec<f64> = rest.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
            let [user, nice, system, _idle, _iowait, _irq, _softirq, steal] = fields.get(..8)? else { return None };
            times.all += fields[..8].iter().sum::<f64>() / per_second;
            times.programs += (user + nice + system) / per_second;
            times.stolen += steal / per_second;
            found += 1;
        }
        (found == cpus.len()).then_some(times)
    }

    fn since(self, begin: Times) -> Option<Others> {
        let all = self.all - begin.all;
        let share = |time: f64| (time / all).clamp(0.0, 1.0);
        let (programs, own) = (self.programs - begin.programs, self.own - begin.own);
        (all > 0.0).then(|| Others { programs: share(programs - own), host: share(self.stolen - begin.stolen) })
    }
}

/// Returns the CPU time of this process and of the children that it waited for, in seconds.
pub fn own_seconds() -> f64 {
    (Spent::here().cpu + Spent::by_children().cpu).as_secs_f64()
}

/// Returns the CPU time of a process, in the system's ticks; `None`: it has ended.
fn ticks_of(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name, in parentheses, may contain any characters.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some(ticks(11)? + ticks(12)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  999 0 999 9999 0 0 0 999 0 0\ncpu0 100 20 30 800 10 5 15 20 3 0\n\
                        cpu2 200 0 100 500 0 0 0 200 0 0\nintr 5 6 7\n";

    #[test]
    fn only_our_cpus_count() {
        let both = Times::of(STAT, &[0, 2], 100.0).unwrap();
        assert_eq!((both.all, both.programs, both.stolen), (20.0, 4.5, 2.2));
        let one = Times::of(STAT, &[2], 100.0).unwrap();
        assert_eq!((one.all, one.programs, one.stolen), (10.0, 3.0, 2.0));
        assert!(Times::of(STAT, &[0, 1], 100.0).is_none(), "CPU 1 is not there");
        assert!(Times::of("cpu0 1 2 3\n", &[0], 100.0).is_none(), "an old kernel");
    }

    #[test]
    fn what_is_ours_is_not_theirs() {
        let begin = Times { all: 100.0, programs: 50.0, stolen: 5.0, own: 10.0 };
        let end = Times { all: 120.0, programs: 60.0, stolen: 9.0, own: 15.0 };
        assert_eq!(end.since(begin), Some(Others { programs: 0.25, host: 0.2 }));
        assert_eq!(begin.since(begin), None);
        let ticked_late = Times { own: 30.0, ..end };
        assert_eq!(ticked_late.since(begin).map(|others| others.programs), Some(0.0));
    }

    #[test]
    fn little_is_not_worth_a_word() {
        assert!(Others { programs: 0.09, host: 0.05 }.notes().is_empty());
        let notes = Others { programs: 0.314, host: 0.2 }.notes();
        assert!(notes[0].starts_with("other programs took 31% of the CPUs") && notes[1].starts_with("the host"));
    }

    #[test]
    fn a_process_that_is_watched_too_is_no_other() {
        let mut busy = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let ticks = || ticks_of(busy.id()).expect("it runs");
        let before = ticks();
        while ticks() < before + 5.0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert_eq!(ticks_of(busy.id()), None);
    }

    #[test]
    fn it_works_here() {
        let watch = Watch::begin().expect("Linux tells");
        std::thread::sleep(std::time::Duration::from_millis(60));
        let others = watch.end().expect("time went by");
        assert!((0.0..=1.0).contains(&others.programs) && (0.0..=1.0).contains(&others.host), "{others:?}");
    }
}
