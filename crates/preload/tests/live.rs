//! The live view: its data about individually known waits, and the behaviour of a program that cannot have one.

mod harness;

use harness::{Build, POLICIES, Program, library, tool, without_joins};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use turnwise_live::{Channel, Kind, Lock, Snapshot, layout, place};
use turnwise_preload_abi::environment;

/// A program that runs, with a folder for its live view.
struct Run {
    _program: Program,
    folder: TempDir,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// The program's report: its action, its thread, the thread that waits, the lock.
#[derive(Debug)]
struct Reported {
    what: String,
    reporter: u32,
    waiter: u32,
    lock: u64,
}

impl Run {
    fn of(what: &str) -> Run {
        Run::with(what, "adaptive", |command| command)
    }

    fn with(what: &str, policy: &str, change: impl FnOnce(&mut Command) -> &mut Command) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        Run::in_folder(what, policy, folder, Command::new("env"), change)
    }

    fn in_folder(
        what: &str,
        policy: &str,
        folder: TempDir,
        mut command: Command,
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Run {
        let program = Build::new("live.c").program();
        command.env(environment::LOCK, policy).env("DO", what).env(place::RUNTIME_VARIABLE, folder.path());
        command.env_remove(environment::LIVE);
        change(&mut command);
        command.arg(format!("LD_PRELOAD={}", library().display())).arg(program.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("env runs");
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Run { _program: program, folder, child, to, from: BufReader::new(from) }
    }

    /// Returns the program's next report.
    fn hear(&mut self) -> Reported {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("text");
        let words: Vec<&str> = line.split_whitespace().collect();
        let [what, reporter, waiter, lock] = words[..] else { panic!("the program says {line:?}") };
        let number = |text: &str| text.parse().expect("a number");
        Reported {
            what: what.to_owned(),
            reporter: number(reporter),
            waiter: number(waiter),
            lock: lock.parse().expect("an address"),
        }
    }

    /// Lets the program continue.
    fn answer(&mut self) {
        self.to.write_all(b"\n").expect("the program reads");
    }

    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.folder.path().join(place::FOLDER)) else { return Vec::new() };
        entries.map(|entry| entry.expect("a file").path()).collect()
    }

    fn channel(&self) -> Channel {
        let files = self.files();
        let [file] = &files[..] else { panic!("{files:?}") };
        Channel::open(file).expect("a sound view")
    }

    fn snapshot(&self) -> Snapshot {
        without_joins(self.channel().snapshot().expect("a sound view"))
    }

    /// Waits for the view, which a program creates when one of its threads begins to wait for a lock.
    fn awaited_channel(&self) -> Channel {
        let found = || self.files().first().and_then(|file| Channel::open(file).ok());
        until("a view", found)
    }

    /// Waits until a thread waits for a lock, and a moment longer.
    fn snapshot_with(&self, waiter: u32) -> Snapshot {
        let channel = self.awaited_channel();
        until("a thread that waits", || {
            let threads = channel.snapshot().expect("a sound view").threads;
            threads.iter().any(|thread| thread.tid == waiter && thread.waiting.is_some()).then_some(())
        });
        std::thread::sleep(Duration::from_millis(30));
        without_joins(channel.snapshot().expect("a sound view"))
    }

