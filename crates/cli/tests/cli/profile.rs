//! `turnwise profile`.

use crate::common::{executable, expect, expect_complaint, expect_of, scratch, shown, signal, turnwise};
use std::io::BufRead;
use std::sync::Arc;
use turnwise_forecast::order::{LIBC, Replay};
use turnwise_forecast::trace::{Act, Trace};
use turnwise_profile::model::Profile;
use turnwise_recording::reader::Recording;

fn json(path: &std::path::Path) -> Profile {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_sample_has_one_hot_lock() {
    let directory = scratch();
    let (file, recording) = (directory.path().join("p.json"), directory.path().join("recording"));
    let arguments = ["profile", "--json", shown(&file), "--recording", shown(&recording), "--"];
    let (stdout, _) = expect(0, &[&arguments[..], &["@sample", "-t", "4", "-s", "0.3"]].concat());
    let (own, report) = stdout.split_once("@sample -t 4 -s 0.3: ").expect("the report follows the program's output");
    assert!(own.contains("ops_per_second"), "{own}");
    assert!(report.contains("4 threads, libc locks") && report.contains("cache.c:"), "{report}");
    assert!(report.lines().all(|line| line.chars().count() <= 100), "{report}");
    let profile = json(&file);
    assert_eq!(profile.locks[0].name, "cache");
    assert!(profile.locks[0].usage.acquisitions > 1000);
    assert_eq!(profile.recording.acquisitions_unattributed, 0);
    for source in [&file, &recording] {
        let (again, _) = expect(0, &["profile", "--from", shown(source)]);
        assert_eq!(again.split_once(": ").unwrap().1, report, "from {}", source.display());
    }
}

#[test]
fn a_kept_recording_of_the_sample_can_be_replayed_in_order() {
    // Alongside other programs most of a run may be waits for a CPU, which no model foresees.
    assert!((0..20).any(|_| a_replay_is_of_its_run()), "no replay comes near its run");
}

/// Records the sample, and replays it; returns whether there was enough to replay, and the speed was similar.
fn a_replay_is_of_its_run() -> bool {
    let directory = scratch();
    let file = directory.path().join("recording");
    expect(0, &["profile", "--recording", shown(&file), "--", "@sample", "-t", "3", "-s", "0.3"]);
    let trace = Trace::of(&Recording::read(&file).unwrap()).unwrap();
    println!("{} of {} threads", trace.kept, trace.threads.len());
    if trace.kept <= 0.005 || trace.threads.len() < 3 {
        return false;
    }
    for stretch in trace.threads.iter().flat_map(|thread| &thread.stretches) {
        // The sample has one lock, and holds it once.
        let order: Vec<&Act> = stretch.acts.iter().filter(|act| !matches!(act, Act::Run(_) | Act::Sleep(_))).collect();
        assert!(order.chunks(2).all(|pair| matches!(pair, [Act::Acquire { .. }, Act::Release { .. }])), "{order:?}");
    }
    let replay = Replay::new(trace).unwrap();
    let machine = Arc::new(turnwise_sim::spec::load("graviton4").unwrap());
    let predicted = replay.on(&machine, 2, LIBC, 1).unwrap();
    // Its accuracy depends on the machine; that it is of this run does not.
    println!("{predicted:?}");
    (0.2..5.0).contains(&(predicted.per_s() / predicted.recorded_per_s()))
}

#[test]
fn it_works_on_other_locks() {
    let directory = scratch();
    let file = directory.path().join("p.json");
    expect(0, &["profile", "--lock", "adaptive", "--json", shown(&file), "--", "@sample", "-s", "2"]);
    let profile = json(&file);
    assert_eq!((profile.program.policy.as_str(), profile.locks[0].name.as_str()), ("adaptive", "cache"));
}

#[test]
fn the_exit_status_is_the_programs() {
    let (stdout, _) = expect(7, &["profile", "--", "sh", "-c", "exit 7"]);
    assert!(stdout.contains("It took no pthread lock"), "{stdout}");
    assert!(stdout.contains("exit status 7"), "{stdout}");
    let (stdout, _) = expect(137, &["profile", "--", "sh", "-c", "kill -9 $$"]);
    assert!(stdout.contains("ended by signal 9"), "{stdout}");
}

#[test]
fn a_recording_of_a_program_that_was_built_anew_has_no_names_of_it() {
    const SOURCE: &str = "#include <pthread.h>\nstatic pthread_mutex_t NAME = PTHREAD_MUTEX_INITIALIZER;\n\
        int main(void) { for (int i = 0; i < 9; i++) { pthread_mutex_lock(&NAME); pthread_mutex_unlock(&NAME); } }\n";
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("program.c"), SOURCE).unwrap();
    // Both builds' bytes in memory are the same.
    let build = |name: &str, build_id: &str| {
        let named = [format!("-DNAME={name}"), format!("-Wl,--build-id={build_id}")];
        let mut gcc = std::process::Command::new("gcc");
        gcc.args(["-g", "-pthread", "-o", shown(&at("new")), shown(&at("program.c"))]).args(&named);
        assert!(gcc.status().expect("gcc").success());
        std::fs::rename(at("new"), at("program")).unwrap();
    };
    for build_id in ["sha1", "none"] {
        let (program, recording) = (at("program"), at("recording"));
        build("ledger", build_id);
        let (report, _) = expect(0, &["profile", "--recording", shown(&recording), "--", shown(&program)]);
        assert!(report.contains("ledger"), "{report}");
        // The same bytes in another file are the same program.
        std::fs::copy(&program, at("copy")).unwrap();
        std::fs::rename(at("copy"), &program).unwrap();
        let (report, _) = expect(0, &["profile", "--from", shown(&recording)]);
        assert!(report.contains("ledger"), "{report}");
        build("vault", build_id);
        let (report, _) = expect(0, &["profile", "--from", shown(&recording)]);
        assert!(!report.contains("ledger") && !report.contains("vault"), "{build_id}: {report}");
        assert_eq!(report.matches("is not the file that ran").count(), 1, "{report}");
    }
}

