//! Every ordering weakened and every wake-up left out in turn: some model must notice, or it is not needed, or not
//! modelled.

use crate::check::{Cause, Lock, Model, Outcome, Width};
use crate::lab::{Part, Site, Sites, Weakening, weaker};
use crate::models;
use crate::tags::{self, Tag};
use std::fmt;
use std::sync::atomic::Ordering::{self, Relaxed};
use std::time::{Duration, Instant};

/// An ordering that no model can show to be needed, and why it stays.
struct Exception {
    /// The name in its comment.
    tag: &'static str,
    to: &'static [Ordering],
    reason: &'static str,
}

/// All in the file system.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        tag: "inode.references",
        to: &[Relaxed],
        reason: "orders accesses to ordinary memory before its end, and a model's memory never ends",
    },
    Exception { tag: "dentry.what", to: &[Relaxed], reason: EITHER },
    Exception { tag: "dentry.inode", to: &[Relaxed], reason: EITHER },
];
/// With both relaxed, models fail.
const EITHER: &str = "a look-up sees what a dentry stands for before it follows its inode: either ordering would do";

/// What became of one mutant.
pub struct Verdict {
    /// The ordering and its replacement.
    pub weakening: Weakening,
    /// The name in the comment beside it.
    pub tag: Option<String>,
    /// The model that noticed, with how many executions it took.
    pub caught: Option<(&'static str, u64)>,
    /// Why it may survive.
    pub excused: Option<&'static str>,
    /// How long all its runs took.
    pub elapsed: Duration,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wake = self.weakening.site.part == Part::Wake;
        let tag = self.tag.as_deref().unwrap_or(if wake { "a wake-up" } else { "no ORDERING comment near" });
        write!(f, "{} ({tag}), {} ms: ", self.weakening, self.elapsed.as_millis())?;
        match (self.caught, self.excused) {
            (Some((model, executions)), _) => write!(f, "caught by execution {executions} of `{model}`"),
            (None, Some(reason)) => write!(f, "survives, as it may: {reason}"),
            (None, None) => write!(f, "SURVIVES"),
        }
    }
}

/// What all mutants of one lock came to.
pub struct Report {
    /// One per site and weaker ordering.
    pub verdicts: Vec<Verdict>,
    /// Whether some model notices when all survivors are relaxed at once; `None` if there are fewer than two.
    pub together: Option<bool>,
    /// Comments that speak for no place that the models reached.
    pub unreached: Vec<Tag>,
    /// Places without a comment.
    pub untagged: Vec<Site>,
}

/// Runs every mutant of a lock.
///
/// # Errors
/// The name and failure of a model that fails without any change, or the sources cannot be read.
pub fn run(lock: Lock, width: Width) -> Result<Report, String> {
    let models = baseline(lock, width)?;
    let tags = tags::of(lock).map_err(|e| format!("cannot read the sources of {lock:?}: {e}"))?;
    let mut sites = Sites::new();
    models.iter().for_each(|(_, outcome)| sites.extend(outcome.sites.clone()));
    sites.retain(|site, _| lock.owns(site));
    let covers = |tag: &Tag, site: &Site| site.part != Part::Wake && tag.covers(site);
    let tag_of = |site: &Site| tags.iter().rfind(|tag| covers(tag, site));
    let mutants = sites
        .iter()
        .flat_map(|(site, &from)| weaker(from).iter().map(move |&to| Weakening { site: site.clone(), from, to }));
    let verdicts: Vec<_> = mutants.map(|m| try_mutant(&models, width, tag_of(&m.site), m)).collect();
    Ok(Report {
        together: together(&models, width, &verdicts),
        verdicts,
        unreached: tags.iter().filter(|tag| !sites.keys().any(|site| covers(tag, site))).cloned().collect(),
        untagged: sites.keys().filter(|site| site.part != Part::Wake && tag_of(site).is_none()).cloned().collect(),
    })
}

/// All models of the lock with what they do unchanged, cheapest first.
fn baseline(lock: Lock, width: Width) -> Result<Vec<(Model, Outcome)>, String> {
    let run = |model: Model| {
        let outcome = model.run(width, &[]);
        match &outcome.failure {
            Some(failure) => Err(format!("{} fails without any change: {failure}", model.name)),
            None => Ok((model, outcome)),
        }
    };
    let mut models = models::of(lock).into_iter().map(run).collect::<Result<Vec<_>, _>>()?;
    models.sort_by_key(|(_, outcome)| outcome.executions);
    Ok(models)
}

fn try_mutant(models: &[(Model, Outcome)], width: Width, tag: Option<&Tag>, weakening: Weakening) -> Verdict {
    let start = Instant::now();
    let excuse = |e: &&Exception| tag.is_some_and(|tag| tag.name == e.tag) && e.to.contains(&weakening.to);
    let excused = EXCEPTIONS.iter().find(excuse).map(|e| e.reason);
    // What is excused is not tried alone: all models would run in vain. It takes part in `together`.
    let caught = if excused.is_none() { catch(models, width, std::slice::from_ref(&weakening)) } else { None };
    Verdict { caught, tag: tag.map(|tag| tag.name.clone()), excused, weakening, elapsed: start.elapsed() }
}

/// The first model that notices these changes, and after how many executions.
fn catch(models: &[(Model, Outcome)], width: Width, changes: &[Weakening]) -> Option<(&'static str, u64)> {
    let reaching = models.iter().filter(|(_, outcome)| changes.iter().any(|c| outcome.sites.contains_key(&c.site)));
    reaching.map(|(model, _)| (model.name, model.run(width, changes))).find_map(|(name, outcome)| {
        let wrong = outcome.failure.is_some_and(|failure| failure.cause == Cause::Wrong);
        wrong.then_some((name, outcome.executions))
    })
}

/// Orderings that can each be spared may not all be spared.
fn together(models: &[(Model, Outcome)], width: Width, verdicts: &[Verdict]) -> Option<bool> {
    let survivors = verdicts.iter().filter(|v| v.caught.is_none());
    let all: Vec<_> = survivors.map(|v| Weakening { to: Relaxed, ..v.weakening.clone() }).collect();
    (all.len() > 1).then(|| catch(models, width, &all).is_some())
}
