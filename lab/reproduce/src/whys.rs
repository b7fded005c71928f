//! What may explain the misses of each document: a sentence of physics, and the experiment that would settle it. A
//! sentence is shown if something that it is about is missed.

use crate::report::{Claim, DocumentReport, Row, Verdict};
use serde::{Deserialize, Serialize};

/// A sentence of physics.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Why {
    /// The rows that it is about: how their keys begin.
    pub rows: Vec<String>,
    /// The claims that it is about: a part of their wording.
    pub claims: Vec<String>,
    /// What differs here.
    pub physics: String,
    /// What would settle it.
    pub experiment: String,
}

impl Why {
    /// Whether it is about this row.
    #[must_use]
    pub fn covers(&self, row: &Row) -> bool {
        self.rows.iter().any(|key| row.key.starts_with(key.as_str()))
    }

    /// Whether it is about this claim.
    #[must_use]
    pub fn is_about(&self, claim: &Claim) -> bool {
        self.claims.iter().any(|part| claim.what.contains(part.as_str()))
    }
}

/// What a sentence has to explain.
#[derive(Clone, Debug)]
pub struct Miss<'a> {
    /// The sentence.
    pub why: &'a Why,
    /// Claims that do not hold, or only in direction.
    pub claims: Vec<&'a Claim>,
    /// Rows that were missed.
    pub missed: usize,
    /// Rows that were judged.
    pub judged: usize,
}

impl DocumentReport {
    /// The sentences that have something to explain. A row or a claim is the first one's that is about it.
    #[must_use]
    pub fn misses(&self) -> Vec<Miss<'_>> {
        let mut rows: Vec<(&Row, bool)> = self.rows().filter_map(|row| Some((row, row.met()?))).collect();
        let mut claims: Vec<&Claim> = self.claims.iter().filter(|claim| claim.verdict != Verdict::Holds).collect();
        let mut misses = Vec::new();
        for why in &self.whys {
            let (own, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(row, _)| why.covers(row));
            let (about, rest): (Vec<_>, Vec<_>) = claims.into_iter().partition(|claim| why.is_about(claim));
            (rows, claims) = (others, rest);
            let missed = own.iter().filter(|(_, met)| !met).count();
            if missed > 0 || !about.is_empty() {
                misses.push(Miss { why, claims: about, missed, judged: own.len() });
            }
        }
        misses
    }
}

/// Beginnings of keys, parts of claims, physics, experiment.
type Entry = (&'static [&'static str], &'static [&'static str], &'static str, &'static str);

/// What is known about a document's misses.
#[must_use]
pub fn of(document: &str) -> Vec<Why> {
    let entries = match document {
        "mutex_spinners" => MUTEX_SPINNERS,
        "rwsem_stealing" => RWSEM_STEALING,
        "dcache" => DCACHE,
        "spin_backoff" => SPIN_BACKOFF,
        _ => HANDOFF_SPIN,
    };
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let why = |(rows, claims, physics, experiment): &Entry| Why {
        rows: owned(rows),
        claims: owned(claims),
        physics: (*physics).to_owned(),
        experiment: (*experiment).to_owned(),
    };
    entries.iter().map(why).collect()
}

const MUTEX_SPINNERS: &[Entry] = &[
    (
        &["mutex_spinners.profile", "mutex_spinners.mutex_percent", "mutex_spinners.queued"],
        &["queue for one"],
        "the document's crowd waits as readers of the journal's lock, in bursts; ours waits at a mutex, because \
         commits are cheaper here",
        "time jbd2's commits on a 3.7 kernel with RAM disks (its tracepoints), and give the model's commits that \
         length",
    ),
    (
        &["mutex_spinners.workloads[5]"],
        &[],
        "`short` contends where hundreds of children leave at once, at the end of a run; whole runs have that here, \
         too, but the mutexes that they take are held too briefly for the second patch to matter",
        "`perf lock` on a 3.7 kernel under `short`: which mutex is contended, and how long it is held",
    ),
    (
        &["mutex_spinners.workloads", "mutex_spinners.note_low_users"],
        &["change nothing", "nor on 4"],
        "with one file system every job visits the same list of orphans, so the mutex is contended where the \
         document's 16 file systems have nobody waiting",
        "find what stops 16 file systems: `perf lock` on a 3.7 kernel, or commits that O_SYNC writes force",
    ),
    (
        &["mutex_spinners"],
        &["help on 8 nodes", "falls from 4 to 8"],
        "the figures of 4 and 8 nodes hang on when the journal's transactions fill, which is a cliff here: seeds \
         differ by tens of per cent",
        "count commits and their causes under fserver on a 3.7 kernel, on 4 nodes and on 8",
    ),
];

const RWSEM_STEALING: &[Entry] = &[(
    &[""],
    &["double", "keep more", "sleep less"],
    "both kernels keep more than twice as many CPUs busy as there, which the ratio does not show: the machine is a \
     guess, and what else a user waited for in the document's whole runs is not known",
    "the author's machine; or the same whole run, with times of the series' steps, on a Nehalem-EP with Linux 3.8",
)];

const DCACHE: &[Entry] = &[
    (
        &["dcache.raw_spin_lock_percent[3]", "dcache.raw_spin_lock_percent"],
        &["takes most of the time"],
        "the first kernel's queue at the root is there or not, and the patched kernel's remainder is in other spin \
         locks, of which the model has only some",
        "`lock_stat` of a patched 3.10 kernel under high_systime: which locks the remaining 4% are",
    ),
    (
        &["dcache"],
        &["without it"],
        "the document counts as `reaim` what the profiler did not see renamed; in the model every process has its name",
        "count the profiler's lost COMM records in such a run",
    ),
];

const SPIN_BACKOFF: &[Entry] = &[
    (
        &[
            "spin_backoff.rows[0].backoff[0] /",
            "spin_backoff.rows[1].backoff[0] /",
            "spin_backoff.rows[2].backoff[0] /",
            "spin_backoff.rows[3].backoff[0] /",
            "a of",
            "b of",
        ],
        &["back off gain", "another type"],
        "part of what grows with the CPUs is the distance of what the lock protects, and stays; the rest is the \
         spinning itself, which on 64 CPUs back-off takes away here, and did not there",
        "count misses of the lock's line and of its neighbours with an Itanium's counters, with and without back-off",
    ),
    (
        &["spin_backoff"],
        &[],
        "lines that an owner touches and number of acquisitions are fitted at 8 and 64 CPUs, and what lies between \
         depends on how a directory serves a crowd: by queue, or by refusal and retry",
        "latency of a line against the number of its sharers on a machine of that family (Hristea and others, SC'97)",
    ),
];

const HANDOFF_SPIN: &[Entry] = &[
    (
        &["handoff_spin.rows[0]"],
        &["2 threads"],
        "33 ns are possible only if a thread mostly follows itself: how long the two threads overlap decides, and the \
         document does not say it",
        "misc-mutex on OSv of July 2014 with the starts and the ends of its threads printed",
    ),
    (
        &["handoff_spin"],
        &["4 threads", "20 threads", "without contention"],
        "wake-ups are too cheap here: idle CPUs still poll when they are asked, where the document's may have halted, \
         so that each wake-up left the guest for an interrupt",
        "the same run with the idle loop's polling switched off",
    ),
];
