//! All states of a check, depth first.
//!
//! The threads and the objects are in one state at a time. Before a step the search saves what the step may change: the
//! objects, and the threads that run in it (or all, where they write into each other's stacks). After it has explored
//! all successors, it copies that back. Of each state seen it keeps 128 bits.

use super::machine::{self, with};
use super::memory::{Fiber, Suspend};
use super::setting::Machine;
use super::state::{Choice, State, THREADS};
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::null;
use xxhash_rust::xxh3::xxh3_128;

/// What a search found.
#[derive(Default, Debug)]
pub(super) struct Found {
    pub(super) states: usize,
    pub(super) steps: usize,
    pub(super) depth: usize,
}

/// Fingerprints are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("a fingerprint is hashed by one half")
    }
    fn write_u64(&mut self, half: u64) {
        self.0 = half;
    }
}

/// The number of each state seen, by 128 bits of it, of which the last 64 are its hash.
type Known = HashMap<(u64, u64), u32, BuildHasherDefault<AsIs>>;

/// A state on the way from the start to the present one.
struct Frame {
    number: u32,
    state: State,
    /// Its choices, in the search's list of all frames' choices, and the next of them.
    choices: usize,
    next: usize,
    /// Where the log has the objects.
    saved: usize,
    /// What the step in progress changed: from here in the list of all.
    undo: usize,
    trace: usize,
}

/// A thread before a step: where the log has it, and its hash.
struct Undo {
    thread: usize,
    saved: usize,
    end: usize,
    hash: u128,
}

/// How a state was first reached.
type Came = (u32, Choice);

/// A step: from, to, and whether it counts on time or on a signal.
type Edge = (u32, u32, bool);

pub(super) struct Search<'a> {
    machine: Machine,
    fibers: Vec<Fiber>,
    ways: [*const Suspend; THREADS],
    hashes: [u128; THREADS],
    frames: Vec<Frame>,
    choices: Vec<Choice>,
    undo: Vec<Undo>,
    log: Vec<u8>,
    words: Vec<u64>,
    known: Known,
    came: Vec<Came>,
    edges: Vec<Edge>,
    ends: Vec<u32>,
    found: &'a mut Found,
}

impl<'a> Search<'a> {
    pub(super) fn new(machine: Machine, fibers: Vec<Fiber>, found: &'a mut Found) -> Self {
        Search {
            machine,
            fibers,
            ways: [null(); THREADS],
            hashes: [0; THREADS],
            frames: Vec::new(),
            choices: Vec::new(),
            undo: Vec::new(),
            log: Vec::new(),
            words: Vec::new(),
            known: Known::default(),
            came: Vec::new(),
            edges: Vec::new(),
            ends: Vec::new(),
            found,
        }
    }

    /// Visits all states; panics at the first that is wrong. Sets `large` if there are more than `limit`.
    pub(super) fn run(mut self, limit: usize, large: &Cell<bool>, at_end: &dyn Fn()) {
        self.settle();
        self.log.clear();
        self.undo.clear();
        let number = self.visit().expect("the first state is new");
        self.came.push((number, Choice { thread: 0, alternative: 0, rescue: false }));
        let start = self.save_all();
        self.push(number, at_end);
        while let Some(frame) = self.frames.last_mut() {
            if frame.next == self.choices.len() {
                self.pop();
                continue;
            }
            let (choice, from) = (self.choices[frame.next], frame.number);
            frame.next += 1;
            self.advance(choice);
            self.found.steps += 1;
            match self.visit() {
                Ok(number) => {
                    self.came.push((from, choice));
                    self.edges.push((from, number, choice.rescue));
                    if self.known.len() > limit {
                        large.set(true);
                        panic!("more than {limit} states: make it smaller");
                    }
                    self.push(number, at_end);
                }
                Err(known) => {
                    self.edges.push((from, known, choice.rescue));
                    self.back();
                }
            }
        }
        self.all_end(&start);
    }

    /// Records the present state; returns its number, or as an error the number that it already has.
    fn visit(&mut self) -> Result<u32, u32> {
        self.words.clear();
        with(|w| {
            w.state.words(&mut self.words);
            let arena = w.arena.hash();
            self.words.extend([arena as u64, (arena >> 64) as u64]);
        });
        for (thread, &hash) in self.hashes.iter().enumerate() {
            if !with(|w| w.state.is_done(thread)) {
                self.words.extend([hash as u64, (hash >> 64) as u64]);
            }
        }
        // SAFETY: words are bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>(), self.words.len() * 8) };
        let hash = xxh3_128(bytes);
        let next = u32::try_from(self.known.len()).expect("fewer states than that");
        let number = *self.known.entry(((hash >> 64) as u64, hash as u64)).or_insert(next);
        self.found.states = self.known.len();
        if number == next { Ok(number) } else { Err(number) }
    }

    /// Pushes the present state, which is new: exploration continues from here.
    fn push(&mut self, number: u32, at_end: &dyn Fn()) {
        let choices = self.choices.len();
        with(|w| w.state.choices(&self.machine, &mut self.choices));
        if self.choices[choices..].iter().all(|choice| choice.rescue) {
            assert!(with(|w| w.state.all_done()), "nobody gets on{}", machine::describe());
            self.ends.push(number);
            at_end();
        }
        let saved = self.log.len();
        let (state, trace) = with(|w| {
            w.arena.save(&mut self.log);
            (w.state, w.trace.len())
        });
        self.frames.push(Frame { number, state, choices, next: choices, saved, undo: self.undo.len(), trace });
        self.found.depth = self.found.depth.max(self.frames.len());
    }