    fn ends(mut self) {
        self.answer();
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// Polls until there is a result.
fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < LONG, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn lock_at(snapshot: &Snapshot, address: u64) -> &Lock {
    snapshot.locks.iter().find(|lock| lock.address == address).expect("a contended lock")
}

const MS: u64 = 1_000_000;
/// A time longer than any step takes, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_waiter_is_seen_with_the_owner_that_lets_it_wait() {
    let mut run = Run::of("now");
    let reported = run.hear();
    assert_eq!(reported.what, "waits");
    let snapshot = run.snapshot_with(reported.waiter);
    assert!(snapshot.alive && snapshot.is_exact);
    assert_eq!((snapshot.pid, snapshot.name.as_str()), (reported.reporter, "live"));
    let waiters: Vec<_> = snapshot.threads.iter().filter_map(|t| t.waiting.map(|w| (t.tid, w))).collect();
    let [(tid, waiting)] = waiters[..] else { panic!("{waiters:?}") };
    assert_eq!((tid, waiting.lock, waiting.kind), (reported.waiter, reported.lock, Kind::Mutex));
    assert_eq!(waiting.owner, Some(reported.reporter));
    let age = snapshot.taken_ns - waiting.since_ns;
    assert!((15 * MS..60_000 * MS).contains(&age), "{age} ns");
    // The previous wait, of 20 ms, by another thread.
    let lock = lock_at(&snapshot, reported.lock);
    assert_eq!((lock.waits, lock.histogram.iter().sum::<u64>()), (1, 1));
    assert!((20 * MS..60_000 * MS).contains(&lock.longest_ns), "{}", lock.longest_ns);
    assert_eq!(lock.wait_ns, lock.longest_ns);
    assert!(lock.sleeps >= 1);
    assert_eq!((lock.sites.len(), lock.sites[0].address), (1, lock.site));
    assert_eq!(lock.site, waiting.site);
    assert_is_in(&snapshot, lock.site, "wait_for_mutexes");
    run.answer();
    assert_eq!(run.hear().what, "done");
    let snapshot = run.snapshot();
    assert_eq!(lock_at(&snapshot, reported.lock).waits, 2);
    assert!(snapshot.threads.iter().all(|thread| thread.waiting.is_none()));
    run.ends();
}

#[test]
fn who_changes_its_root_and_gives_up_root_has_a_view() {
    // SAFETY: always succeeds.
    if unsafe { libc::geteuid() } != 0 {
        return println!("SKIPPED: only root can give it up");
    }
    let mut run = Run::with("now", "adaptive", |command| command.env("LEAVE", "1"));
    let reported = run.hear();
    assert!(run.snapshot_with(reported.waiter).alive);
    run.answer();
    assert_eq!(run.hear().what, "done");
    run.ends();
}

/// Checks by the program's own symbols in which function a site is.
fn assert_is_in(snapshot: &Snapshot, site: u64, function: &str) {
    let maps = fs::read_to_string(format!("/proc/{}/maps", snapshot.pid)).expect("it runs");
    let parse = |text: &str| u64::from_str_radix(text, 16).expect("a number");
    let (path, offset) = maps
        .lines()
        .find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (start, end) = words[0].split_once('-').expect("a range");
            let (start, end) = (parse(start), parse(end));
            (start..end).contains(&site).then(|| (words[5].to_owned(), site - start + parse(words[2])))
        })
        .expect("a module");
    let output = Command::new(tool("addr2line")).args(["-f", "-e", &path, &format!("{offset:x}")]).output();
    let output = output.expect("addr2line of binutils");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(function), "{output:?}");
}

#[test]
fn each_way_of_waiting_is_counted_by_itself() {
    let mut run = Run::of("kinds");
    let kinds = [Kind::Read, Kind::Write, Kind::Spin, Kind::Mutex];
    let functions = ["read_once", "write_once", "spin_once", "wait_for_condition"];
    for (kind, function) in kinds.into_iter().zip(functions) {
        let reported = run.hear();
        assert_eq!(reported.what, kind.name());
        let snapshot = run.snapshot_with(reported.waiter);
        let thread = snapshot.threads.iter().find(|thread| thread.tid == reported.waiter).expect("the waiter");
        let waiting = thread.waiting.expect("it waits");
        assert_eq!((waiting.lock, waiting.kind), (reported.lock, kind));
        assert_is_in(&snapshot, waiting.site, function);
        if kind == Kind::Write {
            assert_eq!(waiting.owner, Some(reported.reporter), "who has let a reader wait");
        }
        run.answer();
    }
    let rwlock = run.hear().lock;
    let snapshot = run.snapshot();
    let locks: Vec<_> = snapshot.locks.iter().map(|lock| (lock.kind, lock.waits, lock.gave_up)).collect();
    for expected in [(Kind::Read, 1, 0), (Kind::Write, 1, 0), (Kind::Spin, 1, 0), (Kind::Mutex, 2, 1)] {
        assert!(locks.contains(&expected), "{expected:?} is not in {locks:?}");
    }
    assert!(snapshot.locks.iter().all(|lock| lock.longest_ns >= 25 * MS), "{:?}", snapshot.locks);
    assert_eq!(snapshot.locks.iter().filter(|lock| lock.address == rwlock).count(), 2);
    run.ends();
}

