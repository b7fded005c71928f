//! One change at one place at a time: some model must notice, or it is not needed, or not modelled. An ordering is
//! tried on loom's models, all else also on the explicit-state checks, in order of their unchanged run time.
//!
//! | mutant | of |
//! |---|---|
//! | an ordering one step weaker | every operation that uses more than `Relaxed` |
//! | a flag or another part of the word stays unchanged | every operation that was seen to change it |
//! | no thread is woken; one is woken, where it might be more | every wake-up |

use crate::check::{Cause, Lock, Outcome, Width};
use crate::lab::{Change, Done, Mutation, Part, UseSite, UseSites, weaker};
use crate::places::{PLACES, Spared};
use crate::sources::Sources;
use crate::tags::{self, Tag};
use crate::{explicit, flags, models};
use std::fmt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A wake-up that wakes no thread, among what `places.toml` spares.
const WAKES: &str = "a wake-up";
/// A wake-up that wakes only one thread.
const WAKES_MORE: &str = "a wake-up of more than one";

/// What became of one mutant.
pub struct Verdict {
    /// The change.
    pub mutation: Mutation,
    /// The name in the comment next to an ordering, or the function.
    pub tag: Option<String>,
    /// The model or check that noticed, with how many executions or states it took.
    pub caught: Option<(&'static str, u64)>,
    /// Why it may survive.
    pub excused: Option<&'static str>,
    /// How long all its runs took.
    pub elapsed: Duration,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tag = self.tag.as_deref().unwrap_or("no ORDERING comment near");
        write!(f, "{} ({tag}), {} ms: ", self.mutation, self.elapsed.as_millis())?;
        match (self.caught, self.excused) {
            (Some((model, executions)), _) => write!(f, "caught, by number {executions}, in `{model}`"),
            (None, Some(reason)) => write!(f, "survives, as it may: {reason}"),
            (None, None) => write!(f, "SURVIVES"),
        }
    }
}

/// The outcome of all mutants of one lock.
pub struct Report {
    /// One per mutant.
    pub verdicts: Vec<Verdict>,
    /// Comments that speak for no place that the models reached.
    pub unreached: Vec<Tag>,
    /// Orderings without a comment.
    pub untagged: Vec<UseSite>,
    /// Places that change bits of a word that have no name.
    pub unnamed: Vec<(UseSite, u64)>,
}

/// Runs a model or a check, so wide, with these mutations.
type Run = dyn Fn(Width, &[Mutation]) -> Outcome;

/// What a mutant is tried on: a model or a check.
struct Trial {
    run: Box<Run>,
    /// It knows of orderings: words of explicit-state checks have a single order.
    sees_orders: bool,
}

/// A lock's sources, and its models with what they do unchanged, cheapest first.
struct Subject {
    lock: Lock,
    width: Width,
    sources: Sources,
    tags: Vec<Tag>,
    trials: Vec<(Trial, Outcome)>,
    places: UseSites,
}

/// Runs every mutant of a lock, and reports to `say` what becomes of each.
///
/// # Errors
/// The name and failure of a model that fails without any change, or an error if the sources cannot be read.
pub fn run(lock: Lock, width: Width, say: impl Fn(&Verdict)) -> Result<Report, String> {
    let subject = Subject::new(lock, width)?;
    let mut mutants = Vec::new();
    subject.places.iter().for_each(|(place, done)| subject.mutants(place, done, &mut mutants));
    let verdicts: Vec<_> = mutants.into_iter().map(|mutation| subject.try_mutant(mutation)).inspect(say).collect();
    let places = || subject.places.iter();
    let orders = || places().filter(|(_, done)| subject.orders(done).next().is_some()).map(|(place, _)| place);
    let tags = subject.tags.iter().filter(|_| subject.sees_orders());
    Ok(Report {
        verdicts,
        unreached: tags.filter(|tag| !orders().any(|place| tag.covers(place))).cloned().collect(),
        untagged: orders().filter(|place| subject.tag(place).is_none()).copied().collect(),
        unnamed: places().filter_map(|(place, done)| subject.unnamed(place, done)).collect(),
    })
}

/// Returns why a wake-up is spared although no model and no check of this size fails without it.
#[must_use]
pub fn spared_wake(sources: &Sources, place: &UseSite) -> Option<&'static str> {
    spared_at(sources, place, WAKES)
}

fn spared_at(sources: &Sources, place: &UseSite, what: &str) -> Option<&'static str> {
    let (function, line) = (sources.function(place), sources.line(place));
    let here = |s: &&Spared<'_>| place.file.ends_with(s.file) && s.function == function && line.contains(s.says);
    PLACES.spared.iter().filter(here).find(|spared| spared.what == what).map(|spared| spared.why)
}

