//! Policy files: `run`, `compare` and `policy check`.

use crate::common::{executable, expect, expect_complaint, expect_of, scratch, shown, turnwise};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a program and a policy file.
struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Bench {
    fn new(source: &str, flags: &[&str]) -> Bench {
        let folder = scratch();
        let program = folder.path().join(Path::new(source).file_stem().unwrap());
        compile(source, &program, flags);
        Bench { folder, program }
    }

    fn policy(&self, text: &str) -> String {
        let path = self.folder.path().join("p.toml");
        std::fs::write(&path, text).unwrap();
        shown(&path).to_owned()
    }

    /// Runs the program under a policy file; returns its output, and standard error.
    #[track_caller]
    fn run(&self, text: &str) -> (String, String) {
        let policy = self.policy(text);
        let mut command = turnwise(&["run", "--policy", &policy, "--", shown(&self.program)]);
        expect_of(0, command.env("TURNWISE_VERBOSE", "1"))
    }
}

fn compile(source: &str, output: &Path, flags: &[&str]) {
    let compiler = if source.ends_with(".cpp") { "g++" } else { "gcc" };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/policy").join(source);
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-pthread"]).args(flags).arg("-o").arg(output).arg(source).arg("-ldl");
    assert!(command.status().expect("gcc and g++").success());
}

fn rule(condition: &str, lock: &str) -> String {
    format!("[[rule]]\n{condition}\nlock = \"{lock}\"\n\n")
}

const OPTIMISED: &[&str] = &["-O2", "-g"];

#[test]
fn locks_by_symbol_function_and_line() {
    let bench = Bench::new("locks.c", OPTIMISED);
    let rules = [
        rule("symbol = \"hot\"", "queued"),
        rule("symbol = \"pair+0x8\"", "ttas"),
        rule("symbol = \"pair\"", "ticket"),
        rule("symbol = \"local\"", "libc"),
        rule("function = \"make_job\"", "libc"),
        rule("line = \"policy/locks.c:38\"", "queued"),
        rule("function = \"take_first\"", "ticket"),
    ];
    let (stdout, stderr) = bench.run(&rules.concat());
    let expected =
        "hot queued\ncold adaptive\nfirst ttas\nsecond ticket\nlocal libc\njob libc\ninlined queued\ntaken ticket\n";
    assert_eq!(stdout, expected, "{stderr}");
    assert!(!stderr.contains("warning"), "{stderr}");
    assert!(
        stderr.contains("but for 7 rules")
            && stderr.contains("1 lock went by")
            && stderr.contains("(symbol hot): queued")
    );
    // By the name of an inlined function, by the line of the inlined call, and with a pattern.
    assert!(bench.run(&rule("function = \"make_inlined\"", "ttas")).0.contains("inlined ttas\n"));
    assert!(bench.run(&rule("line = \"locks.c:63-64\"", "ttas")).0.contains("inlined ttas\n"));
    assert!(bench.run(&rule("function = \"make_*\"", "ttas")).0.contains("job ttas\ninlined ttas\n"));
    assert!(bench.run(&rule("module = \"locks\"", "libc")).0.contains("hot libc\n"));
}

#[test]
fn without_optimisation_and_without_debug_information() {
    for flags in [&["-O0"][..], &["-O1", "-fPIE", "-pie"], &["-O2", "-no-pie"]] {
        let bench = Bench::new("locks.c", flags);
        let rules = [rule("symbol = \"hot\"", "queued"), rule("function = \"make_job\"", "libc")].concat();
        let (stdout, stderr) = bench.run(&(rules + &rule("function = \"take_first\"", "ticket")));
        for line in ["hot queued\n", "cold adaptive\n", "job libc\n", "taken ticket\n"] {
            assert!(stdout.contains(line), "{flags:?}: no {line:?} in:\n{stdout}{stderr}");
        }
    }
}

