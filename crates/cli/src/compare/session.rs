//! The runs of a comparison: their order, which of them count, and the message when one fails.

use super::looks::is_settled;
use super::report::Report;
use super::runs::{Run, complete_rounds, summarise};
use super::settings::Settings;
use crate::measure::{EXCERPT_LINES, End, Outcome, Runner, excerpt, last_lines};
use crate::metric::{Metric, Missing};
use crate::preload;
use crate::variant::Variant;
use anyhow::{Result, anyhow, bail};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use turnwise_present::ending::{CHECK_FAILED, Failure, INTERRUPTED, USAGE_OR_IO};
use turnwise_present::others;
use turnwise_present::progress::{self, ProgressBar, ProgressFinish};

pub(crate) struct Session<'a> {
    pub(crate) settings: Settings,
    /// The contenders; the first is the baseline.
    pub(crate) variants: Vec<Variant>,
    /// The metrics; the first decides.
    pub(crate) metrics: Vec<Metric>,
    pub(crate) runner: Runner<'a>,
    /// Whether the user wants to see what the program prints.
    pub(crate) show_output: bool,
}

impl Session<'_> {
    /// Makes all runs, or fewer if the user interrupts; fails if a run does, or lacks a metric.
    pub(crate) fn measure(&self) -> Result<Report> {
        let report = Report::without_runs(&self.settings, self.runner.target, &self.metrics);
        let others = others::Watch::begin();
        let (runs, out_of_time) = self.runs()?;
        if complete_rounds(&runs, self.variants.len()).is_empty() {
            let message = "interrupted before the first round was complete; nothing to report";
            return Err(Failure::error(INTERRUPTED, message.to_owned()));
        }
        let (others, interrupted) = (others.and_then(|others| others.end()), self.stopped());
        Ok(Report { others, interrupted, ..report }.with(&self.metrics, runs, out_of_time))
    }

    fn stopped(&self) -> bool {
        self.runner.stop.load(Ordering::Relaxed)
    }

    /// Makes the runs in rounds, so that a change of the machine's state affects all policies, and in random order, so
    /// that none always follows the same one. Also returns whether the time ran out before there was a verdict.
    fn runs(&self) -> Result<(Vec<Run>, bool)> {
        let (start, mut round_start) = (Instant::now(), Instant::now());
        let mut rng = fastrand::Rng::with_seed(self.settings.seed);
        let mut runs = Vec::new();
        let bar = self.progress_bar();
        let warmups = (0..self.settings.warmup).map(|round| (round, true));
        for (round, warmup) in warmups.chain((0..self.settings.runs).map(|round| (round, false))) {
            if !warmup && self.is_reported(round, &runs) {
                break;
            }
            if !warmup && self.is_late(round, start.elapsed() + round_start.elapsed()) {
                return Ok((runs, true));
            }
            round_start = Instant::now();
            let mut order: Vec<&Variant> = self.variants.iter().collect();
            rng.shuffle(&mut order);
            for (position, variant) in (0..).zip(order) {
                bar.set_message(variant.name.clone());
                let outcome = self.runner.run(variant)?;
                self.show(&bar, variant, &outcome);
                if self.stopped() {
                    return Ok((runs, false));
                }
                let place = RunId { variant, round, position, warmup };
                runs.push(self.record(&place, outcome)?);
                bar.inc(1);
            }
        }
        Ok((runs, false))
    }

    /// Returns whether it is time to look after `rounds` rounds, and there is a verdict on every arm.
    fn is_reported(&self, rounds: u32, runs: &[Run]) -> bool {
        let Settings { looks, policies, margin, .. } = &self.settings;
        looks.contains(&rounds) && {
            let rows = summarise(&self.metrics[..1], &self.settings, runs);
            rows.iter().filter(|row| row.policy != policies[0]).all(|row| is_settled(row.to_baseline, *margin))
        }
    }

    /// Returns whether another round would go beyond the time; the first look may take all the time that it needs.
    fn is_late(&self, rounds: u32, end: Duration) -> bool {
        let late = self.settings.max_time_s.is_some_and(|most| end.as_secs_f64() > most);
        late && rounds >= self.settings.looks[0]
    }

    /// Returns a progress bar on standard error, only if that is a terminal.
    fn progress_bar(&self) -> ProgressBar {
        let total = (self.settings.runs + self.settings.warmup) as usize * self.variants.len();
        let bar = progress::bar(total, "{bar:30} {pos}/{len} runs, {eta} left  {msg}");
        bar.with_finish(ProgressFinish::AndClear)
    }

    fn show(&self, bar: &ProgressBar, variant: &Variant, outcome: &Outcome) {
        if self.show_output {
            bar.suspend(|| eprintln!("--- {}\n{}", variant.name, outcome.output.trim_end()));
        }
    }

    fn record(&self, place: &RunId, outcome: Outcome) -> Result<Run> {
        self.check(place, &outcome)?;
        let (mut printed, mut matches) = (BTreeMap::new(), BTreeMap::new());
        for metric in self.metrics.iter().filter(|metric| metric.pattern.is_some()) {
            let found = metric.value(&outcome.usage, &outcome.output);
            let (value, count) = found.map_err(|missing| explain(place, metric, &missing, &outcome.output))?;
            printed.insert(metric.name.clone(), value);
            matches.insert(metric.name.clone(), count);
        }
        let RunId { variant, round, position, warmup } = *place;
        let End::Ended(status) = outcome.end else { bail!("a run that was killed cannot be recorded") };
        Ok(Run {
            policy: variant.name.clone(),
            round,
            position,
            warmup,
            exit_status: status.code().unwrap_or(-1),
            library_loaded: outcome.library_loaded,
            locks_used: outcome.seen.map(|seen| seen.locks_used),
            locks_contended: outcome.seen.map(|seen| seen.locks_contended),
            usage: outcome.usage,
            printed,
            matches,
        })
    }

    /// Returns whether the run counts: it ended well, and under the intended policy.
    fn check(&self, place: &RunId, outcome: &Outcome) -> Result<()> {
        let interposed = place.variant.is_interposed();
        if let Some(complaint) = preload::complaint(&outcome.output).filter(|_| interposed) {
            bail!("{place}: the loader did not take the preload library, so the locks were libc's:\n  {complaint}");
        }
        if !self.ended_well(outcome.end) {
            return Err(self.failure(place, outcome));
        }
        if outcome.library_loaded == Some(false) {
            let advice = "does it clear LD_PRELOAD, or have a loader of its own?";
            bail!("{place}: the program never loaded the preload library, so the locks were libc's; {advice}");
        }
        Ok(())
    }

    fn ended_well(&self, end: End) -> bool {
        match end {
            End::Ended(status) => status.success() || self.settings.any_status && status.code().is_some(),
            End::TimedOut | End::TooMuchOutput | End::Interrupted => false,
        }
    }

    fn failure(&self, place: &RunId, outcome: &Outcome) -> anyhow::Error {
        let what = outcome.end.describe(Duration::from_secs_f64(self.settings.timeout_s));
        let output = last_lines(&outcome.output);
        let shown = place.variant.shown(self.runner.target);
        if !place.variant.is_interposed() {
            let advice = format!("try it by itself: {shown}");
            return Failure::error(USAGE_OR_IO, format!("{place}: the program {what}\n{output}\n{advice}"));
        }
        let advice = format!(
            "if it succeeds by itself ({shown}), the locks broke it: please report it; use --lock to leave policies out"
        );
        Failure::error(CHECK_FAILED, format!("{place}: the program {what}\n{output}\n{advice}"))
    }
}

struct RunId<'a> {
    variant: &'a Variant,
    round: u32,
    position: u32,
    warmup: bool,
}

impl std::fmt::Display for RunId<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.warmup { "warm-up" } else { "run" };
        write!(f, "under {}, {kind} {}", self.variant.name, self.round + 1)
    }
}

fn explain(place: &RunId, metric: &Metric, missing: &Missing, output: &str) -> anyhow::Error {
    let pattern = metric.pattern.as_ref().unwrap_or(&metric.name);
    let what = match missing {
        Missing::NoMatch => "matches nothing in the output of the program".to_owned(),
        Missing::NotANumber(text) => format!("captured {text:?}, which is not a number; use a group such as ([0-9.]+)"),
    };
    anyhow!("{place}: --metric {pattern:?} {what}\n{}", excerpt("first", output.lines().take(EXCERPT_LINES)))
}
