//! `turnwise profile --pid` on programs under `turnwise run`: the recorder inside them is switched on and off.

use crate::common::{compiled, expect, expect_complaint, expect_of, output, scratch, shown, signal, text, turnwise};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use turnwise_live::layout::Header;
use turnwise_profile::model::{Method, Profile};

const LONG: Duration = Duration::from_secs(120);

/// The program of `inside.c` under `turnwise run`, with a folder for its live view that no other test uses.
struct Running {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    folder: TempDir,
}

impl Running {
    fn start() -> Running {
        let folder = scratch();
        let program = compiled(folder.path(), "inside");
        let mut command = turnwise(&["run", "--", shown(&program)]);
        command.env("XDG_RUNTIME_DIR", folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut running = Running { child, to, from, folder };
        // The first wait creates the view.
        running.wait(2);
        running
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Makes `threads` threads wait once each.
    fn wait(&mut self, threads: usize) {
        writeln!(self.to, "w {threads}").unwrap();
        assert_eq!(self.hear(), format!("waited {}\n", self.pid()));
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line
    }

    fn turnwise(&self, arguments: &[&str]) -> Command {
        let mut command = turnwise(arguments);
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    /// Starts to profile, and returns when the recorder is on.
    fn profile(&self, arguments: &[&str]) -> Profiling {
        let pid = self.pid();
        let mut command = self.turnwise(&[&["profile", "--pid", &pid], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut error = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        error.read_line(&mut said).unwrap();
        assert!(said.contains(&format!("recording the waits inside process {pid}")), "{said}");
        Profiling { child, said }
    }

    /// Returns the file of the live view of a process.
    fn view(&self, pid: &str) -> PathBuf {
        let folder = std::fs::read_dir(self.folder.path().join("turnwise")).unwrap();
        let mut files = folder.map(|entry| entry.unwrap().path());
        let start = format!("{pid}-");
        files.find(|file| file.file_name().unwrap().to_str().unwrap().starts_with(&start)).expect("a view")
    }

    /// Returns until when the recorder of a process is on; 0: it is off.
    fn switch(&self, pid: &str) -> u64 {
        let mut until = [0; 8];
        let file = std::fs::File::open(self.view(pid)).unwrap();
        file.read_exact_at(&mut until, std::mem::offset_of!(Header, switch) as u64).unwrap();
        u64::from_ne_bytes(until)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running profiler.
struct Profiling {
    child: Child,
    said: String,
}

impl Profiling {
    /// Ends the recording; returns the report.
    fn interrupt(self) -> String {
        signal(self.child.id() as i32, "INT");
        self.report()
    }

    fn report(mut self) -> String {
        let mut report = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut report).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}\n{report}", self.said);
        report
    }
}

fn json(file: &Path) -> Profile {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Returns the names of a stack's frames, innermost first.
fn functions(profile: &Profile, stack: u32) -> Vec<&str> {
    profile.stacks[stack as usize].iter().map(|frame| profile.frames[*frame as usize].function.as_str()).collect()
}

#[test]
fn all_waits_of_the_time_are_counted_with_their_stacks() {
    const FORMS: [&str; 7] = ["json", "html", "folded", "flame", "pprof", "firefox", "perfetto"];
    let mut running = Running::start();
    let files = FORMS.map(|form| running.folder.path().join(form));
    let flags: Vec<String> = FORMS.iter().map(|form| format!("--{form}")).collect();
    let arguments: Vec<&str> = flags.iter().zip(&files).flat_map(|(flag, file)| [flag.as_str(), shown(file)]).collect();
    let profiling = running.profile(&arguments);
    for _ in 0..5 {
        running.wait(4);
    }
    let report = profiling.interrupt();
    assert_eq!(running.switch(&running.pid()), 0, "the recorder is off");
    let profile = json(&files[0]);
    assert_eq!((profile.recording.method, profile.recording.records_lost), (Method::Live, 0));
    let [gate] = &profile.locks[..] else { panic!("{:?}", profile.locks) };
    assert_eq!(
        (gate.name.as_str(), gate.usage.contended, gate.usage.wait.count),
        ("gate", 20, 20),
        "and no earlier one"
    );
    // All are long, so each is recorded.
    assert_eq!((profile.episodes.len(), profile.recording.episodes_dropped), (20, 0));
    // (The program measures the length of a processor tick while it runs.)
    let recorded: u64 = profile.episodes.iter().map(|wait| wait.acquired_ns - wait.began_ns).sum();
    assert!(
        recorded.abs_diff(gate.usage.wait.sum_ns) < gate.usage.wait.sum_ns / 10,
        "{recorded} {:?}",
        gate.usage.wait
    );
    let threads: std::collections::HashSet<u32> = profile.episodes.iter().map(|wait| wait.thread).collect();
    assert_eq!(threads.len(), 20, "threads came and went");
    for wait in &profile.episodes {
        let stack = functions(&profile, wait.stack.unwrap());
        assert_eq!(stack[..3], ["pass_gate", "walk_up", "walker"], "{stack:?}");
    }
    // A thread behind another waiter also waits for it, as long as that one reports the lock's holder.
    assert!(profile.episodes.iter().any(|wait| wait.released_ns.is_some()));
    let hold = &gate.usage.hold;
    assert!(hold.count > 0 && hold.mean_ns() >= 2_000_000, "{hold:?}");
    let written = std::fs::read_to_string(&files[0]).unwrap();
    assert!(!written.contains("\"acquisitions\":") && !written.contains("\"hold_total_ns\""));
    assert!(report.lines().all(|line| line.chars().count() <= 100), "{report}");
    for part in
        ["LOCKS BY WAIT TIME", "Most of it for: gate", "pass_gate (inside.c:", "called from walk_up", "adaptive locks"]
    {
        assert!(report.contains(part), "no {part} in\n{report}");
    }
    assert!(files.iter().all(|file| std::fs::metadata(file).unwrap().len() > 0));
    let (again, _) = expect(0, &["profile", "--from", shown(&files[0])]);
    assert_eq!(again, report);
    expect_complaint(2, &["profile", "--from", shown(&files[0]), "--what-if-cpus", "4"], &["no acquisitions"]);
}

#[test]
fn waits_alone_are_recorded_from_the_programs_start() {
    let folder = scratch();
    let file = folder.path().join("profile.json");
    let waits = |status: i32, arguments: &[&str]| {
        let mut command = turnwise(&[&["profile", "--waits"], arguments].concat());
        expect_of(status, command.env("XDG_RUNTIME_DIR", folder.path()))
    };
    let (report, _) = waits(0, &["--json", shown(&file), "--", "@sample", "-t", "4", "-s", "1"]);
    assert!(report.contains("ops_per_second") && report.contains("adaptive locks"), "{report}");
    let profile = json(&file);
    let (program, cache) = (&profile.program, &profile.locks[0]);
    assert_eq!((profile.recording.method, program.policy.as_str()), (Method::Live, "adaptive"));
    assert!(cache.name == "cache" && cache.usage.wait.count > 0 && cache.usage.wait.sum_ns > 1_000_000, "{cache:?}");
    assert!((0.9..60.0).contains(&(program.duration_ns as f64 / 1e9)), "{}", program.duration_ns);
    let stacks: Vec<u32> = profile.episodes.iter().filter_map(|wait| wait.stack).collect();
    assert!(stacks.iter().any(|stack| functions(&profile, *stack).contains(&"work")));
    let (report, _) = waits(7, &["--", "sh", "-c", "exit 7"]);
    assert!(report.contains("exit status 7") && report.contains("No thread waited for a lock"), "{report}");
    for (arguments, part) in [
        (&["--lock", "libc", "--", "true"][..], "inside our locks"),
        (&["--what-if-cpus", "4", "--", "true"], "--waits"),
        (&["--pid", "1"], "cannot be used with"),
    ] {
        let (_, reported) = waits(2, arguments);
        assert!(reported.contains(part), "{reported}");
    }
}

#[test]
fn a_busy_lock_is_sampled_by_its_wait_time() {
    let folder = scratch();
    let mut command = turnwise(&["run", "--", "@sample", "-t", "4", "-s", "300"]);
    let mut sample = command.env("XDG_RUNTIME_DIR", folder.path()).stdout(Stdio::null()).spawn().unwrap();
    let (pid, file) = (sample.id().to_string(), folder.path().join("profile.json"));
    let begun = Instant::now();
    let profiled = loop {
        let mut command = turnwise(&["profile", "--pid", &pid, "--for", "1s", "--json", shown(&file)]);
        let found = output(command.env("XDG_RUNTIME_DIR", folder.path()));
        // Until a thread waits there is no view, and its futex calls are traced, or would be.
        if text(&found.stderr).contains("recording the waits inside") {
            break found;
        }
        assert!(begun.elapsed() < LONG, "{}", text(&found.stderr));
    };
    sample.kill().unwrap();
    sample.wait().unwrap();
    assert!(profiled.status.success(), "{}", text(&profiled.stderr));
    let profile = json(&file);
    let cache = &profile.locks[0];
    assert_eq!(cache.name, "cache");
    assert!((800_000_000..20_000_000_000).contains(&profile.program.duration_ns));
    // The sample of stacks sums to about the counts.
    let sampled: u64 = profile.sites.iter().flat_map(|site| &site.stacks).map(|stack| stack.wait_ns).sum();
    let counted = cache.usage.wait.sum_ns;
    assert!((counted / 2..counted * 2).contains(&sampled), "{sampled} of {counted}");
    assert!(!profile.episodes.is_empty() && profile.episodes.len() as u64 <= cache.usage.wait.count);
    let stacks = || profile.sites.iter().flat_map(|site| &site.stacks);
    assert!(stacks().all(|stack| functions(&profile, stack.stack).len() >= 2), "{:?}", profile.recording.remarks);
    assert!(text(&profiled.stdout).contains("Most of it for: cache"), "{}", text(&profiled.stdout));
}

#[test]
fn a_profiler_that_is_killed_leaves_no_recorder_on() {
    let mut running = Running::start();
    let mut profiling = running.profile(&[]);
    running.wait(2);
    assert_ne!(running.switch(&running.pid()), 0);
    profiling.child.kill().unwrap();
    profiling.child.wait().unwrap();
    let begun = Instant::now();
    while running.switch(&running.pid()) != 0 {
        assert!(begun.elapsed() < LONG, "the recorder is still on");
        running.wait(2);
    }
    // And another one may come.
    let report = running.profile(&["--for", "100ms"]).report();
    assert!(report.contains("No thread waited for a lock"), "{report}");
}

#[test]
fn one_profiler_at_a_time() {
    let running = Running::start();
    let first = running.profile(&[]);
    let second = output(&mut running.turnwise(&["profile", "--pid", &running.pid(), "--for", "1s"]));
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(
        said.contains(&format!("process {} has the waits of this program recorded already", first.child.id())),
        "{said}"
    );
    first.interrupt();
}

#[test]
fn of_a_program_that_is_killed_the_report_says_what_there_was() {
    let mut running = Running::start();
    let profiling = running.profile(&["--for", "600s"]);
    running.wait(3);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    let report = profiling.report();
    assert!(report.contains("exit status not known") && report.contains("3 waits"), "{report}");
}

#[test]
fn a_forked_child_writes_nothing_to_its_parents_recording() {
    let mut running = Running::start();
    let file = running.folder.path().join("profile.json");
    let profiling = running.profile(&["--json", shown(&file)]);
    running.wait(1);
    writeln!(running.to, "f").unwrap();
    let forked = running.hear();
    let child = forked.strip_prefix("forked ").expect("the child says so").trim().to_owned();
    running.wait(1);
    let report = profiling.interrupt();
    assert_eq!(running.switch(&child), 0, "the child's recorder was never on");
    signal(child.parse().unwrap(), "KILL");
    let profile = json(&file);
    assert_eq!((profile.locks[0].usage.wait.count, profile.episodes.len()), (2, 2), "{report}");
    assert!(report.contains(&format!("1 more runs of the same program: {child}")), "{report}");
}

#[test]
fn no_rights_are_needed_but_the_users_own() {
    const NOBODY: u32 = 65_534;
    let folder = scratch();
    let is_root = std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).is_ok();
    let as_nobody = |arguments: &[&str]| {
        let own = turnwise(arguments);
        let mut command = if is_root { Command::new("setpriv") } else { Command::new(own.get_program()) };
        if is_root {
            let number = NOBODY.to_string();
            command.args(["--reuid", &number, "--regid", &number, "--clear-groups", "--"]).arg(own.get_program());
        }
        command.args(own.get_args()).env("XDG_RUNTIME_DIR", folder.path()).env("XDG_CACHE_HOME", folder.path());
        command.env("HOME", folder.path()).env_remove("LD_PRELOAD").stdin(Stdio::null());
        command
    };
    let answers = as_nobody(&["--version"]).output().is_ok_and(|found| found.status.success());
    if !answers {
        return println!("SKIPPED: another user cannot run {}", crate::PROGRAM);
    }
    let mut sample =
        as_nobody(&["run", "--", "@sample", "-t", "4", "-s", "300"]).stdout(Stdio::null()).spawn().unwrap();
    let pid = sample.id().to_string();
    let begun = Instant::now();
    let found = loop {
        let found = output(&mut as_nobody(&["profile", "--pid", &pid, "--for", "200ms"]));
        if found.status.success() || begun.elapsed() > LONG {
            break found;
        }
    };
    sample.kill().unwrap();
    sample.wait().unwrap();
    let (report, said) = (text(&found.stdout), text(&found.stderr));
    assert!(
        report.contains("Most of it for: cache") && said.contains("recording the waits inside"),
        "{report}\n{said}"
    );
}
