//! Recordings with known answers, written as the recorder would.

use std::fs::OpenOptions;
use std::mem::{offset_of, size_of};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use turnwise_forecast::order::{ADAPTIVE, LIBC, Replay};
use turnwise_forecast::trace::{Act, Trace};
use turnwise_recording::reader::Recording;
use turnwise_recording::{
    CHUNK_HEADER, CHUNKS, CLOCK_MONOTONIC, ChunkCopy, ChunkKind, Class, EntryCopy, HeaderCopy, LOCKS, LockCopy, Op,
    PAGE, REF_UNIT, Region, STEP_ACQUIRE, STEP_AWAITED, STEP_BEGIN, STEP_COUNT, STEP_END, STEP_PREEMPTED, STEP_RAN,
    STEP_RELEASE, STEP_SLEPT, StepCopy, THREADS, ThreadCopy, VERSION, writer,
};
use turnwise_sim::spec;

/// A recorded thread: its stretch, and the nanoseconds from its beginning to its end.
struct Written {
    steps: Vec<(u32, u32, u64)>,
    acquisitions: u64,
}

/// Where the chunk of entries is: behind the pieces of locks and of threads.
const FIRST_ENTRIES: u64 = CHUNKS + (LOCKS.pages + THREADS.pages) as u64 * PAGE;

/// Returns the entry of the lock of this number.
fn entry(lock: u32) -> u32 {
    ((FIRST_ENTRIES + CHUNK_HEADER + u64::from(lock) * size_of::<EntryCopy>() as u64) / REF_UNIT) as u32
}

/// Returns sections of `hold_ns` one after another, `gap_ns` apart.
fn sections(lock: u32, count: u64, hold_ns: u64, gap_ns: u64) -> Written {
    let one = [(STEP_ACQUIRE, entry(lock), gap_ns), (STEP_RELEASE, entry(lock), hold_ns)];
    Written { steps: one.repeat(usize::try_from(count).unwrap()), acquisitions: count }
}

/// Writes a recording of threads that lived for `ns` on 2 CPUs, with locks of these classes.
fn recording(path: &Path, threads: &[Written], locks: &[(Class, Op)], ns: u64) {
    writer::create(path).unwrap();
    writer::keep_steps(path).unwrap();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let put4 = |at: u64, value: u32| file.write_all_at(&value.to_ne_bytes(), at).unwrap();
    let put8 = |at: u64, value: u64| file.write_all_at(&value.to_ne_bytes(), at).unwrap();
    let header = |offset: usize| offset as u64;
    put4(header(offset_of!(HeaderCopy, pid)), 17);
    put4(header(offset_of!(HeaderCopy, clock)), CLOCK_MONOTONIC);
    put4(header(offset_of!(HeaderCopy, cpus)), 2);
    put4(header(offset_of!(HeaderCopy, threads)), threads.len() as u32);
    put4(header(offset_of!(HeaderCopy, locks)), locks.len() as u32);
    put8(header(offset_of!(HeaderCopy, ticks_end)), ns);
    put8(header(offset_of!(HeaderCopy, monotonic_end)), ns);
    file.write_all_at(b"libc", header(offset_of!(HeaderCopy, policy))).unwrap();
    let mut next = CHUNKS;
    let mut chunk = |kind: ChunkKind, thread: u32, count: usize, bytes: usize| {
        let (at, pages) = (next, (CHUNK_HEADER + bytes as u64).div_ceil(PAGE));
        put4(at + offset_of!(ChunkCopy, kind) as u64, kind as u32);
        put4(at + offset_of!(ChunkCopy, pages) as u64, pages as u32);
        put4(at + offset_of!(ChunkCopy, count) as u64, count as u32);
        put4(at + offset_of!(ChunkCopy, thread) as u64, thread + 1);
        next += pages * PAGE;
        file.set_len(next).unwrap();
        put8(offset_of!(HeaderCopy, used) as u64, next - CHUNKS);
        at + CHUNK_HEADER
    };
    let mut piece = |region: Region| {
        let at = chunk(ChunkKind::Piece, 0, 0, (u64::from(region.pages) * PAGE - CHUNK_HEADER) as usize) - CHUNK_HEADER;
        put4(region.table, (at / REF_UNIT) as u32);
        at + region.first()
    };
    let at = piece(LOCKS);
    for ((number, (class, _)), at) in (0_u64..).zip(locks).zip((at..).step_by(size_of::<LockCopy>())) {
        put8(at + offset_of!(LockCopy, address) as u64, 0x1000 + 64 * number);
        put4(at + offset_of!(LockCopy, class) as u64, *class as u32);
    }
    let at = piece(THREADS);
    for (number, thread) in threads.iter().enumerate() {
        let at = at + THREADS.record * number as u64;
        put8(at + offset_of!(ThreadCopy, ended) as u64, ns);
        put8(at + offset_of!(ThreadCopy, ahead) as u64, thread.acquisitions);
    }
    let at = chunk(ChunkKind::Entries, 0, locks.len(), size_of::<EntryCopy>() * locks.len());
    for ((number, (_, op)), at) in (0_u32..).zip(locks).zip((at..).step_by(size_of::<EntryCopy>())) {
        put8(at + offset_of!(EntryCopy, site) as u64, op.at(0x40_0000));
        put4(at + offset_of!(EntryCopy, lock) as u64, number);
    }
    for (number, thread) in threads.iter().enumerate() {
        let (begin, end) = ([(STEP_BEGIN, number as u32, 0), (STEP_COUNT, 0, 0)], [(STEP_END, 0, ns)]);
        let steps: Vec<_> = begin.iter().chain(&thread.steps).chain(&end).collect();
        let at = chunk(ChunkKind::Steps, number as u32, steps.len(), size_of::<StepCopy>() * steps.len());
        for (place, (what, of, ticks)) in steps.into_iter().enumerate() {
            let at = at + (size_of::<StepCopy>() * place) as u64;
            put4(at + offset_of!(StepCopy, what) as u64, *what);
            put4(at + offset_of!(StepCopy, of) as u64, *of);
            put8(at + offset_of!(StepCopy, ticks) as u64, *ticks);
        }
    }
}