/// The recorder calls the locks then, for the program.
#[test]
fn rules_about_calls_apply_to_a_recorded_program() {
    let bench = Bench::new("locks.c", OPTIMISED);
    let policy =
        bench.policy(&[rule("function = \"make_job\"", "libc"), rule("function = \"take_first\"", "ticket")].concat());
    let (stdout, stderr) = expect(0, &["profile", "--policy", &policy, "--", shown(&bench.program)]);
    assert!(stdout.contains("local adaptive\njob libc\ninlined adaptive\ntaken ticket\n"), "{stdout}{stderr}");
}

#[test]
fn names_of_cpp() {
    let bench = Bench::new("cache.cpp", OPTIMISED);
    let rules = [
        rule("symbol = \"store::Cache::lock_\"", "queued"),
        rule("function = \"store::Cache::get\"", "ttas"),
        rule("function = \"store::Cache::find(int)\"", "libc"),
    ];
    let (stdout, stderr) = bench.run(&rules.concat());
    assert_eq!(stdout, "static queued\nown ttas\ntable libc\n", "{stderr}");
}

#[test]
fn the_default_is_the_files_or_the_options() {
    let bench = Bench::new("locks.c", OPTIMISED);
    let text = format!("default = \"ticket\"\n{}", rule("symbol = \"hot\"", "adaptive"));
    let (stdout, _) = bench.run(&text);
    assert!(stdout.contains("hot adaptive\ncold ticket\n"), "{stdout}");
    let policy = bench.policy(&text);
    let (stdout, _) = expect(0, &["run", "--policy", &policy, "--lock", "libc", shown(&bench.program)]);
    assert!(stdout.contains("hot adaptive\ncold libc\n"), "{stdout}");
}

#[test]
fn programs_that_others_start() {
    let bench = Bench::new("locks.c", OPTIMISED);
    let program = shown(&bench.program);
    let of_program = |name: &str| bench.policy(&rule(&format!("program = {name:?}\nsymbol = \"hot\""), "queued"));
    let script = executable(bench.folder.path(), "script", format!("#!/bin/sh\nexec {program}\n").as_bytes());
    for command in [&["sh", "-c", program][..], &[shown(&script)], &[program]] {
        let policy = of_program(program);
        let (stdout, stderr) = expect(0, &[&["run", "--policy", &policy, "--"], command].concat());
        assert!(stdout.contains("hot queued\n") && stderr.is_empty(), "{stdout}{stderr}");
    }
    // Only by its name, the file of a program that another starts cannot be found.
    let (stdout, stderr) = expect(0, &["run", "--policy", &of_program("lo*s"), "--", "sh", "-c", program]);
    assert!(stdout.contains("hot adaptive\n") && stderr.contains("no program of this name is known here"), "{stderr}");
    let (stdout, _) = expect(0, &["run", "--policy", &of_program("lo*s"), "--", program]);
    assert!(stdout.contains("hot queued\n"), "{stdout}");
    let (stdout, _) = expect(0, &["run", "--policy", &of_program("/usr/bin/env"), "--", program]);
    assert!(stdout.contains("hot adaptive\n"), "a rule for another program holds:\n{stdout}");
}

