//! What simulated threads do, as given on the command line.
//!
//! | text | what |
//! |---|---|
//! | `tight` | only the increment, repeatedly |
//! | `100/4000` | 100 ns with the lock, then about 4000 ns without it |
//! | `100/4000,read=90` | the same, and 90 of 100 operations read |
//! | `100/4000,writers=1` | one thread writes, the others read |
//! | `mutex:8x50/100`, `8x50/100` | a scenario of `turnwise-lab bench`: its times and roles |
//! | `…,jitter=20` | the time without the lock varies by 20%, evenly |
//!
//! Real programs never march in step, and threads that do would show patterns that no machine has: so the time without
//! the lock varies by [`JITTER`] unless the text states otherwise, and `jitter=0` turns that off. A scenario of the
//! benchmark has [`BENCH_JITTER`]: on metal its threads do the same arithmetic in each round.

use anyhow::{Context, Result, bail, ensure};
use std::str::FromStr;
use turnwise_bench::environment::Environment;
use turnwise_bench::run::{Roles, Section};
use turnwise_bench::simulated::Jitter;
use turnwise_bench::subject::{SUBJECTS, Scenario, Subject};
use turnwise_sim::Sim;

/// By how many percent the time without the lock varies either way.
pub const JITTER: u8 = 50;

/// By how many percent it varies in scenarios of the benchmark.
pub const BENCH_JITTER: u8 = 5;

/// No section or rest lasts longer.
const NS_MAX: u32 = 4_000_000_000;

/// What simulated threads do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Its text.
    pub text: String,
    /// What happens with the lock and without it, in nanoseconds.
    pub section: Section,
    /// Which threads read and which write, where the lock distinguishes them.
    pub roles: Roles,
    /// How much the time without the lock varies.
    pub jitter: Jitter,
    /// The scenario's number of threads, if it is one of the benchmark.
    pub threads: Option<u32>,
    /// Whether each thread stays on one CPU, if it is a scenario of the benchmark.
    pub pinned: Option<bool>,
}

/// `tight`, times in nanoseconds, or the name of a scenario; and what follows it after commas.
impl FromStr for Workload {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Workload> {
        let mut parts = text.split(',');
        let mut workload = Workload::named(parts.next().unwrap_or_default())?;
        for option in parts {
            workload.set(option).with_context(|| format!("workload '{text}'"))?;
        }
        Ok(Workload { text: text.to_owned(), ..workload })
    }
}

impl Workload {
    fn named(name: &str) -> Result<Workload> {
        if name == "tight" {
            return Ok(Workload::of(Section::Tight));
        }
        match times(name)? {
            Some(section) => Ok(Workload::of(section)),
            None => Workload::of_scenario(scenario(name)?),
        }
    }

    fn of(section: Section) -> Workload {
        let (roles, jitter) = (Roles::WRITE, Jitter::percent(JITTER));
        Workload { text: String::new(), section, roles, jitter, threads: None, pinned: None }
    }

    fn of_scenario(scenario: &Scenario) -> Result<Workload> {
        ensure!(
            scenario.is_plain(),
            "workload '{}' ({}) is for this machine alone: the simulator has one lock and sections",
            scenario.name,
            scenario.help
        );
        Ok(Workload {
            roles: scenario.roles(Sim::amount),
            jitter: Jitter::percent(BENCH_JITTER),
            threads: u32::try_from(scenario.threads).ok(),
            pinned: Some(scenario.pinned()),
            ..Workload::of(scenario.section(Sim::amount))
        })
    }

    fn set(&mut self, option: &str) -> Result<()> {
        let known = "'read=PERCENT', 'writers=THREADS' or 'jitter=PERCENT'";
        let Some((key, value)) = option.split_once('=') else { bail!("'{option}' is not {known}") };
        match key {
            "read" => self.roles = Roles::Mixed { read_percent: percent(key, value)? },
            "jitter" => self.jitter = Jitter::percent(percent(key, value)?),
            "writers" => {
                let writers = value.parse().with_context(|| format!("writers={value} is not a number of threads"))?;
                let rest = if let Roles::Apart { rest, .. } = self.roles { rest } else { 0 };
                self.roles = Roles::Apart { writers, rest };
            }
            _ => bail!("'{key}' is not known: {known}"),
        }
        Ok(())
    }

    /// Returns whether any thread reads, where the lock reports it.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.roles != Roles::WRITE
    }

    /// Returns which threads read and which write, rests in nanoseconds.
    ///
    /// # Errors
    /// There are too few threads for both.
    pub fn roles(&self, threads: u32) -> Result<Roles> {
        if let Roles::Apart { writers, .. } = self.roles {
            ensure!(
                writers < threads as usize,
                "workload '{}' has readers and {writers} writers apart: it needs more than {threads} threads",
                self.text
            );
        }
        Ok(self.roles)
    }
}

fn percent(key: &str, value: &str) -> Result<u8> {
    let percent = value.parse().ok().filter(|percent| *percent <= 100);
    percent.with_context(|| format!("{key}={value} is not a number of percent, 0 to 100"))
}