#[test]
fn waits_of_threads_that_are_gone_are_kept() {
    let mut run = Run::of("threads");
    let reported = run.hear();
    let snapshot = run.snapshot();
    assert_eq!(lock_at(&snapshot, reported.lock).waits, 300);
    assert_eq!(snapshot.lost, Default::default());
    let bytes = fs::metadata(run.channel().path()).expect("a file");
    let used = std::os::unix::fs::MetadataExt::blocks(&bytes) * 512;
    assert!(used < 40 * layout::PAGE as u64, "{used} bytes for one thread at a time");
    run.ends();
}

#[test]
fn more_locks_than_there_is_room_for_are_counted_as_lost() {
    let mut run = Run::of("many");
    run.hear();
    let snapshot = run.snapshot();
    let counted: u64 = snapshot.locks.iter().map(|lock| lock.waits).sum();
    assert_eq!(counted + snapshot.lost.waits, 20_000);
    assert!(counted > 15_000 && snapshot.lost.waits > 0, "{:?}", snapshot.lost);
    assert!(snapshot.locks.iter().all(|lock| lock.waits == 1));
    let addresses: HashSet<u64> = snapshot.locks.iter().map(|lock| lock.address).collect();
    assert_eq!(addresses.len(), snapshot.locks.len());
    run.ends();
}

#[test]
fn a_forked_child_has_a_view_of_its_own() {
    let mut run = Run::of("fork");
    let child = run.hear();
    assert_eq!(child.what, "child");
    let channels: Vec<Channel> = run.files().iter().map(|path| Channel::open(path).expect("sound")).collect();
    let waits = |of: &Channel| lock_at(&of.snapshot().expect("sound"), child.lock).waits;
    let mut counts: Vec<(bool, u64)> = channels.iter().map(|c| (c.pid() == child.waiter, waits(c))).collect();
    counts.sort();
    assert_eq!(counts, [(false, 2), (true, 1)]);
    run.answer();
    run.hear();
    let parents = channels.iter().find(|channel| channel.pid() != child.waiter).expect("the parent's");
    assert_eq!(waits(parents), 3);
    let childs = channels.iter().find(|channel| channel.pid() == child.waiter).expect("the child's");
    assert!(!childs.snapshot().expect("sound").alive);
    run.ends();
}

#[test]
fn a_program_that_replaces_another_begins_anew() {
    let mut run = Run::of("exec");
    let reported = run.hear();
    let before = run.channel();
    assert_eq!(lock_at(&before.snapshot().expect("sound"), reported.lock).waits, 2);
    run.answer();
    let reported = run.hear();
    assert_eq!(reported.what, "done");
    assert!(!before.snapshot().expect("its last state").alive);
    let snapshot = run.snapshot();
    assert!(snapshot.alive);
    assert_eq!((snapshot.pid, lock_at(&snapshot, reported.lock).waits), (before.pid(), 1));
    run.ends();
}

#[test]
fn the_last_state_of_a_killed_program_can_be_read() {
    let mut run = Run::of("now");
    let reported = run.hear();
    run.snapshot_with(reported.waiter);
    run.child.kill().expect("it runs");
    assert_eq!(run.child.wait().expect("it ends").signal(), Some(9));
    let snapshot = run.snapshot();
    assert!(!snapshot.alive);
    assert_eq!(lock_at(&snapshot, reported.lock).waits, 1);
    let waiting =
        snapshot.threads.iter().find(|thread| thread.tid == reported.waiter).and_then(|thread| thread.waiting);
    assert_eq!(waiting.map(|w| (w.lock, w.owner)), Some((reported.lock, Some(reported.reporter))));
}

