//! `turnwise-lab bench --plugin`: locks of shared objects, good and bad.

use crate::common::{expect, expect_complaint, output, scratch, shown, text, turnwise};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The header, and the locks that come with it.
const PLUGINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/plugins");

/// A lock that does what it should.
const GOOD: &str = "\
#include <pthread.h>
#include \"turnwise_plugin.h\"
static void take(void *lock) { pthread_mutex_lock(lock); }
static void give(void *lock) { pthread_mutex_unlock(lock); }
static void nothing(void *lock) { (void)lock; }
static int always(void *lock) { return lock != NULL; }
static void wait_on(void *lock) { for (;;) pthread_join(pthread_self(), lock); }
const struct turnwise_plugin turnwise_plugin = {
    .abi = TURNWISE_PLUGIN_ABI,
    .name = NAME,
    .size = sizeof(pthread_mutex_t),
    .align = _Alignof(pthread_mutex_t),
    .lock = TAKE,
    .unlock = GIVE,
    .try_lock = TRY,
};
";

/// Returns a shared object of this source, compiled as documented.
fn compiled(directory: &Path, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
    let object = directory.join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-shared", "-fPIC", "-I", PLUGINS]);
    let built = compiler.args(flags).arg("-o").arg(&object).arg(source).output().expect("there is a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    object
}

/// Compiles [`GOOD`] with some changes.
fn varied(directory: &Path, object: &str, changes: &[(&str, &str)]) -> PathBuf {
    let source = directory.join("lock.c");
    let defaults = [("NAME", "\"mine\""), ("TAKE", "take"), ("GIVE", "give"), ("TRY", "NULL")];
    let text = changes.iter().chain(&defaults).fold(GOOD.to_owned(), |text, (place, with)| text.replace(place, with));
    std::fs::write(&source, text).unwrap();
    compiled(directory, object, &source, &[])
}

const SHORT: [&str; 6] = ["--samples", "1", "--sample-ms", "5", "--json", "-"];

/// Runs it for a moment, and returns the report.
fn report(arguments: &[&str]) -> serde_json::Value {
    let (json, _) = expect(0, &[["bench"].as_slice(), arguments, &SHORT].concat());
    serde_json::from_str(&json).expect("a report")
}

#[test]
fn a_mutex_of_the_c_library_is_judged_as_a_plugin() {
    let directory = scratch();
    let source = Path::new(PLUGINS).join("pthread.c");
    let object = compiled(directory.path(), "pthread.so", &source, &[]);
    let chosen = ["mutex", "--scenario", "2x50/100", "many-16", "open-40k", "--lock", "std", "--plugin"];
    let report = report(&[chosen.as_slice(), &[shown(&object)]].concat());
    for scenario in report["scenarios"].as_array().unwrap() {
        let locks = &scenario["locks"];
        assert_eq!((&locks[1]["name"], &locks[1]["ours"]), (&"pthread-plugin".into(), &true.into()), "{scenario}");
        assert!(locks[1]["op_ns"]["median"].as_f64().unwrap() > 1.0, "{scenario}");
    }
    assert_eq!(report["verdicts"][0]["lock"], "pthread-plugin");
    assert_eq!(report["verdicts"][0]["best_peer"]["cells"], 3);
    let (list, _) = expect(0, &["bench", "mutex", "--list", "--plugin", shown(&object)]);
    assert!(list.contains("  pthread-plugin             the C library's, as a plugin"), "{list}");
}

#[test]
fn a_plugin_may_be_a_peer_and_have_readers() {
    let directory = scratch();
    let source = Path::new(PLUGINS).join("pthread.c");
    let shared = compiled(directory.path(), "rwlock.so", &source, &["-DRWLOCK"]);
    let alone = compiled(directory.path(), "mutex.so", &source, &[]);
    let chosen = ["rwlock", "--scenario", "2x95/5", "2x50/50", "--lock", "rwsem", "--against", "pthread-rwlock-plugin"];
    let report = report(&[chosen.as_slice(), &["--peer-plugin", shown(&shared), shown(&alone)]].concat());
    for scenario in report["scenarios"].as_array().unwrap() {
        assert_eq!(scenario["reference"], "pthread-rwlock-plugin");
        for (index, name) in [(1, "pthread-rwlock-plugin"), (2, "pthread-plugin")] {
            let lock = &scenario["locks"][index];
            assert_eq!((&lock["name"], &lock["ours"], &lock["sleeps"]), (&name.into(), &false.into(), &true.into()));
            assert!(lock["reads"]["op_ns"]["median"].as_f64().unwrap() > 1.0, "{lock}");
        }
    }
    assert_eq!(report["verdicts"].as_array().unwrap().len(), 1, "peers are not judged");
}

#[test]
fn what_is_no_plugin_is_refused_with_what_to_do() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("text.so"), "a text\n".repeat(1000)).unwrap();
    std::fs::write(path("none.c"), "int nothing;\n").unwrap();
    let none = compiled(directory.path(), "none.so", &path("none.c"), &[]);
    std::fs::write(path("needs.c"), "void absent(void);\nvoid f(void) { absent(); }\nvoid (*g)(void) = absent;\n")
        .unwrap();
    let needs = compiled(directory.path(), "needs.so", &path("needs.c"), &[]);
    let other = varied(directory.path(), "other.so", &[("TURNWISE_PLUGIN_ABI", "2")]);
    for (object, parts) in [
        (path("absent.so"), ["cannot find", "No such file"].as_slice()),
        (path("text.so"), &["cannot load", "invalid ELF header", "cc -O2 -shared -fPIC", "LD_LIBRARY_PATH"]),
        (needs, &["cannot load", "undefined symbol: absent"]),
        (none, &["none.so has no turnwise_plugin: let it define one, as turnwise_plugin.h says"]),
        (other, &["the abi of its turnwise_plugin is 0x2, and 0x54570001 is expected", "of this version"]),
    ] {
        for flag in ["--plugin", "--peer-plugin"] {
            expect_complaint(2, &["bench", flag, shown(&object)], &[flag, shown(&object)]);
            expect_complaint(2, &["bench", flag, shown(&object)], parts);
        }
    }
}

