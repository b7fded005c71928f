//! The cost of instructions on one CPU, how far it looks ahead, and memory that no cache has.

use super::clock::{now, per_call, timed};
use super::figure::{At, Figure, Unit};
use super::grid::Grid;
use super::lines::{Lines, Touch};
use super::sysfs::Cpu;
use super::team::{Team, on, together};
use anyhow::Result;
use std::hint::black_box;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};
use turnwise::platform::{Native, Pause, Platform};
use turnwise_sim::spec::Class;

/// Measures instructions on the calling thread's CPU: all but those that need two.
pub(super) fn instructions(batches: usize) -> Vec<Figure> {
    let mut figures = hits(batches);
    let clock = || {
        black_box(now());
    };
    let pause = per_call(batches, 200, || Native::pause(Pause::Relax));
    let clock = per_call(batches, 500, clock);
    figures.push(figure("cpu.pause", &pause, "200 spin hints (PAUSE, ISB) in a row", 40.0));
    figures.push(figure("cpu.clock", &clock, "500 times clock_gettime(CLOCK_MONOTONIC) through the vDSO", 25.0));
    figures.push(lookahead(batches));
    figures
}

fn figure(key: &'static str, samples: &[f64], how: &str, guess: f64) -> Figure {
    Figure::measured(key, At::All, samples, how, guess)
}

/// Steps of arithmetic, five cycles each: more than any core holds, with the lock and without it. No more can be hidden
/// than the shorter of the two (32 inside: 45 ns on an EPYC that hides 59).
const STEPS: [u32; 2] = [128, 128];

/// Returns how long before its turn computing begins that needs no earlier result: a section between two locked
/// operations, and what follows it, in turn; once each needs the result of the other, once not.
fn lookahead(batches: usize) -> Figure {
    const ROUNDS: u32 = 500;
    let word = AtomicU64::new(0);
    let (mut inside, mut outside) = (1, 1);
    let mut round = |chained: bool| {
        word.fetch_add(1, AcqRel);
        let seed = if chained { outside } else { 1 };
        // It begins with a load that the operation before it holds back.
        inside = arithmetic(black_box(&word).load(Relaxed) ^ seed, STEPS[0]);
        word.fetch_add(1, AcqRel);
        outside = arithmetic(if chained { inside } else { outside }, STEPS[1]);
    };
    let chained = per_call(batches, ROUNDS, || round(true));
    let apart = per_call(batches, ROUNDS, || round(false));
    black_box((inside, outside));
    let gains: Vec<f64> = chained.iter().zip(&apart).map(|(chained, apart)| (chained - apart).max(0.0)).collect();
    figure("cpu.lookahead", &gains, "what sections gain whose work outside does not need that inside", 0.0)
}

/// Computes a chain of steps, each of which needs the one before.
#[inline(never)]
fn arithmetic(seed: u64, steps: u32) -> u64 {
    (0..black_box(steps)).fold(seed | 1, |x, _| (x ^ x >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Measures accesses to the CPU's own words, each sort in a row: a thread that loads a lock's word compares it and
/// continues speculatively, so nothing waits for the load.
fn hits(batches: usize) -> Vec<Figure> {
    const WORDS: usize = 32;
    let words: [AtomicU64; WORDS] = Default::default();
    let each = |lap: fn(&[AtomicU64; WORDS])| -> Vec<f64> {
        let laps = per_call(batches, 256, || lap(black_box(&words)));
        laps.iter().map(|lap| lap / WORDS as f64).collect()
    };
    let load = each(|words| {
        for word in words {
            word.load(Relaxed);
        }
    });
    let store = each(|words| {
        for word in words {
            word.store(1, Relaxed);
        }
    });
    let change = || {
        black_box(black_box(&words[0]).fetch_add(1, AcqRel));
    };
    let change = per_call(batches, 2_000, change);
    vec![
        figure("cpu.load_hit", &load, "loads of own words, in a row", 0.2),
        figure("cpu.store_hit", &store, "stores to own words, in a row", 0.5),
        figure("cpu.rmw_hit", &change, "locked adds to an own word, in a row", 6.0),
    ]
}

/// Returns what memory costs that no cache has, at one distance.
///
/// # Errors
/// A thread cannot be started or pinned.
pub(super) fn memory(class: Class, from: Cpu, at: Cpu, rounds: u32, line_bytes: u32) -> Result<Figure> {
    /// 8 MiB, a line of each 128 bytes: few enough pages that addresses cost little to translate.
    const LINES: u32 = 1 << 16;
    let lines = on(at.cpu, || Lines::new(LINES, line_bytes))?;
    let round = |_| {
        lines.flush();
        timed(|| lines.touch(Touch::Load)) / lines.count() as f64
    };
    let samples: Vec<f64> = on(from.cpu, || (0..rounds).map(round).collect())?;
    let how = "chain of loads over 65536 lines, flushed from all caches before";
    Ok(Figure::measured("coherence.memory", At::Class(class), &samples, how, 100.0))
}

/// Returns how much longer computing takes while the other thread of the core computes as well.
///
/// # Errors
/// A thread cannot be started or pinned.
pub(super) fn smt(grid: &Grid, batches: usize) -> Result<Option<Figure>> {
    const KEY: &str = "cpu.smt_slowdown";
    if grid.topology.threads_per_core == 1 {
        return Ok(None);
    }
    let pairs = grid.pairs(1);
    let Some(&(a, b)) = pairs.get(&Class::SAME_CORE).and_then(|pairs| pairs.first()) else {
        return Ok(None);
    };
    let alone = on(a.cpu, || mix_times(batches))?;
    let done = AtomicBool::new(false);
    let member = |place: usize, _: &Team| {
        if place == 1 {
            while !done.load(Relaxed) {
                mix();
            }
            return Ok(Vec::new());
        }
        let times = mix_times(batches);
        done.store(true, Relaxed);
        Ok(times)
    };
    let both = together(&[a.cpu, b.cpu], member)?.swap_remove(0);
    let factors: Vec<f64> = both.iter().zip(&alone).map(|(both, alone)| (1000.0 * both / alone).max(1000.0)).collect();
    let how = "four chains of arithmetic and a small table, alone and beside the same on the sibling";
    let figure = Figure::measured(KEY, At::All, &factors, how, 1500.0);
    Ok(Some(Figure { unit: Unit::Permille, ..figure }))
}

fn mix_times(batches: usize) -> Vec<f64> {
    per_call(batches, 4, mix)
}

/// Does some microseconds of typical program work: arithmetic, part of it in parallel, and loads that hit.
fn mix() {
    const ROUNDS: u64 = 2_000;
    let table: [u64; 256] = std::array::from_fn(|index| index as u64 * 0x9e37_79b9);
    let table = black_box(&table);
    let mut chains = [1_u64, 2, 3, 4];
    for round in 0..ROUNDS {
        for chain in &mut chains {
            *chain = (*chain ^ (*chain >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            *chain = chain.wrapping_add(table[(*chain >> 56) as usize] ^ round);
        }
    }
    black_box(chains);
}