#[test]
fn waits_are_counted_under_every_policy() {
    for policy in POLICIES {
        let mut run = Run::with("any", policy, |command| command);
        let reported = run.hear();
        let snapshot = run.snapshot_with(reported.waiter);
        let waiting =
            snapshot.threads.iter().find(|thread| thread.tid == reported.waiter).and_then(|thread| thread.waiting);
        assert_eq!(waiting.map(|w| (w.lock, w.kind)), Some((reported.lock, Kind::Mutex)), "{policy}");
        run.answer();
        run.hear();
        let snapshot = run.snapshot();
        let lock = lock_at(&snapshot, reported.lock);
        assert_eq!((lock.waits, lock.gave_up), (1, 0), "{policy}");
        assert!(
            lock.longest_ns == lock.wait_ns && (25 * MS..60_000 * MS).contains(&lock.wait_ns),
            "{policy}: {lock:?}"
        );
        run.ends();
    }
}

#[test]
fn snapshots_of_a_busy_program_only_grow() {
    /// The reader computes the length of a wait that is not counted yet: the program may know its clock better later.
    const CLOCK_NS: u64 = 10_000;
    let mut run = Run::of("busy");
    run.hear();
    let channel = run.awaited_channel();
    std::thread::sleep(Duration::from_millis(200)); // by then the program knows its clock well
    let mut last: HashMap<u64, Arc<Lock>> = HashMap::new();
    let (mut exact, begun) = (0, Instant::now());
    let is_enough = |exact, locks| exact > 10 && locks >= 30 && begun.elapsed() > Duration::from_secs(2);
    while !is_enough(exact, last.len()) && begun.elapsed() < LONG {
        let snapshot = channel.snapshot().expect("a sound view");
        if !snapshot.is_exact {
            continue;
        }
        exact += 1;
        for lock in snapshot.locks {
            assert_eq!(lock.waits, lock.histogram.iter().sum::<u64>());
            assert_eq!(lock.waits, lock.sites.iter().map(|site| site.waits).sum::<u64>());
            assert!(lock.longest_ns <= lock.wait_ns && lock.wait_ns <= lock.waits * lock.longest_ns, "{lock:?}");
            if let Some(before) = last.insert(lock.address, lock.clone()) {
                assert!(
                    before.waits <= lock.waits && before.wait_ns <= lock.wait_ns + CLOCK_NS,
                    "{before:?}, then {lock:?}"
                );
                assert!(
                    before.sleeps <= lock.sleeps && before.longest_ns <= lock.longest_ns + CLOCK_NS,
                    "{before:?}, then {lock:?}"
                );
            }
        }
    }
    assert!(exact > 10 && (30..=64).contains(&last.len()), "{exact} snapshots of {} locks", last.len());
    run.answer();
    run.hear();
    let snapshot = run.snapshot();
    assert!(snapshot.locks.iter().all(|lock| last.get(&lock.address).is_none_or(|before| before.waits <= lock.waits)));
    run.ends();
}

#[test]
fn a_signal_handlers_wait_leaves_the_interrupted_one_whole() {
    let mut run = Run::of("interrupted");
    let reported = run.hear();
    let snapshot = run.snapshot();
    let waits: Vec<_> = snapshot.locks.iter().map(|lock| (lock.address, lock.waits)).collect();
    assert_eq!((waits, snapshot.lost.nested), (vec![(reported.lock, 1)], 1));
    assert!(snapshot.locks[0].longest_ns >= 20 * MS);
    run.ends();
}

#[test]
fn a_process_whose_system_calls_are_filtered_is_left_alone() {
    let mut run = Run::of("filtered");
    assert_eq!(run.hear().what, "done");
    assert!(run.files().is_empty());
    run.ends();
    // Its user sets the opposite: then the filter decides.
    let run = Run::with("filtered", "adaptive", |command| command.env(environment::LIVE, "1"));
    assert_eq!(run.signal(), Some(31));
}

