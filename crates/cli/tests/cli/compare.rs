//! `turnwise compare` measures what it claims, and reports what went wrong.

use crate::common::{executable, expect, expect_complaint, output, scratch, shown, signal, text, turnwise};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program whose printed speed and time depend on its policy, and on no other factor.
const MODEL: &str = "case $TURNWISE_LOCK in adaptive) echo 'ops: 250, time: 4';; queued) echo 'ops: 50, time: 20';; \
                     *) echo 'ops: 100, time: 10';; esac";
const OPS: &str = "ops: (?<ops>[0-9]+)";

/// Returns the arguments of `compare` with few runs, unless specified otherwise, of a shell script.
fn of_script<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let runs: &[&str] = if options.contains(&"--runs") { &[] } else { &["--runs", "2"] };
    [&["compare", "--warmup", "0"], runs, options, &["--", "sh", "-c", script]].concat()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&expect(0, arguments).0).expect("standard output is one JSON document")
}

#[test]
fn verdicts_follow_the_metric() {
    let locks = ["--lock", "libc,adaptive,queued", "--runs", "6", "--warmup", "0"];
    let of = |metric: &[&str]| expect(0, &[&["compare"], &locks[..], metric, &["--", "sh", "-c", MODEL]].concat()).0;
    let throughput = of(&["--metric", OPS]);
    assert!(throughput.contains("Adaptive is 2.50x libc's ops (95% CI 2.50 to 2.50): better"), "{throughput}");
    assert!(throughput.contains("Queued is 0.50x libc's ops (95% CI 0.50 to 0.50): worse"), "{throughput}");
    let time = of(&["--metric", "(?:time): (?<time>[0-9]+)"]);
    assert!(time.contains("Adaptive takes 0.40x libc's time (95% CI 0.40 to 0.40): better"), "{time}");
    let forced = of(&["--metric", "time: (?<time>[0-9]+)", "--higher-is-better"]);
    assert!(forced.contains("Adaptive is 0.40x libc's time (95% CI 0.40 to 0.40): worse"), "{forced}");
}

#[test]
fn the_first_policy_is_the_baseline_and_one_alone_meets_libc() {
    let first = expect(0, &of_script(&["--metric", OPS, "--runs", "6", "--lock", "queued,libc"], MODEL)).0;
    assert!(first.contains("Libc is 2.00x queued's ops"), "{first}");
    let alone = expect(0, &of_script(&["--metric", OPS, "--runs", "6", "--lock", "queued"], MODEL)).0;
    assert!(alone.contains("Queued is 0.50x libc's ops"), "{alone}");
}

#[test]
fn few_runs_and_equal_policies_decide_nothing() {
    let few = expect(0, &of_script(&["--metric", OPS], MODEL)).0;
    assert!(few.contains("2 runs cannot tell whether that is chance"), "{few}");
    let same = expect(0, &of_script(&["--metric", "(?<n>[0-9]+)", "--runs", "6"], "echo 5")).0;
    assert!(same.contains("Adaptive and libc have the same n in each of 6 runs"), "{same}");
}

#[test]
fn wall_time_decides_without_a_metric() {
    let script = "if [ \"$TURNWISE_LOCK\" ]; then sleep 0.01; else sleep 0.4; fi";
    let is_better = || {
        let report = json(&of_script(&["--runs", "6", "--json", "-"], script));
        assert_eq!(report["verdicts"][0]["metric"], "wall_s");
        report["verdicts"][0]["finding"] == "better"
    };
    // If the machine stalls, the short ones are long.
    assert!((0..10).any(|_| is_better()), "a hundredth of a second is never better than four tenths");
}

#[test]
fn several_matches_are_combined_as_requested() {
    let value = |how: &[&str]| {
        let options = [&["--metric", "t: (?<t>[0-9]+)", "--json", "-"], how].concat();
        let report = json(&of_script(&options, "echo t: 1; echo t: 3 >&2"));
        assert_eq!(report["runs"][0]["matches"]["t"], 2);
        report["summaries"][0]["median"].as_f64().unwrap()
    };
    assert_eq!(value(&[]), 4.0);
    assert_eq!(value(&["--metric-combine", "last"]), 3.0);
    assert_eq!(value(&["--metric-combine", "mean"]), 2.0);
    let text = expect(0, &of_script(&["--metric", "t: (?<t>[0-9]+)"], "echo t: 1; echo t: 3")).0;
    assert!(text.contains("Note: t is the sum of 2 matches in each run"), "{text}");
}

