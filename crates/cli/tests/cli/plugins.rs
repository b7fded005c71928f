//! Plug-ins that are loaded where others were: no event in one is attributed to another.

use crate::common::{compiled, expect_of, output, scratch, shown, text, turnwise};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use turnwise_profile::model::Profile;

const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];

/// Returns the command for the program with these plug-ins, one after another.
fn call(folder: &Path, plugins: &[&str]) -> Vec<String> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/plugin.c");
    for name in NAMES {
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-g", "-pthread", "-shared", "-fPIC", "-Wl,--build-id", &format!("-DNAME={name}")]);
        compiler.arg("-o").arg(folder.join(name)).arg(source);
        assert!(compiler.status().unwrap().success());
    }
    let program = compiled(folder, "plugins");
    let plugins = plugins.iter().map(|name| format!("./{name}"));
    [shown(&program).to_owned(), "100".to_owned()].into_iter().chain(plugins).collect()
}

/// Returns for each lock that threads waited for its name, and the functions that waited, with their files.
fn reported(profile: &Profile) -> Vec<(String, Vec<String>)> {
    let waits =
        |id: usize| profile.sites.iter().filter(move |site| site.lock as usize == id && site.usage.contended > 0);
    let function = |frame: &u32| {
        let frame = &profile.frames[*frame as usize];
        format!("{} {}", frame.module, frame.function)
    };
    let mut all = Vec::new();
    for (id, lock) in profile.locks.iter().enumerate().filter(|(_, lock)| lock.usage.contended > 0) {
        let name = lock.name.split(" #").next().unwrap().to_owned();
        all.push((name, waits(id).map(|site| function(&site.frames[0])).collect()));
    }
    all.sort();
    all
}

fn expected(plugins: &[&str]) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<_> =
        plugins.iter().map(|name| (format!("{name}_lock"), vec![format!("{name} {name}_work")])).collect();
    all.sort();
    all
}

#[test]
fn waits_of_a_plug_in_are_not_attributed_to_one_that_lay_there_before() {
    let folder = scratch();
    let json = folder.path().join("json");
    for plugins in [&NAMES[..], &["alpha", "beta", "alpha"], &["alpha", "alpha", "beta"]] {
        let program = call(folder.path(), plugins);
        for mode in [&[][..], &["--lock", "adaptive"], &["--waits"], &["--futex"]] {
            let mut command = turnwise(&[&["profile", "--json", shown(&json)], mode, &["--"]].concat());
            let ended = output(command.args(&program).current_dir(folder.path()));
            if mode == ["--futex"] && ended.status.code() == Some(2) {
                println!("SKIPPED: {}", text(&ended.stderr));
                continue;
            }
            assert_eq!(ended.status.code(), Some(0), "{mode:?} {ended:?}");
            let profile: Profile = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
            let mut found = reported(&profile);
            if mode == ["--futex"] {
                // The condition of a thread's end is also a futex.
                found.retain(|(name, _)| name.ends_with("_lock"));
            }
            // One that is loaded again is the same, or has a number, as long as no other was there in between.
            found.dedup();
            let mut expected = expected(plugins);
            expected.dedup();
            assert_eq!(found, expected, "{mode:?} {plugins:?}");
        }
    }
}

#[test]
fn the_live_view_tells_plug_ins_apart_while_the_program_runs_and_after_its_end() {
    let folder = scratch();
    let program = call(folder.path(), &NAMES);
    let mut command = turnwise(&["run", "--"]);
    command.args(&program).current_dir(folder.path()).env("XDG_RUNTIME_DIR", folder.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "done\n");
    let pid = child.id().to_string();
    let top = || {
        let mut command = turnwise(&["top", "--once", "--json", "--interval", "0.1", &pid]);
        let (line, _) = expect_of(0, command.env("XDG_RUNTIME_DIR", folder.path()));
        let line: Value = serde_json::from_str(&line).unwrap();
        let lock = |lock: &Value| format!("{} {}", lock["name"].as_str().unwrap(), lock["site"].as_str().unwrap());
        let locks = line["locks"].as_array().unwrap().iter().filter(|lock| lock["kind"] != "join");
        let mut all: Vec<String> = locks.map(lock).collect();
        all.sort();
        all
    };
    let are_right = |all: &[String], names: &[&str]| {
        let right =
            |(reported, name): (&String, &&str)| reported.starts_with(&format!("{name}_lock {name}_work (plugin.c:"));
        all.len() == names.len() && all.iter().zip(names).all(right)
    };
    let running = top();
    assert!(are_right(&running, &["gamma"]), "{running:?}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let ended = top();
    assert!(are_right(&ended, &NAMES), "{ended:?}");
}