#[test]
fn files_of_processes_that_are_gone_are_removed_when_there_are_many() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join(place::FOLDER);
    fs::create_dir(&inner).expect("a folder");
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o700)).expect("permissions");
    let make = |name: String| fs::write(inner.join(name), "").expect("a file");
    // Linux has no more than 2^22 processes.
    (0..150).for_each(|number| make(format!("{}-1.live", (1 << 22) + 1 + number)));
    make("1-1.live".to_owned());
    make("notes.txt".to_owned());
    let mut run = Run::in_folder("once", "adaptive", folder, Command::new("env"), |command| command);
    run.hear();
    let files = run.files();
    let names: HashSet<&str> = files.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names.len(), 64 + 3, "{names:?}");
    assert!(names.contains("1-1.live") && names.contains("notes.txt"));
    run.ends();
}

#[test]
fn a_kernel_that_cannot_make_pages_writable_has_a_smaller_view() {
    let mut run = Run::with("old-kernel", "adaptive", |command| command.env(environment::LIVE, "1"));
    run.hear();
    let snapshot = run.snapshot();
    let counted: u64 = snapshot.locks.iter().map(|lock| lock.waits).sum();
    assert!(counted > 15_000, "{counted}");
    assert_eq!(counted + snapshot.lost.waits, 20_000);
    run.ends();
}

#[test]
fn a_deadlock_at_the_first_contention_is_seen_though_the_file_takes_its_time() {
    let mut run = Run::with("crosswise", "adaptive", |command| command.env(environment::LIVE, "1"));
    assert_eq!(run.hear().what, "circle");
    let snapshot = run.snapshot();
    let waiting: Vec<_> = snapshot.threads.iter().filter_map(|thread| thread.waiting).collect();
    let [one, other] = waiting[..] else { panic!("{:?}", snapshot.threads) };
    assert!(one.lock != other.lock && one.owner.is_some() && other.owner.is_some(), "{waiting:?}");
    run.ends();
}

#[test]
fn a_program_whose_locks_are_free_makes_no_file() {
    let run = Run::of("nothing");
    let files = run.files();
    run.ends_at_once();
    assert!(files.is_empty());
}

#[test]
fn it_can_be_turned_off() {
    let mut run = Run::with("once", "adaptive", |command| command.env(environment::LIVE, "0"));
    run.hear();
    assert!(run.files().is_empty());
    run.ends();
}

#[test]
fn a_folder_that_is_a_link_or_anybodys_is_not_used() {
    for make in [(|folder, other| symlink(other, folder).expect("a link")) as fn(&Path, &Path), |folder, _| {
        fs::create_dir(folder).expect("a folder");
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("permissions");
    }] {
        let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        make(&folder.path().join(place::FOLDER), other.path());
        let mut run = Run::in_folder("once", "adaptive", folder, Command::new("env"), |command| command);
        run.hear();
        assert!(run.files().is_empty());
        assert_eq!(fs::read_dir(other.path()).expect("a folder").count(), 0);
        run.ends();
    }
}

#[test]
fn a_limit_on_files_costs_the_view_and_not_the_program() {
    let limited = |command: &mut Command| {
        let mut limit = Command::new("prlimit");
        limit.args(["--fsize=1000000", "env"]);
        std::mem::swap(command, &mut limit);
    };
    let mut command = Command::new("env");
    limited(&mut command);
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = Run::in_folder("once", "adaptive", folder, command, |command| command);
    run.hear();
    assert!(run.files().is_empty());
    run.ends();
}

impl Run {
    fn signal(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").signal()
    }