#[test]
fn the_sample_is_compared_and_json_has_everything() {
    let report = json(&["compare", "--runs", "2", "--json", "-", "--seed", "7", "--", "@sample", "-s", "0.1"]);
    for field in [
        "schema",
        "turnwise_version",
        "started_unix_s",
        "command",
        "machine",
        "settings",
        "metrics",
        "runs",
        "summaries",
        "verdicts",
        "notes",
        "interrupted",
    ] {
        assert!(!report[field].is_null(), "no {field}");
    }
    for field in ["cpus", "arch", "memory_bytes", "kernel", "libc", "on_cpu_layer", "load_average"] {
        assert!(!report["machine"][field].is_null(), "no machine.{field}");
    }
    assert_eq!(report["settings"]["seed"], 7);
    assert_eq!(report["metrics"][0]["name"], "throughput");
    assert_eq!(report["metrics"][0]["decides"], true);
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 6, "2 policies, 1 warm-up and 2 runs each");
    for run in runs {
        assert!(run["printed"]["throughput"].as_f64().unwrap() > 0.0);
        assert!(run["wall_s"].as_f64().unwrap() >= 0.1 && run["user_s"].as_f64().unwrap() > 0.0);
        assert!(run["max_rss_bytes"].as_u64().unwrap() > 0 && run["voluntary_switches"].is_u64());
        let asked = run["policy"] == "adaptive";
        assert!(run["library_loaded"] == true || !asked, "the sample was not interposed: {run}");
        assert!(run["library_loaded"].is_null() || asked, "the baseline was interposed: {run}");
    }
    let summary = &report["summaries"][1];
    for field in ["metric", "policy", "n", "median", "q1", "q3", "min", "max"] {
        assert!(!summary[field].is_null(), "no {field} in a summary");
    }
    for field in ["ratio", "low", "high"] {
        assert!(summary["to_baseline"][field].as_f64().unwrap() > 0.0, "no {field} in a ratio");
    }
}

#[test]
fn rounds_are_complete_and_their_order_is_the_seeds() {
    let order = |seed: &str| -> Vec<(u64, String)> {
        let report =
            json(&of_script(&["--runs", "4", "--lock", "libc,adaptive", "--json", "-", "--seed", seed], "true"));
        let runs = report["runs"].as_array().unwrap().clone();
        runs.iter().map(|run| (run["round"].as_u64().unwrap(), run["policy"].to_string())).collect()
    };
    let first = order("1");
    assert_eq!(first, order("1"));
    assert!((2..20).any(|seed| order(&seed.to_string()) != first), "the seed has no effect");
    for round in first.chunks(2) {
        assert!(round[0].0 == round[1].0 && round[0].1 != round[1].1, "{first:?}");
    }
}

#[test]
fn the_table_fits_a_terminal() {
    let (text, _) = expect(0, &["compare", "--runs", "2", "--warmup", "0", "--", "@sample", "-s", "0.05"]);
    let table: Vec<&str> = text.lines().skip_while(|line| !line.contains("median")).collect();
    let table: Vec<&str> = table.into_iter().take_while(|line| !line.is_empty()).collect();
    assert_eq!(table.len(), 2 + 7 * 3, "{text}");
    assert!(table.iter().all(|line| line.chars().count() <= 80 && *line == line.trim_end()), "{text}");
    assert!(table[2..].chunks(3).all(|metric| metric[1].starts_with("  libc ")), "{text}");
    assert!(table[2..].chunks(3).all(|metric| metric[2].starts_with("  adaptive ")), "{text}");
    assert!(table.contains(&"throughput ↑") && table.contains(&"involuntary_switches ↓"), "{text}");
}

#[test]
fn json_goes_to_a_file_beside_the_text() {
    let directory = scratch();
    let file = directory.path().join("result.json");
    std::fs::write(&file, "old").unwrap();
    let option = shown(&file);
    let (stdout, _) = expect(0, &of_script(&["--json", option, "--metric", OPS], MODEL));
    assert!(stdout.contains("libc's ops"), "{stdout}");
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(report["schema"], 2);
    // A comparison that fails leaves the old result unchanged, and no temporary files.
    expect(2, &of_script(&["--json", option, "--metric", "nothing: (.)"], MODEL));
    assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap(), report);
    assert_eq!(directory.path().read_dir().unwrap().count(), 1);
}

