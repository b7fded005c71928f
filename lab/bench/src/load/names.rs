//! Threads that look names up in a tree that is all in memory, or ask for the paths of what they have.
//!
//! Every path has five components: `/t0/srv/www/img/f17`. Below each of the directories `t0`, `t1`, ... are as many
//! files; a thread asks for all of its own in turn. *Shared*: everybody asks for all files below `t0`.
//! *Siblings*: below `t0`, too, but each thread for files of its own. *Disjoint*: each thread has a directory to
//! itself, and shares the root alone.

use crate::probe::Probe;
use crate::run::{self, Counts, Kind, Outcome, Plan, Roles, Workload};
use anyhow::{Context, Result, ensure};
use std::marker::PhantomData;

/// Directories at the top; threads beyond share them.
const TOPS: usize = 8;
/// Files below each. A power of two.
pub const FILES: usize = 64;

/// The path of a file.
#[must_use]
pub fn path(top: usize, file: usize) -> String {
    format!("/t{}/srv/www/img/f{}", top % TOPS, file % FILES)
}

/// The paths of all files.
pub fn all_paths() -> impl Iterator<Item = String> {
    (0..TOPS).flat_map(|top| (0..FILES).map(move |file| path(top, file)))
}

/// What names are looked up in: a fresh one for each sample, with every file of [`all_paths`].
pub trait Tree: Sync + Sized + 'static {
    /// A file's path, as this tree wants it.
    type Name: Send + 'static;
    /// All files.
    ///
    /// # Errors
    /// When they cannot be made here.
    fn build() -> Result<Self>;
    /// A file that is there.
    fn name(&'static self, path: &str) -> Self::Name;
    /// Looks it up; whether it found the right one.
    fn look_up(&'static self, name: &Self::Name) -> bool;
}

/// A tree that can say where something is.
pub trait Paths: Sync + Sized + 'static {
    /// Something in the tree, held.
    type Held: Send + 'static;
    /// All files.
    ///
    /// # Errors
    /// When they cannot be made here.
    fn build() -> Result<Self>;
    /// Holds a file that is there.
    fn hold(&'static self, path: &str) -> Self::Held;
    /// Asks for its path; whether it was the right one.
    fn path_of(&'static self, held: &Self::Held) -> bool;
}

/// Whose files a thread asks for.
pub trait Whose: Copy + Send + Sync + 'static {
    /// The directory at the top for the thread of this number.
    fn top(thread: usize) -> usize;
    /// Its file of this number.
    fn file(_thread: usize, number: usize) -> usize {
        number
    }
}

/// Everybody's.
#[derive(Clone, Copy)]
pub struct Shared;
/// Its own in everybody's directory.
#[derive(Clone, Copy)]
pub struct Siblings;
/// Its own.
#[derive(Clone, Copy)]
pub struct Disjoint;

impl Whose for Shared {
    fn top(_thread: usize) -> usize {
        0
    }
}
impl Whose for Siblings {
    fn top(_thread: usize) -> usize {
        0
    }

    /// Every eighth file, so that eight threads have none in common.
    fn file(thread: usize, number: usize) -> usize {
        number * TOPS + thread % TOPS
    }
}
impl Whose for Disjoint {
    fn top(thread: usize) -> usize {
        thread
    }
}

/// Runs one sample of look-ups.
///
/// # Errors
/// When the tree cannot be made, a thread cannot be started, or a look-up found something else.
pub fn look_ups<T: Tree, W: Whose>(plan: &Plan) -> Result<Outcome> {
    with_tree(T::build, |tree| sample::<W, _>(plan, LookUp(tree)))
}

/// Runs one sample of questions for paths.
///
/// # Errors
/// As [`look_ups`].
pub fn paths<T: Paths, W: Whose>(plan: &Plan) -> Result<Outcome> {
    with_tree(T::build, |tree| sample::<W, _>(plan, PathOf(tree)))
}

/// Makes a tree, runs `f`, and takes the tree away.
fn with_tree<T: 'static, R>(build: fn() -> Result<T>, f: impl FnOnce(&'static T) -> Result<R>) -> Result<R> {
    let tree = Box::into_raw(Box::new(build().context("cannot make the tree")?));
    // SAFETY: from a box. What `f` makes of the reference is on threads that end in `run::sample`, with all they have.
    let result = f(unsafe { &*tree });
    // SAFETY: from `Box::into_raw`, and nobody has a reference any more.
    drop(unsafe { Box::from_raw(tree) });
    result
}

/// A question that threads ask again and again.
trait Ask: Copy + Send + Sync + 'static {
    type About: Send + 'static;
    fn about(self, path: &str) -> Self::About;
    fn ask(self, about: &Self::About) -> bool;
}

struct LookUp<T: 'static>(&'static T);
struct PathOf<T: 'static>(&'static T);

impl<T> Clone for LookUp<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for LookUp<T> {}
impl<T> Clone for PathOf<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for PathOf<T> {}

impl<T: Tree> Ask for LookUp<T> {
    type About = T::Name;
    fn about(self, path: &str) -> T::Name {
        self.0.name(path)
    }
    #[inline]
    fn ask(self, name: &T::Name) -> bool {
        self.0.look_up(name)
    }
}

impl<T: Paths> Ask for PathOf<T> {
    type About = T::Held;
    fn about(self, path: &str) -> T::Held {
        self.0.hold(path)
    }
    #[inline]
    fn ask(self, held: &T::Held) -> bool {
        self.0.path_of(held)
    }
}

fn sample<W: Whose, A: Ask>(plan: &Plan, ask: A) -> Result<Outcome> {
    run::sample(plan, Questions::<W, A> { ask, whose: PhantomData })
}

struct Questions<W, A> {
    ask: A,
    whose: PhantomData<fn() -> W>,
}

impl<W, A: Copy> Clone for Questions<W, A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<W, A: Copy> Copy for Questions<W, A> {}

/// What a thread asks about, and what came out.
struct Local<A> {
    about: Vec<A>,
    next: usize,
    wrong: bool,
}

impl<W: Whose, A: Ask> Workload for Questions<W, A> {
    /// The tree outlives the sample.
    type Shared = ();
    type Local = Local<A::About>;

    fn shared(self) {}

    fn local(self, _roles: Roles, thread: usize) -> Self::Local {
        let top = W::top(thread);
        let about = |number| self.ask.about(&path(top, W::file(thread, number)));
        Local { about: (0..FILES).map(about).collect(), next: 0, wrong: false }
    }

    #[inline(always)]
    fn operate<P: Probe>(self, (): &(), local: &mut Self::Local, probe: &mut P) -> Kind {
        let about = &local.about[local.next % FILES];
        local.next += 1;
        let asked = probe.mark();
        let right = self.ask.ask(about);
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