/// Parses `INSIDE/OUTSIDE`; `None` if it does not look like that.
fn times(text: &str) -> Result<Option<Section>> {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'_') && !text.is_empty();
    let Some((inside, outside)) = text.split_once('/').filter(|(i, o)| number(i) && number(o)) else {
        return Ok(None);
    };
    let ns = |digits: &str| {
        let ns = digits.replace('_', "").parse().ok().filter(|ns: &u32| *ns <= NS_MAX);
        ns.with_context(|| format!("workload '{text}': {digits} ns is too long: at most {NS_MAX}"))
    };
    Ok(Some(Section::Work { inside: ns(inside)?, outside: ns(outside)? }))
}

/// Returns the scenario of this name; with its subject, if several that differ have the name.
fn scenario(name: &str) -> Result<&'static Scenario> {
    let (subject, name) = match name.split_once(':') {
        Some((subject, scenario)) => {
            let names = || SUBJECTS.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
            let known = Subject::find(subject);
            (Some(known.with_context(|| format!("workload '{name}': no subject '{subject}': {}", names()))?), scenario)
        }
        None => (None, name),
    };
    let of = |s: &&'static Subject| subject.is_none_or(|subject| std::ptr::eq(subject, *s));
    let all = SUBJECTS.iter().filter(of).flat_map(|s| s.scenarios().map(move |scenario| (s.name, scenario)));
    let found: Vec<_> = all.filter(|(_, scenario)| scenario.name == name).collect();
    let Some(((_, first), others)) = found.split_first() else { bail!(unknown(name, subject)) };
    if others.iter().any(|(_, other)| !same(first, other)) {
        let names: Vec<_> = found.iter().map(|(subject, _)| format!("{subject}:{name}")).collect();
        bail!("workload '{name}' is the name of scenarios that differ: {}", names.join(", "));
    }
    Ok(first)
}

fn same(a: &Scenario, b: &Scenario) -> bool {
    let what = |s: &Scenario| (s.section(Sim::amount), s.roles(Sim::amount), s.threads, s.pinned());
    what(a) == what(b)
}

fn unknown(name: &str, subject: Option<&Subject>) -> String {
    let command = subject.map_or("bench".to_owned(), |s| format!("bench {}", s.name));
    format!(
        "workload '{name}' is neither 'tight', nor INSIDE/OUTSIDE in nanoseconds as 100/4000, nor a scenario of \
         `turnwise-lab {command} --list`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Workload {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e:#}"))
    }

    #[test]
    fn times_and_options_are_read() {
        let tight = parsed("tight");
        assert_eq!((tight.section, tight.reads(), tight.jitter), (Section::Tight, false, Jitter::percent(JITTER)));
        let mixed = parsed("100/4_000,read=90,jitter=0");
        assert_eq!(mixed.section, Section::Work { inside: 100, outside: 4000 });
        assert_eq!(mixed.roles(1).expect("one is enough"), Roles::Mixed { read_percent: 90 });
        assert_eq!(mixed.jitter, Jitter::percent(0));
        let apart = parsed("300/300,writers=2");
        assert_eq!(apart.roles(3).expect("one reads"), Roles::Apart { writers: 2, rest: 0 });
        let error = apart.roles(2).expect_err("nobody reads").to_string();
        assert!(error.contains("more than 2 threads"), "{error}");
    }

    #[test]
    fn every_scenario_of_the_benchmark_can_be_named() {
        for subject in SUBJECTS.iter() {
            for scenario in subject.scenarios().filter(|scenario| scenario.is_plain()) {
                let workload = parsed(&format!("{}:{}", subject.name, scenario.name));
                assert_eq!(workload.section, scenario.section(Sim::amount));
                assert_eq!(workload.roles, scenario.roles(Sim::amount));
                assert_eq!(workload.threads.map(|n| n as usize), Some(scenario.threads));
                assert_eq!(workload.jitter, Jitter::percent(BENCH_JITTER));
            }
        }
        assert_eq!(parsed("8x50/100").threads, Some(8), "the only subject with this name");
        assert_eq!(parsed("d_path-3").roles, Roles::Apart { writers: 1, rest: 100_000 });
        assert_eq!(parsed("osv-2").pinned, Some(true));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("", "nor INSIDE/OUTSIDE"),
            ("mutex:many-16", "for this machine alone"),
            ("ping-pong-2", "for this machine alone"),
            ("thight", "neither 'tight'"),
            ("100/", "'100/' is neither"),
            ("1/5000000000", "5000000000 ns is too long: at most 4000000000"),
            ("1/99999999999999999999", "too long"),
            ("tight,read", "'read' is not 'read=PERCENT'"),
            ("tight,read=101", "read=101 is not a number of percent, 0 to 100"),
            ("tight,jitter=-1", "jitter=-1"),
            ("tight,writers=few", "writers=few is not a number of threads"),
            ("tight,reads=1", "'reads' is not known"),
            ("mutexes:tight-2", "no subject 'mutexes': mutex, condvar, rwlock"),
            ("mutex:tight-3", "`turnwise-lab bench mutex --list`"),
        ];
        for (text, hint) in cases {
            let error = format!("{:#}", text.parse::<Workload>().expect_err(text));
            assert!(error.contains(hint), "{text}: {error}");
        }
    }
}