#[test]
fn modules_that_are_loaded_later() {
    let bench = Bench::new("loads.c", OPTIMISED);
    let plugin = bench.folder.path().join("plugin.so");
    compile("plugin.c", &plugin, &["-O2", "-g", "-shared", "-fPIC"]);
    let run = |text: &str| {
        let policy = bench.policy(text);
        expect(0, &["run", "--policy", &policy, "--", shown(&bench.program), shown(&plugin)])
    };
    let by_path = format!("module = {:?}\nfunction = \"make\"", shown(&plugin));
    assert_eq!(run(&rule(&by_path, "libc")), ("5\n".to_owned(), String::new()));
    let (stdout, stderr) = run(&rule("module = \"plugin.so\"", "queued"));
    assert_eq!(stdout, "2\n");
    assert!(stderr.contains("if it is loaded later, this is fine"), "{stderr}");
    let (stdout, stderr) = run(&rule("module = \"plugin.so\"\nfunction = \"make\"", "queued"));
    assert_eq!(stdout, "1\n");
    assert!(stderr.contains("give its path"), "{stderr}");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let bench = Bench::new("locks.c", OPTIMISED);
    let refused = |text: &str, parts: &[&str]| {
        let policy = bench.policy(text);
        for command in [&["run", "--policy", &policy][..], &["policy", "check", &policy]] {
            expect_complaint(2, &[command, &["--", shown(&bench.program)]].concat(), parts);
        }
    };
    refused(
        "[[rule]]\nsymbl = \"hot\"\nlock = \"queued\"\n",
        &["no such key: `symbl`", "p.toml:2:1", "did you mean `symbol`?"],
    );
    refused(&rule("symbol = \"hot\"", "quued"), &["no such lock: \"quued\"", "p.toml:3:8", "did you mean `queued`?"]);
    refused("[[rule]]\nlock = \"queued\"\n", &["p.toml:1:1", "add one of `symbol`"]);
    expect_complaint(2, &["run", "--policy", "/nowhere.toml"], &["cannot read the policy file /nowhere.toml"]);

    let warned = |text: &str, parts: &[&str]| {
        let (_, stderr) = bench.run(text);
        for part in parts {
            assert!(stderr.contains(part), "no {part:?} in:\n{stderr}");
        }
    };
    warned(&rule("symbol = \"hott\"", "queued"), &["no variable `hott`", "p.toml:2:10", "did you mean `hot`?"]);
    warned(&rule("function = \"make_jobs\"", "queued"), &["no function `make_jobs`", "did you mean `make_job`?"]);
    warned(&rule("line = \"locks.c:9999\"", "queued"), &["no code was compiled from these lines: locks.c:9999"]);
    warned(&rule("line = \"other.c:1\"", "queued"), &["no such source file: other.c:1"]);
    warned(&rule("module = \"libnone.so\"", "queued"), &["no program here starts with a module libnone.so"]);
    warned(&rule("module = \"/nowhere.so\"", "queued"), &["cannot inspect this module", "p.toml:2:10"]);
    warned(&rule("program = \"no-such-program\"\nsymbol = \"x\"", "queued"), &["cannot inspect this program"]);
    warned(&rule("symbol = \"pointed\"", "queued"), &["`pointed` has 8 bytes, fewer than a lock", "`function = "]);
    warned(&rule("symbol = \"pointe?\"", "queued"), &["`pointed` has 8 bytes, fewer than a lock"]);
    warned(&rule("symbol = \"main\"", "queued"), &["no variable `main`", "a function has this name", "`function`"]);
    warned(&rule("function = \"hot\"", "queued"), &["no function `hot`", "a variable has this name", "`symbol`"]);
    for all in ["*", "**"] {
        warned(&rule(&format!("symbol = \"{all}\""), "queued"), &["the locks in every variable", "`default`"]);
    }
}

#[test]
fn a_stripped_program_is_distinguished_from_a_wrong_name() {
    let bench = Bench::new("locks.c", &["-O2", "-s"]);
    let (_, stderr) = bench.run(&rule("symbol = \"hot\"", "queued"));
    assert!(stderr.contains("no variable `hot`") && stderr.contains("locks") && stderr.contains("build"), "{stderr}");
}

