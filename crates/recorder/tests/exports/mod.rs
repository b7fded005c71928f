//! The functions that the recorder exports.

use crate::harness::{Run, library, program, shared_object_of_preload};
use std::path::PathBuf;
use std::process::Command;
use symbols::Symbols;
use turnwise_preload_abi::{environment, libraries};
use turnwise_recording::writer;

#[path = "../../../preload/tests/symbols/mod.rs"]
mod symbols;

/// Every C library function that the recorder has is found by its version, except condition variables of 2002, whose
/// waits are not recorded.
#[test]
fn exports_have_the_c_librarys_versions() {
    let (ours, theirs) = (Symbols::of(&library(libraries::RECORDER)), Symbols::of_c_library());
    assert!(ours.names().len() > 50, "{:?}", ours.names());
    // `turnwise_prctl` and its like are what such a version is another name of.
    for name in ours.names().into_iter().filter(|name| !name.starts_with("turnwise_")) {
        let mut expected = theirs.of_name(name);
        if name.starts_with("pthread_cond_") && expected.contains("GLIBC_2.3.2") {
            expected.remove("GLIBC_2.2.5");
            assert!(!ours.of_name(name).contains("GLIBC_2.2.5"), "{name} has another ABI in that version");
        }
        let missing: Vec<_> = expected.difference(&ours.of_name(name)).cloned().collect();
        assert!(missing.is_empty() && !expected.is_empty(), "{name}: not {missing:?} of {expected:?}");
        // As in the preload library, our own calls do not use these.
        let by_version_alone = ["prctl", "syscall"].contains(&name);
        assert_eq!(ours.without_asking(name), usize::from(!by_version_alone), "{name}");
    }
}

/// While `dlopen` runs a constructor it has the loader's lock, and the constructor waits for a thread that calls us.
fn first_calls_while_a_constructor_waits_for_them(behind: &[PathBuf]) {
    let opened = shared_object_of_preload("first_use_library").display().to_string();
    for objects in ["ours", "foreign", "taken"] {
        // A thread that calls `dlclose` takes the loader's lock.
        for function in Symbols::of(&library(libraries::RECORDER)).names().into_iter().filter(|name| *name != "dlclose")
        {
            let variables = [("LIBRARY", opened.as_str()), ("FUNCTION", function), ("OBJECTS", objects)];
            let status = Run::program("first_use", "", behind, &variables).status;
            assert!(status.success(), "{function} on {objects}: {status}");
        }
    }
}

#[test]
fn first_calls_to_the_c_library_while_a_constructor_waits_for_them() {
    first_calls_while_a_constructor_waits_for_them(&[]);
}

#[test]
fn first_calls_to_the_preload_library_while_a_constructor_waits_for_them() {
    first_calls_while_a_constructor_waits_for_them(&[library(libraries::PRELOAD)]);
}

/// Helgrind and drd would report the records of other threads' waits as races.
#[test]
fn tools_that_look_for_races_find_none_of_ours() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("SKIPPED: no valgrind here (Debian: valgrind)");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("recording");
    writer::create(&file).expect("a recording");
    for tool in ["helgrind", "drd"] {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "300", "valgrind", "-q", &format!("--tool={tool}"), "--error-exitcode=9"]);
        command.arg(program("sanitized")).env("LD_PRELOAD", library(libraries::RECORDER));
        let ended = command.env(environment::RECORDING, &file).output().expect("timeout of coreutils");
        let shown = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(7), "{tool}: {shown}");
        assert!(shown.contains("nothing is recorded"), "{tool}: {shown}");
    }
}