fn trace(threads: &[Written], locks: &[(Class, Op)], ns: u64) -> Trace {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("recording");
    recording(&path, threads, locks, ns);
    Trace::of(&Recording::read(&path).unwrap()).unwrap()
}

const MUTEX: (Class, Op) = (Class::Mutex, Op::Acquire);

/// Returns acquisitions per second on this many CPUs.
fn per_s(replay: &Replay, cpus: u32, lock: &str) -> f64 {
    let machine = Arc::new(spec::load("graviton4").unwrap());
    replay.on(&machine, cpus, lock, 1).unwrap().per_s()
}

#[test]
fn a_section_of_ten_microseconds_is_passed_a_hundred_thousand_times_a_second() {
    let threads: Vec<Written> = (0..4).map(|_| sections(0, 250, 10_000, 0)).collect();
    let replay = Replay::new(trace(&threads, &[MUTEX], 10_000_000)).unwrap();
    assert_eq!((replay.threads(), replay.left_out(), replay.acquisitions()), (4, 0, 1000.0));
    let machine = Arc::new(spec::load("graviton4").unwrap());
    for lock in [LIBC, ADAPTIVE, "ticket"] {
        for cpus in [1, 2, 4] {
            // Threads that spin without sleeping hold up the others where threads outnumber CPUs.
            if lock == "ticket" && cpus < 4 {
                continue;
            }
            let predicted = replay.on(&machine, cpus, lock, 1).unwrap();
            // The C library's owner wakes a sleeper at each release, before it continues.
            assert!((0.86e5..1.01e5).contains(&predicted.per_s()), "{lock} on {cpus}: {predicted:?}");
            assert!((predicted.recorded_per_s() - 1e5).abs() < 1.0 && predicted.error().abs() < 0.14, "{predicted:?}");
        }
    }
    let waiting = replay.on(&machine, 4, LIBC, 1).unwrap().waiting;
    assert!((0.6..0.8).contains(&waiting[0]), "three of four wait: {waiting:?}");
}

#[test]
fn readers_share_and_other_locks_are_apart() {
    let readers: Vec<Written> = (0..4).map(|_| sections(0, 250, 10_000, 0)).collect();
    let replay = Replay::new(trace(&readers, &[(Class::RwLock, Op::Read)], 2_500_000)).unwrap();
    let own: Vec<Written> = (0..4).map(|lock| sections(lock, 250, 10_000, 0)).collect();
    let apart = Replay::new(trace(&own, &[MUTEX; 4], 2_500_000)).unwrap();
    for lock in [LIBC, ADAPTIVE] {
        for replay in [&replay, &apart] {
            let (one, four) = (per_s(replay, 1, lock), per_s(replay, 4, lock));
            assert!((0.9e5..1.01e5).contains(&one) && (3.6e5..4.04e5).contains(&four), "{lock}: {one} {four}");
        }
    }
}

