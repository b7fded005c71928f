//! `turnwise tune`, on running programs.

use crate::common::{expect_of, scratch, shown, signal, text};
use crate::top::{LONG, Running, compiled};
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Other tests keep the machine busy enough.
static ONE: Mutex<()> = Mutex::new(());

/// Threads that hold a mutex for some microseconds each, and do other work for as long: short enough to spin for.
const SECTIONS: &str = "
#include <pthread.h>
#include <unistd.h>
pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static void work(long n) { for (volatile long i = 0; i < n; i++) ; }
static void *run(void *unused) {
    for (;;) {
        pthread_mutex_lock(&cache);
        work(3000);
        pthread_mutex_unlock(&cache);
        work(3000);
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 3; i++) pthread_create(&thread, 0, run, 0);
    sleep(600);
    return 0;
}";

struct Server {
    running: Running,
    folder: TempDir,
}

/// Keeps the other tests of this file waiting.
fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    fn start(policy: &str) -> Server {
        let folder = scratch();
        let program = compiled(folder.path(), "sections", SECTIONS);
        let running = Running::under(policy, &[shown(&program)]);
        running.contended();
        Server { running, folder }
    }

    /// Runs `turnwise tune PID` with these arguments, and expects this exit status.
    #[track_caller]
    fn tune(&self, status: i32, arguments: &[&str]) -> (String, String) {
        let pid = self.running.pid();
        expect_of(status, &mut self.running.turnwise(&[&["tune", &pid], arguments].concat()))
    }

    #[track_caller]
    fn complaint(&self, arguments: &[&str], parts: &[&str]) {
        let (_, reported) = self.tune(2, arguments);
        assert!(parts.iter().all(|part| reported.contains(part)), "{parts:?} in {reported}");
    }

    /// Returns the hand-offs for each wait, over nearly half a second in which the machine let the threads run.
    fn handoffs(&self) -> f64 {
        let begun = Instant::now();
        loop {
            let look = self.running.json(&["--interval", "0.4"]);
            let figure = |name: &str| look["locks"][0][name].as_f64();
            if let (Some(handoffs), Some(waits @ 20.0..)) = (figure("handoffs"), figure("waits")) {
                return handoffs / waits;
            }
            assert!(begun.elapsed() < LONG, "no waits: {look}");
        }
    }

    fn settings(&self) -> String {
        self.tune(0, &[]).0
    }
}

#[test]
fn what_is_set_is_shown_until_it_is_taken_back() {
    let _alone = alone();
    let server = Server::start("adaptive");
    let (reported, _) = server.tune(0, &["--lock", "cache=spin=off"]);
    assert!(reported.starts_with("cache: spin=off (the lock at 0x"), "{reported}");
    let look = server.running.json(&[]);
    assert_eq!(look["locks"][0]["settings"], "spin=off", "{look}");
    assert_eq!(look["processes"][0]["settings"][0]["name"], "cache", "{look}");
    let (table, _) = expect_of(0, &mut server.running.turnwise(&["top", "--once", "--interval", "2"]));
    assert!(table.contains("* cache") && table.contains("cache: spin=off"), "{table}");
    let (advice, _) = expect_of(0, &mut server.running.turnwise(&["top", "--advise", "--interval", "2"]));
    assert!(advice.contains("Not judged here") && advice.contains("short-holds"), "{advice}");
    let (reported, _) = server.tune(0, &["--undo"]);
    assert!(reported.starts_with("Nothing is set"), "{reported}");
    let look = server.running.json(&[]);
    assert!(look["locks"][0]["settings"].is_null(), "{look}");
}

#[test]
fn what_is_taken_back_has_no_effect_any_more() {
    let _alone = alone();
    let server = Server::start("adaptive");
    server.tune(0, &["--lock", "run=spin=off,fair-after=1s"]);
    let won = (0..8).filter(|_| {
        server.tune(0, &["--lock", "*=fair-after=1s", "--lock", "cache=fair-after=0"]);
        let during = server.handoffs();
        server.tune(0, &["--undo=cache"]);
        during > server.handoffs()
    });
    let won = won.count();
    assert!(won >= 7, "more hand-offs in {won} of 8 rounds");
}

#[test]
fn who_is_overtaken_gets_the_next_turn_as_soon_as_is_set() {
    let _alone = alone();
    let server = Server::start("adaptive");
    let won = (0..8).filter(|_| {
        let measured = |setting| {
            server.tune(0, &["--lock", setting]);
            server.handoffs()
        };
        measured("run=spin=off,fair-after=0") > measured("run=spin=off,fair-after=1s")
    });
    let won = won.count();
    assert!(won >= 7, "more hand-offs in {won} of 8 rounds");
    let (reported, _) = server.tune(0, &["--lock", "run=fair-after=0"]);
    assert!(reported.starts_with("run: spin=off,fair-after=0 (waits at the call before 0x"), "{reported}");
}