#[test]
fn files_that_are_no_profiles_are_refused() {
    let directory = scratch();
    let text = directory.path().join("text");
    std::fs::write(&text, "hello").unwrap();
    expect_complaint(2, &["profile", "--from", shown(&text)], &["neither a recording", "nor a JSON profile"]);
    std::fs::write(&text, "{\"schema\": 1}").unwrap();
    expect_complaint(2, &["profile", "--from", shown(&text)], &[shown(&text)]);
    std::fs::write(&text, b"TWISErec\x01").unwrap();
    expect_complaint(2, &["profile", "--from", shown(&text)], &[shown(&text), "truncated"]);
    expect_complaint(2, &["profile", "--from", "/no/such/file"], &["/no/such/file"]);
}

#[test]
fn what_cannot_be_recorded_is_said_beforehand() {
    let directory = scratch();
    let damaged = executable(directory.path(), "damaged", b"\x7fELF\x02\x01\x01");
    expect_complaint(2, &["profile", "--", shown(&damaged)], &["damaged"]);
    expect_complaint(2, &["profile", "--json", "/no/such/dir/x", "--", "true"], &["--json"]);
}

#[test]
fn an_output_that_fails_costs_no_other() {
    let directory = scratch();
    let (folder, page) = (directory.path().join("folder"), directory.path().join("page.html"));
    std::fs::create_dir(&folder).unwrap();
    let lost = folder.join("p.json");
    let gone = format!("rmdir {}; exit 7", folder.display());
    let arguments = ["profile", "--json", shown(&lost), "--html", shown(&page), "--", "sh", "-c", &gone];
    let (report, complaint) = expect(2, &arguments);
    assert!(report.contains("exit status 7"), "{report}");
    assert!(complaint.contains("p.json: No such file or directory") && !complaint.contains(".tmp"), "{complaint}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("</html>"));
    let (_, recording) = complaint.trim().split_once("turnwise profile --from ").expect("the recording is kept");
    let (again, _) = expect(0, &["profile", "--from", recording]);
    assert_eq!(again, report);
    std::fs::remove_dir_all(std::path::Path::new(recording).parent().unwrap()).unwrap();
}

#[test]
fn files_that_would_be_lost_are_refused_beforehand() {
    let directory = scratch();
    let (file, ran) = (directory.path().join("file"), directory.path().join("ran"));
    let file = shown(&file);
    let touch = ["--", "touch", shown(&ran)];
    let refused = |arguments: &[&str], words: &[&str]| {
        expect_complaint(2, &[&["profile"], arguments, &touch].concat(), words);
        assert!(!ran.exists());
    };
    refused(&["--json", file, "--html", file], &["--json and --html name the same file", file]);
    refused(&["--folded", file, "--recording", file], &["--recording and --folded name the same file"]);
    std::fs::write(file, "notes").unwrap();
    refused(&["--recording", file], &["is not a recording", "name another"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "notes");
    refused(&["--recording", shown(directory.path())], &["it is not a regular file"]);
    refused(&["--recording", "/no/such/folder/r"], &["/no/such/folder/r", "the folder /no/such/folder does not exist"]);
    refused(&["--what-if-cpus", "4096"], &["--what-if-cpus 4096", "1024 CPUs"]);
    refused(&["--what-if-cpus", "64", "--futex"], &["cannot be used with"]);
}

#[test]
fn an_interrupt_for_turnwise_alone_reaches_the_program() {
    let waiting = "trap 'exit 5' INT; echo ready; while :; do sleep 0.05; done";
    let mut command = turnwise(&["profile", "--", "sh", "-c", waiting]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    signal(child.id().try_into().unwrap(), "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Builds a static program whose waits are known; see its source.
fn static_waits(directory: &std::path::Path) -> std::path::PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../futex-trace/tests/c/waits.c");
    let program = directory.join("waits");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-g", "-O1", "-static", "-pthread", source, "-o"]).arg(&program);
    assert!(compiler.status().unwrap().success());
    program
}

#[test]
fn futex_calls_stand_in_where_no_library_can_be_loaded() {
    let directory = scratch();
    let program = static_waits(directory.path());
    let forms = ["json", "html", "folded", "flame", "pprof", "firefox", "perfetto"];
    let files = forms.map(|form| directory.path().join(form));
    let mut command = turnwise(&["profile"]);
    for (form, file) in forms.iter().zip(&files) {
        command.arg(format!("--{form}")).arg(file);
    }
    let (report, stderr) = expect_of(3, command.arg("--").arg(&program));
    assert!(stderr.contains("statically linked") && stderr.contains("tracing its futex calls"), "{stderr}");
    if stderr.contains("the program runs without a profile") {
        return eprintln!("skipped: {stderr}");
    }
    assert!(report.lines().all(|line| line.chars().count() <= 100), "{report}");
    for part in ["FUTEXES BY WAIT TIME", "Most of it on: gate", "woken by open_slowly", "await_change (waits.c:"] {
        assert!(report.contains(part), "no {part} in\n{report}");
    }
    assert!(!report.contains("contended") && !report.contains("held"), "{report}");
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert!(!text.contains("\"acquisitions\":") && !text.contains("\"hold\""), "{text}");
    assert_eq!(json(&files[0]).locks[0].usage.wait.count, 9);
    assert!(files.iter().all(|file| std::fs::metadata(file).unwrap().len() > 0));
    let folded = std::fs::read_to_string(&files[2]).unwrap();
    assert!(folded.contains("wait_often;await_change;[gate] "), "{folded}");
    let (again, _) = expect(0, &["profile", "--from", shown(&files[0])]);
    assert_eq!(again, report);
    expect_complaint(2, &["profile", "--from", shown(&files[0]), "--what-if-cpus", "4"], &["no acquisitions"]);
}

#[test]
fn a_process_that_ends_while_it_is_traced_is_said_to_have_ended() {
    let mut traced = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut command = turnwise(&["profile", "--pid", &traced.id().to_string(), "--seconds", "60"]);
    let mut tracer = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut stderr = std::io::BufReader::new(tracer.stderr.take().unwrap());
    stderr.read_line(&mut first).unwrap();
    // Its input ends, and so does it.
    traced.stdin.take();
    let output = tracer.wait_with_output().unwrap();
    traced.wait().unwrap();
    if output.status.code() == Some(2) {
        return eprintln!("skipped: {first}");
    }
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(first.contains("tracing the futex calls"), "{first}");
    assert!(report.contains("exit status not known") && !report.contains("still running"), "{report}");
}

#[test]
fn running_processes_are_traced_for_a_time() {
    expect_complaint(2, &["profile", "--pid", "4294967295"], &["--pid 4294967295", "no process has the id"]);
    expect_complaint(2, &["profile", "--pid", "1", "--", "true"], &["cannot be used with"]);
    expect_complaint(2, &["profile", "--seconds", "1", "--from", "profile.json"], &["cannot be used with"]);
    expect_complaint(2, &["profile", "--pid", "1", "--seconds", "0"], &["above zero"]);
    let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleeper.id().to_string();
    // The kernel shows the arguments of a new program a moment after it has notified its parent that it runs.
    let mut has_arguments = (0..10_000).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
    });
    assert!(has_arguments.any(|has| has), "process {pid} has no arguments after ten seconds");
    let output = turnwise(&["profile", "--pid", &pid, "--seconds", "0.1"]).output().unwrap();
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    if output.status.code() == Some(2) {
        assert!(stderr.contains("as root") || stderr.contains("mount -t tracefs"), "{stderr}");
        return eprintln!("skipped: {stderr}");
    }
    assert!(stderr.contains(&format!("tracing the futex calls of process {pid}, sleep 60")), "{stderr}");
    assert!(stdout.contains("still running") && stdout.contains("No thread slept in a futex call"), "{stdout}");
}