#[test]
fn an_outer_lock_keeps_the_inner_one_free() {
    // 1 us, then the inner lock for 2 us, then 1 us more: two acquisitions in 4 us, one thread at a time.
    let round = [(STEP_ACQUIRE, 0, 0), (STEP_ACQUIRE, 1, 1_000), (STEP_RELEASE, 1, 2_000), (STEP_RELEASE, 0, 1_000)];
    let steps: Vec<_> = round.map(|(what, lock, ns)| (what, entry(lock), ns)).repeat(200);
    let threads: Vec<Written> = (0..4).map(|_| Written { steps: steps.clone(), acquisitions: 400 }).collect();
    let trace = trace(&threads, &[MUTEX; 2], 3_200_000);
    let acts = &trace.threads[3].stretches[0].acts[..7];
    let (outer, inner) = (Act::Acquire { lock: 0, reader: false }, Act::Acquire { lock: 1, reader: false });
    let (no_inner, no_outer) = (Act::Release { lock: 1 }, Act::Release { lock: 0 });
    let all = [outer, Act::Run(1e3), inner, Act::Run(2e3), no_inner, Act::Run(1e3), no_outer];
    assert_eq!(acts, all);
    let replay = Replay::new(trace).unwrap();
    let machine = Arc::new(spec::load("graviton4").unwrap());
    let predicted = replay.on(&machine, 4, LIBC, 1).unwrap();
    assert!((4.2e5..5.05e5).contains(&predicted.per_s()), "{predicted:?}");
    assert!(predicted.waiting[0] > 0.6 && predicted.waiting[1] < 0.01, "{predicted:?}");
}

#[test]
fn sleeps_take_no_cpu_and_preemption_is_the_machines() {
    // 100 us with the lock of its own, then 900 us asleep; what others did on the CPU is left out.
    let round = |lock| {
        let of = entry(lock);
        let section = [(STEP_ACQUIRE, of, 0), (STEP_PREEMPTED, 0, 5_000_000), (STEP_RELEASE, of, 100_000)];
        let sleep = [(STEP_RAN, 0, 0), (STEP_SLEPT, 0, 600_000), (STEP_AWAITED, 0, 300_000)];
        section.into_iter().chain(sleep).collect::<Vec<_>>().repeat(20)
    };
    let threads: Vec<Written> = (0..4).map(|lock| Written { steps: round(lock), acquisitions: 20 }).collect();
    let trace = trace(&threads, &[MUTEX; 4], 120_000_000);
    assert!((trace.awaited - 0.05).abs() < 1e-6, "{}", trace.awaited);
    let replay = Replay::new(trace).unwrap();
    for cpus in [1, 4] {
        let found = per_s(&replay, cpus, LIBC);
        assert!((3_700.0..4_010.0).contains(&found), "a thousand times a second each, on {cpus}: {found}");
    }
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("recording");
    recording(&path, &[Written { steps: vec![], acquisitions: 0 }], &[MUTEX], 1_000);
    let shown = Trace::of(&Recording::read(&path).unwrap()).unwrap_err().to_string();
    assert!(shown.contains("took no locks"), "{shown}");
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&0_u32.to_ne_bytes(), offset_of!(HeaderCopy, steps) as u64).unwrap();
    let shown = Trace::of(&Recording::read(&path).unwrap()).unwrap_err().to_string();
    assert!(shown.contains("does not keep the order") && shown.contains("--recording"), "{shown}");
    file.write_all_at(&2_u32.to_ne_bytes(), offset_of!(HeaderCopy, version) as u64).unwrap();
    let shown = Recording::read(&path).err().unwrap().to_string();
    assert!(shown.contains(&format!("layout 2, but this turnwise reads layout {VERSION}")), "{shown}");
    let replay = Replay::new(trace(&[sections(0, 9, 100, 100)], &[MUTEX], 2_000)).unwrap();
    let machine = Arc::new(spec::load("desktop-4").unwrap());
    let refused = |cpus, lock: &str| replay.on(&machine, cpus, lock, 1).unwrap_err().to_string();
    assert!(refused(8, LIBC).contains("has 4 CPUs, not 8"));
    assert!(refused(1, "mutx").contains("no lock mutx") && refused(1, "mcs").contains("take queued"));
}
