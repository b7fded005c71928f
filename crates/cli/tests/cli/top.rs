//! `turnwise top` and `turnwise why`, on running programs.

use crate::common::{expect_of, output, scratch, shown, signal, text, turnwise};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A time longer than any step takes, however busy the machine is.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A program under `turnwise run` that ends with the value, and the folder of its live view, which no other test uses.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) folder: TempDir,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Running {
        Running::under("adaptive", arguments)
    }

    /// Starts a program on the locks of this policy.
    pub(crate) fn under(policy: &str, arguments: &[&str]) -> Running {
        Running::with(&["--lock", policy], arguments)
    }

    /// Starts a program under `turnwise run` with these options.
    pub(crate) fn with(options: &[&str], arguments: &[&str]) -> Running {
        let folder = scratch();
        let mut command = turnwise(&[&["run"], options, &["--"], arguments].concat());
        command.env("XDG_RUNTIME_DIR", folder.path()).stdout(Stdio::null());
        Running { child: command.spawn().unwrap(), folder }
    }

    /// Starts the sample: four threads on one mutex, which its source calls `cache`.
    pub(crate) fn sample() -> Running {
        Running::start(&["@sample", "-t", "4", "-s", "600"])
    }

    pub(crate) fn pid(&self) -> String {
        self.child.id().to_string()
    }

    pub(crate) fn turnwise(&self, arguments: &[&str]) -> Command {
        let mut command = turnwise(arguments);
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    /// Waits until threads wait for a lock: only then is there data to look at.
    pub(crate) fn contended(&self) {
        let begun = Instant::now();
        while !output(&mut self.turnwise(&["top", "--once", "--interval", "0.1", &self.pid()])).status.success() {
            assert!(begun.elapsed() < LONG, "nobody waits for a lock");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let pid = self.pid();
        let (line, _) = expect_of(0, &mut self.turnwise(&[&["top", "--once", "--json", &pid], arguments].concat()));
        assert_eq!(line.lines().count(), 1, "{line}");
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds a C program with this source.
pub(crate) fn compiled(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(&file);
    assert!(compiler.status().unwrap().success());
    program
}

#[test]
fn the_hot_lock_is_named_within_two_seconds() {
    let sample = Running::sample();
    sample.contended();
    // On a machine that stalls occasionally, not every time.
    let in_time = |_| {
        let begun = Instant::now();
        let look = sample.json(&[]);
        println!("{:?}", begun.elapsed());
        (begun.elapsed() < Duration::from_secs(2)).then_some(look)
    };
    let look = (0..30).find_map(in_time).expect("a look takes more than two seconds");
    let lock = &look["locks"][0];
    assert_eq!((&lock["name"], &lock["kind"]), (&"cache".into(), &"mutex".into()), "{look}");
    assert!(lock["waits"].as_u64().unwrap() > 0 && lock["share"].as_f64().unwrap() > 0.99, "{look}");
    assert!(lock["site"].as_str().unwrap().contains("(cache.c:"), "{look}");
    let waits = look["processes"][0]["span_ns"].as_u64().unwrap();
    assert!((450_000_000..60_000_000_000).contains(&waits), "{look}");
    let (table, _) = expect_of(0, &mut sample.turnwise(&["top", "--once", "--interval", "2"]));
    assert!(table.contains("cache ") && table.contains("waits/s"), "{table}");
    let (filtered, _) = expect_of(0, &mut sample.turnwise(&["top", "--once", "--interval", "0.2", "--filter", "nix"]));
    assert!(filtered.contains("No thread waited for a lock."), "{filtered}");
}

#[test]
fn a_program_that_is_killed_leaves_its_last_state() {
    let mut sample = Running::sample();
    sample.contended();
    let pid = sample.pid();
    sample.child.kill().unwrap();
    sample.child.wait().unwrap();
    let (table, _) = expect_of(0, &mut sample.turnwise(&["top", "--once", &pid]));
    assert!(table.contains("it has ended: all since it began"), "{table}");
    let look = sample.json(&[]);
    assert!(look["locks"][0]["waits"].as_u64().unwrap() > 0, "{look}");
    assert_eq!((&look["processes"][0]["alive"], &look["locks"][0]["waits_per_s"]), (&false.into(), &Value::Null));
    assert_eq!(look["locks"][0]["longest_now_ns"], Value::Null, "nobody waits any more: {look}");
    // Without a named program, the running ones are shown; there may be some of other tests.
    let all = text(&output(&mut sample.turnwise(&["top", "--once", "--interval", "0.1"])).stdout);
    assert!(!all.contains(&format!(" {pid}:")), "{all}");
}

#[test]
fn lines_of_json_come_until_the_program_ends() {
    let mut sample = Running::sample();
    sample.contended();
    let mut command = sample.turnwise(&["top", "--json", "--interval", "0.1", &sample.pid()]);
    let mut top = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    for _ in 0..3 {
        let look: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        assert_eq!(look["processes"][0]["alive"], true, "{look}");
    }
    sample.child.kill().unwrap();
    sample.child.wait().unwrap();
    let last: Value = serde_json::from_str(&lines.last().unwrap()).unwrap();
    assert_eq!(last["processes"][0]["alive"], false, "{last}");
    assert!(top.wait().unwrap().success());
}

#[test]
fn metrics_are_served_and_written() {
    let sample = Running::sample();
    sample.contended();
    let pid = sample.pid();
    let file = sample.folder.path().join("locks.prom");
    expect_of(0, &mut sample.turnwise(&["top", "--once", "--openmetrics", shown(&file), &pid]));
    let written = std::fs::read_to_string(&file).unwrap();
    let mut command = sample.turnwise(&["top", "--openmetrics", "127.0.0.1:0", &pid]);
    let mut top = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(top.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect(&said);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut served = String::new();
    stream.read_to_string(&mut served).unwrap();
    assert!(served.starts_with("HTTP/1.1 200 OK\r\n") && served.contains("openmetrics-text"), "{served}");
    for text in [&written, &served] {
        let count = text.lines().find(|line| line.starts_with("turnwise_lock_wait_seconds_count{")).expect(text);
        assert!(count.contains("lock=\"cache\"") && count.contains(&format!("pid=\"{pid}\"")), "{count}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
    signal(i32::try_from(top.id()).unwrap(), "TERM");
    assert!(top.wait().unwrap().success(), "a signal ends it in order");
}

#[test]
fn what_cannot_be_shown_is_reported() {
    let folder = scratch();
    let reported = |arguments: &[&str]| {
        let mut command = turnwise(&[&["top"], arguments].concat());
        expect_of(2, command.env("XDG_RUNTIME_DIR", folder.path())).1
    };
    assert!(reported(&[]).contains("standard output is not a terminal; --once"));
    assert!(reported(&["--once", "no-such-program"]).contains("no program called `no-such-program` has a live view"));
    let outside = reported(&["--once", &std::process::id().to_string()]);
    assert!(outside.contains("turnwise run") && outside.contains("turnwise why"), "{outside}");
    let views = folder.path().join("turnwise");
    std::fs::DirBuilder::new().mode(0o700).create(&views).unwrap();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let start = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    std::fs::write(views.join(format!("{}-{start}.live", std::process::id())), [b'x'; 5000]).unwrap();
    let of_damaged = reported(&["--once", "no-such-program"]);
    assert!(
        of_damaged.contains("1 cannot be read, the first: ") && of_damaged.contains(&format!("-{start}.live")),
        "{of_damaged}"
    );
    assert!(reported(&["--once", "--interval", "0.01"]).contains("0.1 or more"));
    assert!(reported(&["--once", "--openmetrics", "9464", "--json"]).contains("cannot be used with"));
    assert!(reported(&["--sort", "colour"]).contains("possible values: wait"));
}

/// Two threads that take two mutexes in opposite order, as soon as each has one, and a third behind them. Before that
/// they may meet at a lock, so that each has waited once: then locks know their owners' names.
const DEADLOCK: &str = "
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t meeting = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_have_one;
static int meetings;
static void meet(void)
{
    for (int i = 0; i < meetings; i++) {
        pthread_mutex_lock(&meeting);
        usleep(2000);
        pthread_mutex_unlock(&meeting);
    }
}
__attribute__((noinline)) static void *left_first(void *unused)
{
    meet();
    pthread_mutex_lock(&left);
    pthread_barrier_wait(&both_have_one);
    pthread_mutex_lock(&right);
    pthread_mutex_unlock(&right);
    return unused;
}
__attribute__((noinline)) static void *right_first(void *unused)
{
    meet();
    pthread_mutex_lock(&right);
    pthread_barrier_wait(&both_have_one);
    usleep(50000); /* the wait for the other begins first */
    pthread_mutex_lock(&left);
    pthread_mutex_unlock(&left);
    return unused;
}
int main(int words, char **unused)
{
    pthread_t threads[2];
    (void)unused;
    meetings = words > 1 ? 50 : 0;
    pthread_barrier_init(&both_have_one, 0, 3);
    pthread_create(&threads[0], 0, left_first, 0);
    pthread_create(&threads[1], 0, right_first, 0);
    pthread_barrier_wait(&both_have_one);
    usleep(100000);
    pthread_mutex_lock(&left);
    return 0;
}
";

/// Returns the output of `turnwise why` once all three threads wait.
fn why_stuck(stuck: &Running) -> String {
    let begun = Instant::now();
    loop {
        let answer = output(&mut stuck.turnwise(&["why", &stuck.pid()]));
        if answer.status.code() == Some(3) && text(&answer.stdout).contains("3 of 3 threads") {
            return text(&answer.stdout);
        }
        assert!(begun.elapsed() < LONG, "{answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_deadlock_is_named_with_both_stacks() {
    let directory = scratch();
    let program = compiled(directory.path(), "deadlock", DEADLOCK);
    let stuck = Running::start(&[shown(&program), "meet"]);
    let report = why_stuck(&stuck);
    assert!(report.contains("DEADLOCK: 2 threads wait for each other"), "{report}");
    for part in
        ["for left (mutex", "for right (mutex", "left_first (deadlock.c:", "right_first (deadlock.c:", "behind "]
    {
        assert!(report.contains(part), "{part:?} in:\n{report}");
    }
    let stacks = report.matches("start_thread").count() + report.matches("clone").count();
    assert!(stacks >= 2, "stacks go to where the threads began:\n{report}");
    // All wait, so no count changes any more; the list still shows it.
    let look = stuck.json(&["--interval", "0.3"]);
    let locks = look["locks"].as_array().unwrap();
    let waiting: f64 = locks.iter().map(|lock| lock["threads_waiting_mean"].as_f64().unwrap()).sum();
    assert!((2.5..3.5).contains(&waiting), "{look}");
}

#[test]
fn where_all_threads_wait_it_is_a_deadlock_whichever_has_the_locks() {
    let directory = scratch();
    let program = compiled(directory.path(), "deadlock", DEADLOCK);
    let report = why_stuck(&Running::start(&[shown(&program)]));
    assert!(report.contains("DEADLOCK: "), "{report}");
    assert!(report.contains("left_first (deadlock.c:") && report.contains("main (deadlock.c:"), "{report}");
}

/// Two threads that take two mutexes, or write locks, in opposite order. It is the first time that any thread waits for
/// a lock, and a third one sleeps elsewhere: so not all threads wait.
const FIRST_CONTENTION: &str = "
#include <poll.h>
#include <pthread.h>
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t near = PTHREAD_RWLOCK_INITIALIZER, far = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both_have_one;
static int on_rwlocks;
static void *left_first(void *unused)
{
    on_rwlocks ? pthread_rwlock_wrlock(&near) : pthread_mutex_lock(&left);
    pthread_barrier_wait(&both_have_one);
    on_rwlocks ? pthread_rwlock_wrlock(&far) : pthread_mutex_lock(&right);
    return unused;
}
static void *right_first(void *unused)
{
    on_rwlocks ? pthread_rwlock_wrlock(&far) : pthread_mutex_lock(&right);
    pthread_barrier_wait(&both_have_one);
    on_rwlocks ? pthread_rwlock_wrlock(&near) : pthread_mutex_lock(&left);
    return unused;
}
int main(int words, char **unused)
{
    pthread_t threads[2];
    (void)unused;
    on_rwlocks = words > 1;
    pthread_barrier_init(&both_have_one, 0, 2);
    pthread_create(&threads[0], 0, left_first, 0);
    pthread_create(&threads[1], 0, right_first, 0);
    return poll(0, 0, -1);
}
";

#[test]
fn a_deadlock_in_a_programs_first_contended_moment_is_named() {
    let directory = scratch();
    let program = compiled(directory.path(), "first", FIRST_CONTENTION);
    for (more, locks) in [(&[][..], ["left", "right"]), (&["rwlocks"][..], ["near", "far"])] {
        let stuck = Running::start(&[&[shown(&program)], more].concat());
        let begun = Instant::now();
        let report = loop {
            let answer = output(&mut stuck.turnwise(&["why", &stuck.pid()]));
            if answer.status.code() == Some(3) {
                break text(&answer.stdout);
            }
            assert!(begun.elapsed() < LONG, "{answer:?}");
        };
        assert!(report.contains("DEADLOCK: 2 threads wait for each other"), "{report}");
        assert!(report.contains("2 of 2 threads wait for locks"), "{report}");
        for lock in locks {
            assert!(report.contains(&format!(" for {lock} (")), "{lock}:\n{report}");
        }
    }
}

#[test]
fn a_program_that_goes_on_is_not_stuck() {
    let sample = Running::sample();
    sample.contended();
    let (report, _) = expect_of(0, &mut sample.turnwise(&["why", &sample.pid()]));
    assert!(report.contains("threads wait for locks") && !report.contains("DEADLOCK"), "{report}");
}

/// A server that forks two children, whose threads contend for a mutex in each, and end with their parent.
const PREFORK: &str = "
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&queue);
        usleep(500);
        pthread_mutex_unlock(&queue);
    }
    return unused;
}
int main(void)
{
    for (int child = 0; child < 2; child++) {
        if (fork() == 0) {
            pthread_t thread;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pthread_create(&thread, 0, work, 0);
            work(0);
        }
    }
    for (;;)
        pause();
}
";

#[test]
fn processes_of_a_server_are_shown_apart_or_as_one() {
    let directory = scratch();
    let program = compiled(directory.path(), "prefork", PREFORK);
    let server = Running::start(&[shown(&program)]);
    let look = |more: &[&str]| {
        let arguments = [&["top", "--once", "--json", "--interval", "0.3", "prefork"], more].concat();
        let answer = output(&mut server.turnwise(&arguments));
        let look: Value = serde_json::from_slice(&answer.stdout).unwrap_or_default();
        look
    };
    let begun = Instant::now();
    // Each child creates its view at its first wait.
    let apart = loop {
        let look = look(&[]);
        if look["locks_found"] == 2 {
            break look;
        }
        assert!(begun.elapsed() < LONG, "{look}");
    };
    let names: Vec<&Value> = apart["locks"].as_array().unwrap().iter().map(|lock| &lock["name"]).collect();
    assert_eq!(names, ["queue", "queue"], "{apart}");
    assert_ne!(apart["locks"][0]["pids"], apart["locks"][1]["pids"], "{apart}");
    let as_one = loop {
        let look = look(&["--as-one"]);
        if look["locks"][0]["pids"].as_array().is_some_and(|pids| pids.len() == 2) {
            break look;
        }
        assert!(begun.elapsed() < LONG, "{look}");
    };
    assert_eq!((&as_one["locks_found"], &as_one["locks"][0]["name"]), (&1.into(), &"queue".into()), "{as_one}");
}

#[test]
fn a_program_is_found_by_the_name_by_which_it_was_called() {
    let directory = scratch();
    let program = compiled(directory.path(), "prefork", PREFORK);
    // A name that no other program of this machine has, with its own view left over.
    let called = directory.path().join("called-otherwise");
    std::os::unix::fs::symlink(&program, &called).unwrap();
    let server = Running::start(&[shown(&called)]);
    let begun = Instant::now();
    let look = || output(&mut server.turnwise(&["top", "--once", "--json", "--interval", "0.3", "called-otherwise"]));
    let look = loop {
        let answer = look();
        if answer.status.success() {
            break text(&answer.stdout);
        }
        assert!(begun.elapsed() < LONG, "{answer:?}");
    };
    assert!(look.contains("\"name\":\"prefork\"") && look.contains("\"queue\""), "{look}");
}

/// A terminal that a program runs in.
struct Terminal {
    folder: TempDir,
}

impl Terminal {
    /// Starts a terminal; `None`: there is no tmux here.
    fn start(running: &Running, size: (u32, u32), colours: bool, arguments: &str) -> Option<Terminal> {
        let terminal = Terminal { folder: scratch() };
        let setting = if colours { "-u NO_COLOR" } else { "NO_COLOR=1" };
        let program = crate::PROGRAM;
        let inside =
            format!("env {setting} XDG_RUNTIME_DIR={} {program} top {arguments}", running.folder.path().display());
        let (columns, lines) = (size.0.to_string(), size.1.to_string());
        let begun = terminal.tmux(&["new-session", "-d", "-x", &columns, "-y", &lines, &inside])?;
        assert!(begun.1, "{}", begun.0);
        Some(terminal)
    }

    /// Returns tmux's output, and whether it succeeded.
    fn tmux(&self, arguments: &[&str]) -> Option<(String, bool)> {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.folder.path().join("socket")).args(["-f", "/dev/null"]).args(arguments);
        let output = command.env("TERM", "xterm-256color").stdin(Stdio::null()).output().ok()?;
        Some((text(&output.stdout) + &text(&output.stderr), output.status.success()))
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"]).unwrap().0
    }

    fn press(&self, keys: &[&str]) {
        assert!(self.tmux(&[&["send-keys"], keys].concat()).unwrap().1, "{keys:?}");
    }

    /// Waits for a screen with all of these parts.
    #[track_caller]
    fn shows(&self, parts: &[&str]) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if parts.iter().all(|part| screen.contains(part)) {
                return screen;
            }
            assert!(begun.elapsed() < LONG, "{parts:?} not on the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn in_a_terminal_keys_are_typed_and_the_screen_is_read() {
    let sample = Running::sample();
    sample.contended();
    let Some(terminal) = Terminal::start(&sample, (80, 24), false, "--interval 0.2") else {
        return eprintln!("SKIPPED: needs tmux");
    };
    let screen = terminal.shows(&["cache ", "waits/s", "by wait time", "threads wait; over"]);
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    // Threads also wait for another lock; on a busy machine that may come first for a moment.
    let begun = Instant::now();
    loop {
        terminal.press(&["g", "Enter"]);
        let opened = |screen: &str| screen.contains(" at 0x") || screen.contains("Esc goes back");
        let mut screen = terminal.screen();
        while !opened(&screen) && begun.elapsed() < LONG {
            screen = terminal.screen();
        }
        if screen.contains("cache, mutex at 0x") {
            break;
        }
        assert!(begun.elapsed() < LONG, "{screen}");
        terminal.press(&["Escape"]);
        terminal.shows(&["cache ", "waits/s"]);
    }
    terminal.shows(&[
        "cache, mutex at 0x",
        "get (cache.c:",
        "put (cache.c:",
        "who blocks whom",
        "last minute",
        "wait times",
    ]);
    terminal.press(&["t"]);
    terminal.shows(&["held by", "cache (mutex)"]);
    terminal.press(&["l", "?"]);
    terminal.shows(&["turn the order round"]);
    terminal.press(&["x", "/", "nix", "Enter"]);
    terminal.shows(&["only `nix`", "No such lock was waited for"]);
    terminal.press(&["Escape"]);
    terminal.shows(&["cache ", "by wait time · "]);
    terminal.press(&["s", "p"]);
    terminal.shows(&["PAUSED by waits/s", "cache "]);
    let coloured = terminal.tmux(&["capture-pane", "-p", "-e"]).unwrap().0;
    assert!(!coloured.contains("38;5;"), "{coloured:?}");
    terminal.press(&["q"]);
    let begun = Instant::now();
    while terminal.tmux(&["has-session"]).unwrap().1 {
        assert!(begun.elapsed() < LONG, "{}", terminal.screen());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_wide_terminal_has_more_columns_and_colours() {
    let sample = Running::sample();
    sample.contended();
    let Some(terminal) = Terminal::start(&sample, (200, 50), true, "--interval 0.2") else {
        return eprintln!("SKIPPED: needs tmux");
    };
    terminal.shows(&["cache ", "call site", "handoffs", "(cache.c:"]);
    // Not on each screen: programs of other tests may have hotter locks for a while.
    let begun = Instant::now();
    loop {
        let coloured = terminal.tmux(&["capture-pane", "-p", "-e"]).unwrap().0;
        if coloured.contains("38;5;1m") {
            break;
        }
        assert!(begun.elapsed() < LONG, "the hot lock is red: {coloured:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn it_ends_when_its_terminal_is_gone() {
    let sample = Running::sample();
    sample.contended();
    let Some(terminal) = Terminal::start(&sample, (80, 24), false, "--interval 0.2") else {
        return eprintln!("SKIPPED: needs tmux");
    };
    terminal.shows(&["cache "]);
    let (pid, _) = terminal.tmux(&["list-panes", "-F", "#{pane_pid}"]).unwrap();
    let stat = Path::new("/proc").join(pid.trim()).join("stat");
    assert!(stat.exists(), "{pid}");
    drop(terminal);
    let begun = Instant::now();
    // A zombie also counts as ended: its parent may not reap it soon.
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(begun.elapsed() < LONG, "it still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}