#[test]
fn a_lock_that_is_wrong_is_refused_by_name() {
    let directory = scratch();
    let complaint = |changes: &[(&str, &str)], parts: &[&str]| {
        let object = varied(directory.path(), "wrong.so", changes);
        expect_complaint(2, &["bench", "--plugin", shown(&object)], &[&["wrong.so"], parts].concat());
    };
    complaint(&[("NAME", "NULL")], &["its turnwise_plugin is wrong: it has no name"]);
    complaint(&[("GIVE", "NULL")], &["its turnwise_plugin is wrong: its unlock is NULL: a lock needs one"]);
    complaint(&[("TRY", "always")], &["its lock mine is wrong: its try_lock took it while another thread had it"]);
    complaint(&[("TAKE", "wait_on")], &["its lock mine is wrong", "did not end within 5s, though it was free"]);
}

#[test]
fn a_plugin_that_lets_two_threads_in_is_found_out() {
    let directory = scratch();
    let object = varied(directory.path(), "open.so", &[("TAKE", "nothing"), ("GIVE", "nothing")]);
    let chosen = ["bench", "--scenario", "misc-mutex-4", "--lock", "std", "--samples", "3", "--sample-ms", "100"];
    let arguments = [chosen.as_slice(), &["--plugin", shown(&object)]].concat();
    // Two threads are in at once only while two CPUs run them, which a busy machine may not do for a while.
    let reported = (0..100).find_map(|_| {
        let answer = output(&mut turnwise(&arguments));
        (!answer.status.success()).then(|| (answer.status.code(), text(&answer.stderr)))
    });
    let (status, reported) = reported.expect("two threads were in at once within a hundred runs");
    assert_eq!(status, Some(2), "{reported}");
    assert!(
        ["lock mine", "the lock let two threads in at once"].iter().all(|part| reported.contains(part)),
        "{reported}"
    );
}

#[test]
fn names_are_unique_and_subjects_have_a_place_for_plugins() {
    let directory = scratch();
    let mine = varied(directory.path(), "mine.so", &[]);
    let taken = varied(directory.path(), "taken.so", &[("NAME", "\"parking_lot\"")]);
    let [mine, taken] = [&mine, &taken].map(|object| shown(object));
    let known = ["`bench mutex` has a lock parking_lot: give the one of the shared object another name"];
    expect_complaint(2, &["bench", "--plugin", taken], &known);
    let twice = ["two shared objects call their lock mine: give one of them another name"];
    expect_complaint(2, &["bench", "--plugin", mine, "--peer-plugin", mine], &twice);
    let place = ["`bench condvar` takes no locks of shared objects; those that do: mutex, rwlock, spin"];
    expect_complaint(2, &["bench", "condvar", "--plugin", mine], &place);
    expect_complaint(2, &["bench", "--against", "mine"], &["mine", "parking_lot"]);
    expect_complaint(2, &["bench", "--from", "x.json", "--plugin", mine], &["--plugin", "cannot be used with"]);
}