    /// Pops the last state of the path, whose successors are all known: returns to the one before.
    fn pop(&mut self) {
        let frame = self.frames.pop().expect("there is one");
        self.choices.truncate(frame.choices);
        self.log.truncate(frame.saved);
        if !self.frames.is_empty() {
            self.back();
        }
    }

    /// Takes back the step in progress.
    fn back(&mut self) {
        let frame = self.frames.last().expect("a step leads from somewhere");
        let kept = self.undo.get(frame.undo).map(|first| first.saved);
        for Undo { thread, saved, end, hash } in self.undo.drain(frame.undo..) {
            self.fibers[thread].restore(&self.log[saved..end]);
            self.hashes[thread] = hash;
        }
        with(|w| {
            w.arena.restore(&self.log[frame.saved..]);
            w.state = frame.state;
            w.trace.truncate(frame.trace);
        });
        self.log.truncate(kept.unwrap_or(self.log.len()));
    }

    /// Does one step, and what its thread and the threads that it woke do privately.
    fn advance(&mut self, choice: Choice) {
        self.step(choice);
        self.settle();
    }

    fn settle(&mut self) {
        let mut local = Vec::new();
        while with(|w| w.state.choices(&self.machine, &mut local)) {
            self.step(local[0]);
            local.clear();
        }
    }

    fn step(&mut self, choice: Choice) {
        let thread = usize::from(choice.thread);
        let written = if self.machine.stacks_are_shared { 0..self.fibers.len() } else { thread..thread + 1 };
        let done = |thread| with(|w| w.state.is_done(thread));
        written.clone().filter(|&thread| !done(thread)).for_each(|thread| self.keep(thread));
        machine::begin(choice, self.ways[thread]);
        if with(|w| w.state.is_stopped(thread)) {
            machine::end(false);
            return;
        }
        let ends = self.fibers[thread].resume(choice.alternative);
        self.ways[thread] = machine::end(ends);
        for thread in written {
            self.hashes[thread] = if done(thread) { 0 } else { self.fibers[thread].hash() };
        }
    }

    /// Saves a thread, if it was not saved in the step in progress.
    fn keep(&mut self, thread: usize) {
        let from = self.frames.last().map_or(0, |frame| frame.undo);
        if !self.undo[from..].iter().any(|undo| undo.thread == thread) {
            let saved = self.log.len();
            self.fibers[thread].save(&mut self.log);
            self.undo.push(Undo { thread, saved, end: self.log.len(), hash: self.hashes[thread] });
        }
    }

    /// Saves the start again: objects and threads.
    fn save_all(&self) -> (State, Vec<u8>, Vec<Vec<u8>>) {
        let mut objects = Vec::new();
        let state = with(|w| {
            w.arena.save(&mut objects);
            w.state
        });
        let image = |fiber: &Fiber| {
            let mut image = Vec::new();
            fiber.save(&mut image);
            image
        };
        (state, objects, self.fibers.iter().map(image).collect())
    }

    /// Checks that from each state some path leads to an end without the help of time or signals.
    fn all_end(&mut self, start: &(State, Vec<u8>, Vec<Vec<u8>>)) {
        let states = self.known.len();
        let mut ends = vec![false; states];
        let mut firsts = vec![0_u32; states + 1];
        let edges = std::mem::take(&mut self.edges);
        let own = |edge: &&Edge| !edge.2;
        edges.iter().filter(own).for_each(|&(_, to, _)| firsts[to as usize + 1] += 1);
        (0..states).for_each(|state| firsts[state + 1] += firsts[state]);
        let (mut befores, mut next) = (vec![0_u32; firsts[states] as usize], firsts.clone());
        for &(from, to, _) in edges.iter().filter(own) {
            befores[next[to as usize] as usize] = from;
            next[to as usize] += 1;
        }
        let mut open = std::mem::take(&mut self.ends);
        open.iter().for_each(|&state| ends[state as usize] = true);
        while let Some(state) = open.pop() {
            for &before in &befores[firsts[state as usize] as usize..firsts[state as usize + 1] as usize] {
                if !std::mem::replace(&mut ends[before as usize], true) {
                    open.push(before);
                }
            }
        }
        if let Some(stuck) = ends.iter().position(|ends| !ends) {
            self.replay(start, stuck as u32);
            panic!("no way leads to an end from here on{}", machine::describe());
        }
    }

    /// Goes from the start to this state again, for the trace.
    fn replay(&mut self, (state, objects, threads): &(State, Vec<u8>, Vec<Vec<u8>>), to: u32) {
        let (mut way, mut at) = (Vec::new(), to);
        while at != 0 {
            let (from, choice) = self.came[at as usize];
            way.push(choice);
            at = from;
        }
        with(|w| {
            w.state = *state;
            w.arena.restore(objects);
            w.trace.clear();
        });
        self.fibers.iter_mut().zip(threads).for_each(|(fiber, image)| fiber.restore(image));
        way.into_iter().rev().for_each(|choice| self.advance(choice));
    }
}