    fn ends_at_once(mut self) {
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// Runs the program where its folders are separate file systems, mounted with `options`; `None`: that requires root.
fn mounted(what: &str, options: &str) -> Option<Run> {
    let is_allowed = Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    if !is_allowed {
        println!("SKIPPED: needs root, to mount file systems");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("unshare");
    let fallback = "/tmp/turnwise-$(id -u)";
    let mount = format!("mount -t tmpfs -o mode=700,{options} none");
    let script = format!(
        "mkdir -m 700 -p {fallback} $XDG_RUNTIME_DIR/turnwise && {mount} $XDG_RUNTIME_DIR/turnwise \
         && {mount} {fallback} && exec env \"$@\""
    );
    command.args(["--mount", "sh", "-c", &script, "sh"]);
    Some(Run::in_folder(what, "adaptive", folder, command, |command| command))
}

#[test]
fn a_full_disk_costs_the_view_and_not_the_program() {
    // No room, room for the header, for a thread, and for a part of the table.
    for pages in [1, 2, 3, 20] {
        let Some(mut run) = mounted("many", &format!("nr_blocks={pages}")) else { return };
        assert_eq!(run.hear().what, "done");
        run.ends();
    }
}

#[test]
fn a_disk_that_is_not_written_to_costs_the_view_and_not_the_program() {
    let Some(mut run) = mounted("threads", "ro") else { return };
    assert_eq!(run.hear().what, "done");
    run.ends();
}

#[test]
fn what_is_recorded_of_a_busy_program_adds_up() {
    let mut run = Run::of("busy");
    let reported = run.hear();
    let channel = run.awaited_channel();
    // The reader of records may be late, or stalled during long waits, on a busy machine.
    assert!((0..20).any(|_| adds_up(&channel, &reported)), "the records do not come to what was counted");
    run.answer();
    assert_eq!(run.hear().what, "done");
    run.ends();
}

/// Records for two seconds; returns whether the records sum to about the counts meanwhile.
fn adds_up(channel: &Channel, reported: &Reported) -> bool {
    const PERIOD_NS: u64 = 500_000;
    let mut recorder = channel.record().expect("a view of ours");
    let waited = || channel.snapshot().expect("a sound view").locks.iter().map(|lock| lock.wait_ns).sum::<u64>();
    recorder.ask(PERIOD_NS).expect("a view of ours");
    let (before, begun) = (waited(), Instant::now());
    let mut waits = Vec::new();
    while begun.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(2));
        recorder.ask(PERIOD_NS).expect("a view of ours");
        waits.extend(recorder.take().expect("a sound log").0);
    }
    let counted = waited() - before;
    recorder.stop().expect("a view of ours");
    let threads: HashSet<u32> = fs::read_dir(format!("/proc/{}/task", reported.reporter))
        .expect("it runs")
        .map(|thread| thread.expect("a thread").file_name().to_str().expect("a number").parse().expect("a number"))
        .collect();
    for wait in &waits {
        assert!(threads.contains(&wait.tid) && wait.began_ns <= wait.ended_ns && !wait.stack.is_empty(), "{wait:?}");
        assert!(wait.holder.is_none_or(|holder| threads.contains(&holder) && holder != wait.tid), "{wait:?}");
    }
    let (lost, no_stack) = recorder.losses().expect("a sound log");
    assert_eq!(no_stack, 0);
    let estimated: f64 = waits.iter().map(|wait| wait.weight * (wait.ended_ns - wait.began_ns) as f64).sum();
    let share = estimated / counted as f64;
    println!("{} records, {lost} lost, {share} of {counted} ns", waits.len());
    waits.len() > 100
        && waits.iter().any(|wait| wait.lock == reported.lock)
        && lost < waits.len() as u64 / 10
        && (0.7..1.3).contains(&share)
}

#[test]
fn a_full_disk_costs_records_and_not_the_program() {
    let Some(mut run) = mounted("busy", "nr_blocks=30") else { return };
    let reported = run.hear();
    let channel = until("a view", || Channel::of(reported.reporter).ok());
    let mut recorder = channel.record().expect("a view of ours");
    let (mut taken, begun) = (0, Instant::now());
    while recorder.losses().expect("a sound log").0 == 0 {
        assert!(begun.elapsed() < LONG, "{taken} records");
        recorder.ask(10_000).expect("a view of ours");
        std::thread::sleep(Duration::from_millis(2));
        taken += recorder.take().expect("a sound log").0.len();
    }
    drop(recorder);
    run.answer();
    assert_eq!(run.hear().what, "done");
    run.ends();
}