impl Subject {
    fn new(lock: Lock, width: Width) -> Result<Self, String> {
        let trials = baseline(lock, width)?;
        let sources = Sources::of(lock).map_err(|e| format!("cannot read the sources of {lock:?}: {e}"))?;
        let mut places = UseSites::new();
        for (place, done) in trials.iter().flat_map(|(_, ran)| &ran.places) {
            if lock.owns(place) {
                places.entry(*place).or_default().add(done);
            }
        }
        Ok(Subject { lock, width, tags: tags::of(&sources), sources, trials, places })
    }

    /// Returns whether anything that runs it knows of orderings: a lock that has no models has mutants of all else.
    fn sees_orders(&self) -> bool {
        self.trials.iter().any(|(trial, _)| trial.sees_orders)
    }

    /// Returns the orderings of a place that are tried.
    fn orders(&self, done: &Done) -> impl Iterator<Item = (Part, Ordering)> {
        done.orders().filter(|_| self.sees_orders())
    }

    /// Appends all mutants of one place.
    fn mutants(&self, place: &UseSite, done: &Done, all: &mut Vec<Mutation>) {
        for (part, from) in self.orders(done) {
            all.extend(
                weaker(from).iter().map(|&to| Mutation { place: *place, change: Change::Order { part, from, to } }),
            );
        }
        let changed = done.set | done.cleared;
        for &(name, bits) in self.fields(place).iter().filter(|(_, bits)| bits & changed != 0) {
            all.push(Mutation { place: *place, change: Change::Left { name, bits } });
        }
        for most in (0..2).filter(|most| *most < done.wakes) {
            all.push(Mutation { place: *place, change: Change::Wakes { most } });
        }
    }

    fn fields(&self, place: &UseSite) -> &'static [flags::Field] {
        flags::on(self.lock, place.file, self.sources.line(place))
    }

    fn unnamed(&self, place: &UseSite, done: &Done) -> Option<(UseSite, u64)> {
        if matches!(self.lock, Lock::Journal | Lock::Dcache) {
            return None;
        }
        let named = self.fields(place).iter().fold(0, |all, (_, bits)| all | bits);
        let unnamed = (done.set | done.cleared) & !named;
        (unnamed != 0).then_some((*place, unnamed))
    }

    fn tag(&self, place: &UseSite) -> Option<&Tag> {
        self.tags.iter().rfind(|tag| tag.covers(place))
    }

    fn try_mutant(&self, mutation: Mutation) -> Verdict {
        let start = Instant::now();
        let excused = self.excuse(&mutation);
        // An excused mutant is not tried: no model would fail.
        let caught = if excused.is_none() { self.catch(mutation) } else { None };
        let tag = match mutation.change {
            Change::Order { .. } => self.tag(&mutation.place).map(|tag| tag.name.clone()),
            _ => Some(self.sources.function(&mutation.place).to_owned()),
        };
        Verdict { caught, tag, excused, mutation, elapsed: start.elapsed() }
    }

    fn excuse(&self, mutation: &Mutation) -> Option<&'static str> {
        let place = &mutation.place;
        let spared = |what: &str| spared_at(&self.sources, place, what);
        match mutation.change {
            Change::Order { .. } => PLACES.orderings.get(&*self.tag(place)?.name).copied(),
            Change::Left { name, .. } => spared(name),
            Change::Wakes { most: 0 } => spared(WAKES),
            Change::Wakes { .. } => spared(WAKES_MORE),
        }
    }

    /// Returns the first model or check that notices this change, and after how many executions or states.
    fn catch(&self, mutation: Mutation) -> Option<(&'static str, u64)> {
        let order = matches!(mutation.change, Change::Order { .. });
        let reaches = |ran: &Outcome| ran.places.contains_key(&mutation.place);
        let reaching = self.trials.iter().filter(|(trial, ran)| (trial.sees_orders || !order) && reaches(ran));
        reaching.map(|(trial, _)| (trial.run)(self.width, &[mutation])).find_map(|ran| {
            let notices = |cause| match cause {
                Cause::Wrong => true,
                Cause::Empty => !order,
                Cause::TooLarge => false,
            };
            ran.failure.is_some_and(|f| notices(f.cause)).then_some((ran.name, ran.tried))
        })
    }
}

/// Runs all models and checks of the lock unchanged, and returns them cheapest first.
fn baseline(lock: Lock, width: Width) -> Result<Vec<(Trial, Outcome)>, String> {
    let run = |trial: Trial| {
        let ran = (trial.run)(width, &[]);
        match &ran.failure {
            Some(failure) => Err(format!("{} fails without any change: {failure}", ran.name)),
            None => Ok((trial, ran)),
        }
    };
    let models = models::of(lock)
        .iter()
        .map(|m| Trial { run: Box::new(move |width, changes| m.run(width, changes)), sees_orders: true });
    // Bounded, too, a check has all interleavings.
    let checks = explicit::of(lock)
        .iter()
        .map(|c| Trial { run: Box::new(move |_, changes| c.run(Width::Bounded, changes)), sees_orders: false });
    let mut trials = models.chain(checks).map(run).collect::<Result<Vec<_>, _>>()?;
    trials.sort_by_key(|(_, ran)| ran.elapsed);
    Ok(trials)
}