#[test]
fn output_is_shown_when_asked_for() {
    let (stdout, stderr) = expect(0, &of_script(&["--show-output", "--json", "-"], "echo from $TURNWISE_LOCK"));
    assert!(stderr.contains("--- adaptive\nfrom adaptive"), "{stderr}");
    assert!(serde_json::from_str::<Value>(&stdout).is_ok(), "{stdout}");
}

#[test]
fn missing_metrics_are_explained() {
    let never = of_script(&["--metric", "qps: ([0-9]+)"], "echo first line; echo second line");
    expect_complaint(2, &never, &["\"qps: ([0-9]+)\" matches nothing", "its first lines:", "  first line"]);
    let silent = of_script(&["--metric", "qps: ([0-9]+)"], "true");
    expect_complaint(2, &silent, &["matches nothing", "it printed nothing"]);
    let word = of_script(&["--metric", "ops: (\\S+)"], "echo ops: many");
    expect_complaint(2, &word, &["captured \"many\", which is not a number", "([0-9.]+)"]);
}

#[test]
fn failing_programs_are_shown() {
    let always = of_script(&[], "echo reason; exit 3");
    let (_, stderr) = expect_either(&[1, 2], &always);
    assert!(stderr.contains("exited with status 3") && stderr.contains("its last lines:\n  reason"), "{stderr}");
    let under_libc = of_script(&[], "[ \"$TURNWISE_LOCK\" ] || exit 4");
    expect_complaint(2, &under_libc, &["under libc, run 1: the program exited with status 4", "by itself: sh -c '[ "]);
    let under_ours = of_script(&[], "[ -z \"$TURNWISE_LOCK\" ] || kill -ABRT $$");
    expect_complaint(
        1,
        &under_ours,
        &["under adaptive, run 1: the program was killed by signal 6 (SIGABRT)", "report"],
    );
    let report = json(&of_script(&["--any-status", "--json", "-"], "exit 9"));
    assert_eq!(report["runs"][0]["exit_status"], 9);
}