#[test]
fn check_shows_what_rules_find() {
    let bench = Bench::new("locks.c", OPTIMISED);
    let rules = [
        rule("symbol = \"hot\"", "queued"),
        rule("function = \"make_inlined\"", "ttas"),
        rule("module = \"libc.so.6\"", "libc"),
    ];
    let policy = bench.policy(&rules.concat());
    let (stdout, _) = expect(0, &["policy", "check", &policy, "--", shown(&bench.program)]);
    for part in [
        "p.toml:1 (symbol hot): queued\n    locks in hot in locks (0x",
        "40 bytes)",
        "locks that make_inlined in locks makes (code at 0x",
        "all locks that lie in libc.so.6 or that its code makes",
        "all others: adaptive",
    ] {
        assert!(stdout.contains(part), "no {part:?} in:\n{stdout}");
    }
    let (stdout, _) = expect(0, &["policy", "check", &policy]);
    assert!(stdout.contains("3 rules, default adaptive; no errors"), "{stdout}");
    let (stdout, _) = expect(0, &["policy", "check", &bench.policy(&rule("symbol = \"hot\"", "queued"))]);
    assert!(stdout.contains(": 1 rule, default adaptive; no errors"), "{stdout}");
    let old = bench.policy(&rule("symbol = \"hot\"", "mcs"));
    for program in [&[][..], &["--", shown(&bench.program)]] {
        expect(0, &[&["policy", "check", &old], program].concat());
    }
    let wrong = bench.policy(&rule("symbol = \"hott\"", "queued"));
    let (stdout, _) = expect(1, &["policy", "check", &wrong, "--", shown(&bench.program)]);
    assert!(stdout.contains("finds nothing") && stdout.contains("did you mean `hot`?"), "{stdout}");
}