#[test]
fn settings_come_from_a_policy_file_too() {
    let _alone = alone();
    let server = Server::start("adaptive");
    let file = server.folder.path().join("policy.toml");
    let text = "[[rule]]\nsymbol = \"cac*\"\nspin = \"off\"\n\n[[rule]]\nfunction = \"make\"\nfair-after = \"0\"\n\n\
                [[rule]]\nprogram = \"other\"\nspin = \"1us\"\n\n[[rule]]\nsymbol = \"log\"\nspin = \"1us\"\n";
    std::fs::write(&file, text).unwrap();
    let (reported, warned) = server.tune(0, &["--from", shown(&file)]);
    assert!(
        reported.starts_with("symbol cac*: spin=off (the lock at 0x") && reported.lines().count() == 1,
        "{reported}"
    );
    for part in [":5 (function make): not applied: ", ":9 (program other): not applied: ", ":13 (symbol log): not app"]
    {
        assert!(warned.contains(part), "{part} in {warned}");
    }
    std::fs::write(&file, "[[rule]]\nsymbol = \"cache\"\nlock = \"queued\"\n").unwrap();
    server.complaint(&["--from", shown(&file)], &["no rule has settings"]);
    std::fs::write(&file, "[[rule]]\nfunction = \"make\"\nspin = \"off\"\n").unwrap();
    let nothing = ["not applied", "none of its settings applies to process", "nothing is changed"];
    server.complaint(&["--from", shown(&file)], &nothing);
    let (kept, _) = server.tune(0, &[]);
    assert_eq!(kept, reported, "what was set before is still in force");
}

#[test]
fn a_policy_files_settings_are_in_force_from_the_start() {
    let _alone = alone();
    let folder = scratch();
    let file = folder.path().join("server.toml");
    // By the call that takes the lock first, which `--from` cannot tell.
    let text = "[[rule]]\nfunction = \"other\"\nmodule = \"sections\"\nlock = \"queued\"\n\n\
                [[rule]]\nfunction = \"run\"\nspin = \"off\"\nfair-after = \"0\"\n";
    std::fs::write(&file, text).unwrap();
    let program = compiled(folder.path(), "sections", SECTIONS);
    let running = Running::with(&["--policy", shown(&file)], &[shown(&program)]);
    running.contended();
    let server = Server { running, folder };
    let by_file = "server.toml:6 (function run): spin=off,fair-after=0 (by the policy file, from the start)\n";
    assert_eq!(server.settings(), by_file);
    let look = server.running.json(&[]);
    assert_eq!(look["processes"][0]["settings"][0]["settings"], "spin=off,fair-after=0", "{look}");
    assert_eq!(look["locks"][0]["settings"], "spin=off,fair-after=0", "the lock shows them, too: {look}");
    let won = (0..8).filter(|_| {
        let during = server.handoffs();
        server.tune(0, &["--lock", "cache=fair-after=1s"]);
        let overridden = server.handoffs();
        let (reported, _) = server.tune(0, &["--undo"]);
        assert_eq!(reported, by_file);
        during > overridden
    });
    let won = won.count();
    assert!(won >= 7, "more hand-offs by the file in {won} of 8 rounds");
}

#[test]
fn what_cannot_be_set_is_reported() {
    let _alone = alone();
    let server = Server::start("adaptive");
    server.complaint(&["--lock", "cahce=spin=off"], &["no lock called `cahce`", "did you mean `cache`?", "* is all"]);
    server.complaint(&["--lock", "0x10=spin=off"], &["no thread of process", "0x10"]);
    server.complaint(&["--lock", "cache #2=spin=off"], &["of one sample", "`cache`"]);
    server.complaint(&["--lock", "cache=spin=1h"], &["with its unit"]);
    server.complaint(&["--undo=cache"], &["nothing is set for `cache`"]);
    let own = std::process::id().to_string();
    let (_, reported) = expect_of(2, &mut server.running.turnwise(&["tune", &own]));
    assert!(reported.contains("has no live view") && reported.contains("turnwise run"), "{reported}");
    assert!(server.settings().starts_with("Nothing is set"));
    let other = Server::start("queued");
    other.complaint(&["--lock", "cache=spin=off"], &["go by `queued`", "--lock adaptive"]);
    other.complaint(&["--lock", "*=spin=off"], &["go by `queued`"]);
}