fn expect_either(statuses: &[i32], arguments: &[&str]) -> (String, String) {
    let output = output(&mut turnwise(arguments));
    let code = output.status.code().unwrap();
    assert!(statuses.contains(&code), "{code}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn hanging_programs_are_killed_with_their_children() {
    let directory = scratch();
    let pids = directory.path().join("pids");
    let script = format!("echo alive; [ -z \"$TURNWISE_LOCK\" ] || {{ sleep 100 & echo $! >{}; wait; }}", shown(&pids));
    expect_complaint(1, &of_script(&["--timeout", "8"], &script), &["still running after 8 s (--timeout)", "alive"]);
    assert!(is_gone(&std::fs::read_to_string(&pids).unwrap()), "a child of the program survived");
}

#[test]
fn programs_that_leave_children_behind_are_cleaned_up() {
    let directory = scratch();
    let pids = directory.path().join("pids");
    let script = format!("sleep 600 & echo $! >>{}", shown(&pids));
    let start = Instant::now();
    expect(0, &of_script(&[], &script));
    assert!(start.elapsed() < Duration::from_secs(500), "turnwise waited for a left-over child");
    let left = std::fs::read_to_string(&pids).unwrap();
    assert_eq!(left.lines().count(), 4);
    assert!(left.lines().all(is_gone), "a child of the program survived");
}

/// Returns whether a process ends within moments (or is a zombie that has not been reaped).
fn is_gone(pid: &str) -> bool {
    let stat = format!("/proc/{}/stat", pid.trim());
    let ended = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    (0..3000).any(|_| {
        ended() || {
            std::thread::sleep(Duration::from_millis(20));
            false
        }
    })
}

#[test]
fn interrupted_comparisons_report_what_they_have() {
    let directory = scratch();
    let count = directory.path().join("count");
    let script = format!("echo x >>{0}; [ $(wc -l <{0}) -lt 7 ] || sleep 100", shown(&count));
    let arguments = ["compare", "--warmup", "0", "--json", "-", "--", "sh", "-c", &script];
    let child = turnwise(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_lines(&count, 7);
    signal(i32::try_from(child.id()).unwrap(), "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["runs"].as_array().unwrap().len(), 6);
    assert!(
        report["notes"].to_string().contains("only the 3 complete rounds of at most 40 count"),
        "{}",
        report["notes"]
    );
}

#[test]
fn interrupted_at_once_there_is_nothing_to_report() {
    let directory = scratch();
    let count = directory.path().join("count");
    let script = format!("echo x >>{}; sleep 100", shown(&count));
    let child = turnwise(&["compare", "--", "sh", "-c", &script]).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_lines(&count, 1);
    signal(i32::try_from(child.id()).unwrap(), "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("nothing to report"));
}

fn wait_for_lines(file: &std::path::Path, lines: usize) {
    let start = Instant::now();
    while std::fs::read_to_string(file).map_or(0, |text| text.lines().count()) < lines {
        assert!(start.elapsed() < Duration::from_secs(60), "the program was not run {lines} times");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_loaders_complaint_is_an_error() {
    let complaint = "ERROR: ld.so: object 'libturnwise_preload-1.so' from LD_PRELOAD cannot be preloaded (x): ignored.";
    let script = format!("[ -z \"$TURNWISE_LOCK\" ] || echo \"{complaint}\" >&2");
    expect_complaint(2, &of_script(&[], &script), &["did not take the preload library", "cannot be preloaded"]);
}

#[test]
fn programs_that_shake_off_the_library_are_caught() {
    // A program with its own loader, which does not support LD_PRELOAD: the check of headers cannot see it.
    let directory = tempfile::Builder::new().prefix("tw").rand_bytes(4).tempdir_in("/tmp").unwrap();
    let (source, loader) = (directory.path().join("x.c"), directory.path().join("ld"));
    let code = "#ifdef __x86_64__\nvoid _start(void) { __asm__(\"mov $60, %eax; xor %edi, %edi; syscall\"); }\n#else\n\
                void _start(void) { __asm__(\"mov x8, #93; mov x0, #0; svc #0\"); }\n#endif\n";
    std::fs::write(&source, code).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-nostdlib", "-static", "-o"]).arg(&loader).arg(&source);
    assert!(compiler.status().unwrap().success());
    let mut program = std::fs::read("/bin/true").unwrap();
    let place = program.windows(4).position(|part| part == b"/lib").unwrap();
    let name = [shown(&loader).as_bytes(), b"\0"].concat();
    program[place..place + name.len()].copy_from_slice(&name);
    let program = executable(directory.path(), "program", &program);
    // Other tests load the same library: a run alongside them proves nothing, but one of many runs alone.
    let complaint = ": the program never loaded the preload library";
    expect_complaint(
        2,
        &["compare", "--warmup", "0", "--runs", "200", shown(&program)],
        &["under adaptive, run ", complaint],
    );
}

/// Returns the notes of a comparison.
fn notes(arguments: &[&str]) -> String {
    json(&[&["compare", "--warmup", "0", "--runs", "2", "--json", "-"], arguments].concat())["notes"].to_string()
}

#[test]
fn a_program_that_uses_no_lock_is_distinguished_from_one_that_waits_for_none() {
    const UNUSED: &str = "used no pthread lock under adaptive, queued, so";
    const FREE: &str = "no thread had to wait for one of our locks under adaptive, queued:";
    let locks = ["--lock", "libc,adaptive,queued"];
    let of = |command: &[&str]| notes(&[&locks, command].concat());
    let none = of(&["--", "true"]);
    assert!(none.contains(UNUSED) && !none.contains(FREE), "{none}");
    let sample = ["--", "@sample", "-s", "0.05", "-t"];
    let alone = of(&[&sample[..], &["1"]].concat());
    assert!(alone.contains(FREE) && !alone.contains(UNUSED), "{alone}");
    // The shell that the library was loaded into is not the program.
    let bare = of(&["--", "env", "-i", env!("CARGO_BIN_EXE_turnwise"), "list"]);
    assert!(bare.contains(UNUSED), "{bare}");
}

#[test]
fn contention_in_one_of_the_runs_is_enough() {
    let directory = scratch();
    let (source, program) = (directory.path().join("x.c"), directory.path().join("x"));
    let code = "#include <pthread.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
                int main(int n, char **a) { pthread_mutex_lock(&m);\n\
                if (n > 1) pthread_mutex_trylock(&m);\nreturn !a; }\n";
    std::fs::write(&source, code).unwrap();
    assert!(Command::new("cc").args(["-pthread", "-o"]).arg(&program).arg(&source).status().unwrap().success());
    let script =
        format!("if mkdir {}/once 2>&-; then {1} contend; else {1}; fi", directory.path().display(), shown(&program));
    let report = json(&of_script(&["--json", "-", "--lock", "adaptive,queued"], &script));
    let contended = |run: &&Value| run["locks_contended"] == true;
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.iter().filter(contended).count(), 1, "{runs:?}");
    assert!(runs.iter().all(|run| run["locks_used"] == true), "{runs:?}");
    let by = runs.iter().find(contended).unwrap()["policy"].as_str().unwrap();
    let other = if by == "queued" { "adaptive" } else { "queued" };
    let notes = report["notes"].to_string();
    assert!(notes.contains(&format!("one of our locks under {other}:")), "{notes}");
}

#[test]
fn exit_statuses_that_differ_are_reported() {
    let differs = "[ -z \"$TURNWISE_LOCK\" ] || exit 134";
    let text = expect(0, &of_script(&["--any-status"], differs)).0;
    assert!(text.contains("Note: exit statuses differ"), "{text}");
    assert!(text.contains("(libc: 0 in 2 runs; adaptive: 134 in 2 runs)"), "{text}");
    let same = notes(&["--any-status", "--", "sh", "-c", "exit 3"]);
    assert!(!same.contains("exit statuses"), "{same}");
}

#[test]
fn arms_run_behind_their_commands() {
    let script = "echo ops: ${OPS:-100}${TURNWISE_LOCK:+0}";
    let arms = ["--arm", "twice: env OPS=200", "--arm", "ours: --lock queued env 'OPS=20'", "--arm", "again:"];
    let options = [&["--runs", "6", "--metric", OPS, "--json", "-"], &arms[..]].concat();
    let report = json(&of_script(&options, script));
    assert_eq!(report["settings"]["policies"], serde_json::json!(["libc", "adaptive", "twice", "ours", "again"]));
    let of = |name: &str| {
        let rows = report["summaries"].as_array().unwrap();
        rows.iter().find(|row| row["policy"] == name).unwrap()["median"].as_f64().unwrap()
    };
    assert_eq!(["libc", "adaptive", "twice", "ours", "again"].map(of), [100.0, 1000.0, 200.0, 200.0, 100.0]);
    let ours = &report["settings"]["arms"][3];
    assert_eq!(*ours, serde_json::json!({"name": "ours", "lock": "queued", "prefix": ["env", "OPS=20"]}));
    let text = expect(0, &of_script(&[&["--runs", "6", "--metric", OPS], &arms[..]].concat(), script)).0;
    assert!(text.contains("Twice is 2.00x libc's ops"), "{text}");
}

#[test]
fn an_arm_is_held_to_one_cpu() {
    let script = "echo cpus: $(nproc)";
    let cpu = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = cpu.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let first = allowed.split([',', '-']).next().unwrap();
    let (libc, ours) = (format!("one: taskset -c {first}"), format!("ours on one: --lock adaptive taskset -c {first}"));
    let options = ["--metric", "cpus: (?<cpus>[0-9]+)", "--arm", &libc, "--arm", &ours, "--json", "-"];
    let report = json(&of_script(&options, script));
    for run in report["runs"].as_array().unwrap() {
        let is_held = run["policy"].as_str().unwrap().contains("one");
        assert!(!is_held || run["printed"]["cpus"] == 1.0, "{run}");
        assert!(run["policy"] != "ours on one" || run["library_loaded"] != false, "{run}");
    }
}

#[test]
fn what_is_wrong_with_an_arm_is_reported_before_anything_runs() {
    let directory = scratch();
    let trace = directory.path().join("trace");
    let script = format!("echo x >>{}", shown(&trace));
    for (arms, reported) in [
        (&["taskset -c 0"][..], "'taskset -c 0' for '--arm <NAME: [--lock POLICY] [COMMAND ...]>': there is no colon"),
        (&[": true"], "the name is empty"),
        (&["a: 'b"], "a quote is not closed"),
        (&["a: --lock adaptiv"], "did you mean `adaptive`?"),
        (&["a: true", "a: true"], "--arm 'a': this name is taken"),
        (&["libc: true"], "--arm 'libc': this name is taken"),
        (&["a: env", "far: no-such-command"], "--arm 'far': no-such-command cannot be put in front of the program"),
        (&["a: ''"], "--arm 'a': the command's name is empty"),
    ] {
        let options: Vec<&str> = arms.iter().flat_map(|arm| ["--arm", arm]).collect();
        expect_complaint(2, &of_script(&options, &script), &[reported]);
    }
    expect_complaint(2, &["compare", "--advise", "--arm", "a: env", "true"], &["--advise compares only libc with"]);
    assert!(!trace.exists(), "the program was run");
    expect_complaint(
        2,
        &of_script(&["--arm", "a: env X=1"], "[ -z \"$X\" ] || exit 5"),
        &["under a, run 1: the program exited with status 5", "by itself: env 'X=1' sh -c"],
    );
}

#[test]
fn it_goes_on_until_it_can_tell() {
    let started = |report: &Value| report["runs"].as_array().unwrap().len();
    let clear = of_whole(&["--metric", OPS], MODEL);
    assert_eq!(clear["settings"]["looks"], serde_json::json!([8, 12, 18, 27, 40]));
    assert_eq!((started(&clear), &clear["verdicts"][0]["finding"]), (16, &Value::from("better")), "{clear}");
    let sentence = clear["verdicts"][0]["sentence"].as_str().unwrap();
    assert!(sentence.ends_with(": better, after 8 runs; the interval allows for 5 looks"), "{sentence}");
    let same = of_whole(&["--metric", OPS], "echo ops: 5");
    assert_eq!((started(&same), &same["verdicts"][0]["finding"]), (16, &Value::from("same")), "{same}");
    let two = of_whole(&["--metric", OPS, "--lock", "libc,adaptive,queued", "--max-runs", "8"], MODEL);
    assert_eq!((started(&two), &two["settings"]["confidence"]), (24, &Value::from(0.95)), "{two}");
}

#[test]
fn a_difference_within_the_margin_is_none() {
    // Alternately 100 and 101, whatever the locks.
    let directory = scratch();
    let count = directory.path().join("count");
    let script = format!("echo x >>{0}; echo ops: $((100 + $(wc -l <{0}) % 2))", shown(&count));
    let near = of_whole(&["--metric", OPS], &script);
    let sentence = near["verdicts"][0]["sentence"].as_str().unwrap();
    assert_eq!(near["verdicts"][0]["finding"], "same", "{sentence}");
    assert!(sentence.contains("no difference beyond 5% in ops between adaptive and libc after 8 runs"), "{sentence}");
    let narrow = of_whole(&["--metric", OPS, "--margin", "0.1", "--max-runs", "9"], &script);
    assert_eq!(narrow["verdicts"][0]["finding"], "undecided", "{narrow}");
}

#[test]
fn it_gives_up_at_its_bounds() {
    let directory = scratch();
    let of = |bound: &[&str]| {
        let count = directory.path().join("count");
        let _ = std::fs::remove_file(&count);
        let script = format!("echo x >>{0}; echo ops: $((100 + $(wc -l <{0}) * 37 % 50))", shown(&count));
        of_whole(&[&["--metric", OPS], bound].concat(), &script)
    };
    let runs = of(&["--max-runs", "12"]);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 24);
    let sentence = runs["verdicts"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("is detectable between adaptive and libc, in 12 runs"), "{sentence}");
    assert!(sentence.contains("2 looks"), "{sentence}");
    assert!(sentence.ends_with("--max-runs 48, with a --max-time for them"), "{sentence}");
    let time = of(&["--max-time", "0.001"]);
    assert_eq!(time["runs"].as_array().unwrap().len(), 16);
    let note = "--max-time ended the comparison after 8 rounds of at most 40";
    assert!(time["notes"].to_string().contains(note), "{time}");
}

/// Returns the JSON of a comparison of a shell script that makes as many runs as it needs.
fn of_whole(options: &[&str], script: &str) -> Value {
    json(&[&["compare", "--warmup", "0", "--json", "-"], options, &["--", "sh", "-c", script]].concat())
}