#[test]
fn a_policy_file_is_compared_like_a_policy() {
    let bench = Bench::new("locks.c", OPTIMISED);
    let policy = bench.policy(&rule("symbol = \"hot\"", "queued"));
    let program = shown(&bench.program);
    let compared = ["compare", "--lock", "libc", "--policy", &policy, "--runs", "2", "--json", "-", "--", program];
    let (stdout, _) = expect(0, &compared);
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["settings"]["policies"], serde_json::json!(["libc", policy]));
    let loaded = |name: &str| {
        let runs = report["runs"].as_array().unwrap().iter().filter(|run| run["policy"] == name);
        runs.map(|run| run["library_loaded"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(loaded("libc"), [(); 3].map(|()| serde_json::Value::Null));
    assert!(loaded(&policy).iter().all(|loaded| *loaded != serde_json::json!(false)));
    assert_eq!(report["verdicts"][0]["policy"], policy.as_str());
    let (stdout, _) = expect(0, &["compare", "--policy", &policy, "--runs", "2", "--warmup", "0", "--", program]);
    for name in ["libc", "adaptive", policy.as_str()] {
        assert!(stdout.contains(name), "no {name} in:\n{stdout}");
    }
    let twice = ["compare", "--policy", &policy, "--policy", &policy, "--", program];
    expect_complaint(2, &twice, &["is there twice"]);
}

#[test]
fn the_table_is_private_and_a_second_run_replaces_it() {
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new("locks.c", OPTIMISED);
    let policy = bench.policy(&rule("symbol = \"hot\"", "queued"));
    const SHOWN: &str = "echo \"$TURNWISE_POLICY_TABLE|$TURNWISE_LOCK\"";
    let (stdout, _) = expect(0, &["run", "--policy", &policy, "--", "sh", "-c", SHOWN]);
    let table = stdout.trim().strip_suffix('|').expect("no plain policy beside a table");
    let found = std::fs::metadata(table).unwrap();
    assert_eq!(found.mode() & 0o077, 0);
    let inner = format!("exec {} run --lock ticket -- sh -c '{SHOWN}'", env!("CARGO_BIN_EXE_turnwise"));
    let (stdout, _) = expect(0, &["run", "--policy", &policy, "--", "sh", "-c", &inner]);
    assert_eq!(stdout, "|ticket\n");
}

#[test]
fn advice_is_tried_and_only_what_wins_is_kept() {
    let advised = ["compare", "--advise", "--runs", "2", "--warmup", "0", "--", "@sample", "-t", "4", "-s", "0.1"];
    let (stdout, _) = expect(0, &advised);
    // Two runs prove nothing, and on some machines the sample's threads hardly contend.
    let (nothing, unproved) = ("None of the findings can be tried", "No other lock was proved better");
    assert!(stdout.contains(nothing) != stdout.contains(unproved), "{stdout}");
    assert_eq!(stdout.contains("throughput"), stdout.contains(unproved), "{stdout}");
    expect_complaint(2, &["compare", "--advise", "--lock", "queued"], &["--advise", "cannot be used with"]);
    let fails = ["compare", "--advise", "--", "sh", "-c", "echo reason; exit 3"];
    let parts =
        ["under the recorder the program exited with status 3", "its last lines:\n  reason", "try it by itself:"];
    expect_complaint(2, &fails, &parts);
}

#[test]
fn a_policy_that_wins_is_proved_and_kept_in_words_and_in_json() {
    let bench = Bench::new("starved.c", OPTIMISED);
    let folder = scratch();
    let json = folder.path().join("advice.json");
    let (file, program) = (format!("--json={}", shown(&json)), shown(&bench.program));
    let metric = ["--metric", "turn: (?<turn>[0-9]+)", "--lower-is-better"];
    // With six pairs one disturbed pair decides where the interval ends; with twelve it does not.
    let options = [&["--runs", "12", "--warmup", "0", &file], &metric[..]].concat();
    let (stdout, _) = expect(0, &[&["compare", "--advise"], &options[..], &["--", program]].concat());
    for part in ["starve", "Proved: finding ", "turnwise run --policy FILE", "    lock = \"adaptive\""] {
        assert!(stdout.contains(part), "no {part:?} in:\n{stdout}");
    }
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let findings = report["advice"]["findings"].as_array().unwrap();
    let starved = findings.iter().find(|finding| finding["rule"] == "readers-starve").expect("what it is about");
    assert_eq!(starved["locks"], serde_json::json!(["table"]));
    assert!(!starved["evidence"].as_array().unwrap().is_empty());
    let tried = &starved["experiment"];
    assert_eq!((&tried["policy"], &tried["scope"]), (&"adaptive".into(), &"locks".into()));
    assert_eq!((&tried["finding"], &tried["kept"]), (&"better".into(), &true.into()));
    // A tenth, mostly. The program does nothing to help: it knows nothing of its policy.
    assert!(tried["to_baseline"]["high"].as_f64().is_some_and(|high| high < 0.5), "{tried}");
    assert!(tried["policy_file"].as_str().unwrap().contains("symbol = \"table\""), "{tried}");
}

#[test]
fn the_profile_for_advice_has_a_time_limit() {
    let slow = ["compare", "--advise", "--timeout", "0.2", "--", "sleep", "60"];
    expect_complaint(2, &slow, &["under the recorder", "still running after 0.2 s (--timeout)", "killed"]);
}

#[test]
fn advice_that_cannot_be_tried_is_json_all_the_same() {
    let (stdout, _) = expect(0, &["compare", "--advise", "--json", "-", "--", "true"]);
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["advice"]["findings"], serde_json::json!([]));
    assert!(report["advice"]["verdict"].as_str().is_some_and(|verdict| !verdict.is_empty()));
    assert_eq!((&report["runs"], &report["verdicts"]), (&serde_json::json!([]), &serde_json::json!([])));
}

#[test]
fn while_it_is_profiled_rules_are_about_the_programs_calls() {
    let bench = Bench::new("locks.c", OPTIMISED);
    let rules = ["take_first", "make_job"].map(|name| rule(&format!("function = \"{name}\""), "ticket")).concat();
    let policy = bench.policy(&(rules + &rule("symbol = \"hot\"", "queued")));
    let (stdout, stderr) = expect(0, &["profile", "--policy", &policy, "--", shown(&bench.program)]);
    for line in ["hot queued\n", "cold adaptive\n", "taken ticket\n", "job ticket\n", "policy file"] {
        assert!(stdout.contains(line), "no {line:?} in:\n{stdout}{stderr}");
    }
}
