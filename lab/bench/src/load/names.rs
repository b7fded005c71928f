//! Threads that look names up in a tree that is all in memory, or ask for the paths of objects that they have.
//!
//! Every path has five components: `/t0/srv/www/img/f17`. Below each of the directories `t0`, `t1`, ... are as many
//! files; a thread asks for all of its own in turn. *Shared*: all threads ask for all files below `t0`. *Siblings*:
//! below `t0`, too, but each thread for files of its own. *Disjoint*: each thread has a directory to itself, and shares
//! only the root.

use super::body::Load;
use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Roles, Workload};
use anyhow::{Context, Result, ensure};

/// Directories at the top; threads beyond share them.
const TOPS: usize = 8;
/// Files below each. A power of two.
pub const FILES: usize = 64;

/// Returns the path of a file.
#[must_use]
pub fn path(top: usize, file: usize) -> String {
    format!("/t{}/srv/www/img/f{}", top % TOPS, file % FILES)
}

/// Returns the paths of all files.
pub fn all_paths() -> impl Iterator<Item = String> {
    (0..TOPS).flat_map(|top| (0..FILES).map(move |file| path(top, file)))
}

/// A question that threads repeatedly ask of a tree with every file of [`all_paths`], a fresh one for each sample.
pub trait Question: Sized + 'static {
    /// The tree that is asked.
    type Tree: Sync + 'static;
    /// A file that is there, as the question wants it.
    type About: Send + 'static;
    /// Makes all files.
    ///
    /// # Errors
    /// When they cannot be made here.
    fn build() -> Result<Self::Tree>;
    /// Returns a file that exists.
    fn about(tree: &'static Self::Tree, path: &str) -> Self::About;
    /// Asks; returns whether the answer is right.
    fn ask(tree: &'static Self::Tree, about: &Self::About) -> bool;
}

/// Whose files a thread asks for.
pub trait Whose: 'static {
    /// Each thread has a directory at the top.
    const OWN_DIRECTORY: bool = false;
    /// Each thread has every eighth file, so that eight threads have none in common.
    const OWN_FILES: bool = false;
}

/// All threads' files.
pub enum Shared {}
/// Its own files in the common directory.
pub enum Siblings {}
/// Its own files, in a directory of its own.
pub enum Disjoint {}

impl Whose for Shared {}
impl Whose for Siblings {
    const OWN_FILES: bool = true;
}
impl Whose for Disjoint {
    const OWN_DIRECTORY: bool = true;
}

/// Runs one sample of questions.
///
/// # Errors
/// When the tree cannot be made, a thread cannot be started, or an answer was wrong.
pub fn sample<Q: Question, W: Whose>(plan: &Plan) -> Result<Outcome> {
    with_tree(Q::build, |tree| run::sample(plan, Load::<(W, Q), _>::of(tree)))
}

/// Makes a tree, runs `f`, and takes the tree away.
fn with_tree<T: 'static, R>(build: fn() -> Result<T>, f: impl FnOnce(&'static T) -> Result<R>) -> Result<R> {
    let tree = Box::into_raw(Box::new(build().context("cannot make the tree")?));
    // SAFETY: from a box. Whatever `f` makes of the reference is on threads that end in `run::sample`, with all of it.
    let result = f(unsafe { &*tree });
    // SAFETY: from `Box::into_raw`, and no reference is left.
    drop(unsafe { Box::from_raw(tree) });
    result
}

/// What a thread asks about, and the result.
pub struct Local<A> {
    about: Vec<A>,
    next: usize,
    wrong: bool,
}

impl<W: Whose, Q: Question> Workload for Load<(W, Q), &'static Q::Tree> {
    /// The tree outlives the sample.
    type Shared = ();
    type Local = Local<Q::About>;

    fn shared(self) {}

    fn local(self, _roles: Roles, thread: usize) -> Self::Local {
        let top = if W::OWN_DIRECTORY { thread } else { 0 };
        let file = |number| if W::OWN_FILES { number * TOPS + thread % TOPS } else { number };
        let about = |number| Q::about(self.body, &path(top, file(number)));
        Local { about: (0..FILES).map(about).collect(), next: 0, wrong: false }
    }

    #[inline(always)]
    fn operate<P: Probe>(self, (): &(), local: &mut Self::Local, probe: &mut P) -> Kind {
        let about = &local.about[local.next % FILES];
        local.next += 1;
        let asked = probe.mark();
        let right = Q::ask(self.body, about);
        let answered = probe.mark();
        local.wrong |= !right;
        probe.record(Kind::Write, asked, answered);
        Kind::Write
    }

    fn torn(local: &Self::Local) -> bool {
        local.wrong
    }

    fn check((): &(), done: Counts, torn: bool) -> Result<()> {
        ensure!(!torn, "one of {} answers was wrong", done.total());
        Ok(())
    }
}