/// One command's figures depend on whether the setting is in force, another's do not: the verdict must see that.
#[test]
fn a_trial_proves_what_matters_and_refutes_what_does_not() {
    let _alone = alone();
    let server = Server::start("adaptive");
    server.tune(0, &["--lock", "cache=yield-after=50us"]);
    let (pid, program) = (server.running.pid(), crate::PROGRAM);
    let turn = server.folder.path().join("turn");
    std::fs::write(&turn, "0").unwrap();
    let noise = format!("n=$(cat {0}); echo $((n+1)) > {0}; v=$((1000 + n * 7919 % 13))", shown(&turn));
    let twice =
        format!("{noise}; {program} tune {pid} | grep -q spin=off && v=$((2 * v)); echo requests: $v per second");
    let trial = ["--trial", "cache=spin=off", "--rounds", "6", "--for", "0.01", "--metric-cmd", &twice];
    let (reported, _) = server.tune(0, &trial);
    assert!(
        reported.contains("in 6 rounds") && reported.contains("95% CI") && reported.contains(": better"),
        "{reported}"
    );
    let (reported, _) = server.tune(0, &[&trial[..], &["--lower-is-better"]].concat());
    assert!(reported.contains(": worse"), "{reported}");
    a_trial_as_json(&server, &trial);
    let null = format!("{noise}; echo $v");
    let trial = ["--trial", "cache=fair-after=4ms", "--rounds", "8", "--for", "0.01", "--metric-cmd", &null];
    let (reported, _) = server.tune(0, &trial);
    assert!(reported.contains("No difference beyond 5%"), "{reported}");
    let by_view = ["--trial", "*=spin=off", "--rounds", "2", "--for", "1"];
    let (reported, _) = server.tune(0, &by_view);
    assert!(reported.contains("waiting threads, in 2 rounds"), "{reported}");
    assert!(reported.contains("6 are needed (--rounds)"), "{reported}");
    assert!(server.settings().starts_with("cache: yield-after=50us (") && server.settings().lines().count() == 1);
}

fn a_trial_as_json(server: &Server, trial: &[&str]) {
    let (reported, _) = server.tune(0, &[trial, &["--json", "-"]].concat());
    let report: serde_json::Value =
        serde_json::from_str(&reported).unwrap_or_else(|error| panic!("{error}: {reported}"));
    assert_eq!(report["process"]["pid"].as_u64(), server.running.pid().parse().ok());
    assert_eq!(report["trial"]["settings"], "spin=off");
    assert_eq!(report["settings"]["policies"], serde_json::json!(["the old setting", "cache=spin=off"]));
    assert_eq!(report["rounds"].as_array().map(Vec::len), Some(6));
    let ratio = &report["summaries"][1]["to_baseline"];
    assert!(ratio["low"].as_f64().is_some_and(|low| low > 1.5) && ratio["high"].as_f64() < Some(2.5), "{ratio}");
    assert_eq!((&report["verdicts"][0]["finding"], &report["interrupted"]), (&"better".into(), &false.into()));
    let file = server.folder.path().join("trial.json");
    let (reported, _) = server.tune(0, &[trial, &["--json", shown(&file)]].concat());
    assert!(reported.contains(": better"), "{reported}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(
        report["verdicts"][0]["sentence"].as_str().is_some_and(|sentence| reported.contains(sentence)),
        "{reported}"
    );
    server.complaint(&["--json", "-"], &["--trial"]);
    let nowhere = server.folder.path().join("none/trial.json");
    let reported = format!("cannot write --json={}", nowhere.display());
    server.complaint(&[trial, &["--json", shown(&nowhere)]].concat(), &[&reported]);
}

#[test]
fn a_trial_that_ends_early_leaves_settings_as_they_were() {
    let _alone = alone();
    let mut server = Server::start("adaptive");
    server.tune(0, &["--lock", "cache=yield-after=50us"]);
    server
        .complaint(&["--trial", "cache=spin=off", "--metric-cmd", "echo none"], &["round 1", "no number", "\"none\""]);
    server.complaint(&["--trial", "cache=spin=off", "--metric-cmd", "exit 7"], &["round 1", "exit status: 7"]);
    let pid = server.running.pid();
    for command in [&["--metric-cmd", "sleep 600; echo 1"][..], &["--for", "600"]] {
        let mut trial = server.running.turnwise(&[&["tune", &pid, "--trial", "cache=spin=off"], command].concat());
        let trial = trial.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !server.settings().contains("trial of cache") {
            assert!(begun.elapsed() < LONG, "the trial does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        signal(trial.id().cast_signed(), "INT");
        let output = trial.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("the settings are as they were"), "{}", text(&output.stderr));
        assert!(begun.elapsed() < 2 * LONG && !server.settings().contains("trial"));
    }
    assert!(server.settings().starts_with("cache: yield-after=50us ("), "{}", server.settings());
    // Its parent is this test: until it is waited for, it is a zombie.
    let ended = format!("grep -q ') Z ' /proc/{pid}/stat && [ $(ls /proc/{pid}/task | wc -l) = 1 ]");
    let killer = format!("kill -9 {pid}; until {ended}; do sleep 0.02; done; echo 1");
    server.complaint(&["--trial", "cache=spin=off", "--metric-cmd", &killer], &["round 1", "has ended"]);
    server.running.child.wait().unwrap();
    server.complaint(&["--lock", "cache=spin=off"], &[&pid]);
}
