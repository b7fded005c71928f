//! Programs that use the library under ThreadSanitizer, which does not see into it: `turnwise_tsan.h` describes it.

use crate::build::{Compiler, Link, capi, compilers, declared};
use std::path::Path;
use std::process::Output;

/// Compiles a program with the sanitizer and runs it; `None`: the sanitizer does not work here.
fn run(compiler: &Compiler, source: &Path, folder: &Path) -> Option<Output> {
    let program = folder.join("program");
    let is_built = compiler.try_compile(source, &program, Link::Shared, &["-fsanitize=thread"]);
    is_built.then(|| Link::Shared.command(&program).output().expect("the program starts"))
}

/// The compilers whose sanitizer works on this machine.
fn working(source: &str, folder: &Path) -> Vec<Compiler> {
    if std::env::var_os("CROSS_COMPILE").is_some() {
        println!("SKIPPED: ThreadSanitizer's runtime hangs under qemu");
        return Vec::new();
    }
    let nothing = folder.join(if source.ends_with(".cpp") { "nothing.cpp" } else { "nothing.c" });
    std::fs::write(&nothing, "int main(void) { return 0; }\n").expect("a source file");
    let works = |compiler: &Compiler| {
        let works = run(compiler, &nothing, folder).is_some_and(|output| output.status.success());
        if !works {
            println!("SKIPPED: {} has no ThreadSanitizer that works here", compiler.name());
        }
        works
    };
    compilers(source).into_iter().filter(works).collect()
}

#[test]
fn programs_without_races_get_no_report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for source in
        ["tests/c/locks.c", "tests/c/waits.c", "tests/c/standard.cpp", "examples/queue.c", "examples/cache.cpp"]
    {
        for compiler in working(source, folder.path()) {
            let output = run(&compiler, &capi(source), folder.path()).expect("it compiles with the sanitizer");
            let shown = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !shown.contains("ThreadSanitizer"), "{source}: {shown}");
        }
    }
}

/// A counter under a lock, and one that a thread writes without it.
const RACE: &str = "
#include <pthread.h>
#include <turnwise.h>
static tw_mutex lock = TW_MUTEX_INIT;
static int under, beside;
static void *count(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        tw_mutex_lock(&lock);
        under++;
        tw_mutex_unlock(&lock);
    }
    beside++;
    return unused;
}
int main(void)
{
    pthread_t other;
    pthread_create(&other, 0, count, 0);
    count(0);
    pthread_join(other, 0);
    return under == 2000 ? 0 : 1;
}
";

#[test]
fn a_race_is_still_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("race.c");
    std::fs::write(&source, RACE).expect("a source file");
    for compiler in working("race.c", folder.path()) {
        // If one thread finishes before the other takes the lock, its unlocked accesses are ordered before that, too.
        let is_reported = (0..20).any(|_| {
            let output = run(&compiler, &source, folder.path()).expect("it compiles with the sanitizer");
            let shown = String::from_utf8_lossy(&output.stderr);
            assert!(!shown.contains("'under'"), "{shown}");
            shown.contains("data race") && shown.contains("'beside'")
        });
        assert!(is_reported, "{} did not report the race", compiler.name());
    }
}

/// Operations that order nothing, or nothing that a program may rely on.
const SILENT: [&str; 7] = ["_init", "_is_locked", "_is_write_locked", "_is_dead", "_count", "_available", "_text"];
const SILENT_NAMES: [&str; 13] = [
    "tw_version",
    "tw_now_ns",
    "tw_cond_signal",
    "tw_cond_broadcast",
    "tw_seqrwlock_read_retry",
    "tw_lockref_get",
    "tw_lockref_get_locked",
    "tw_lockref_put_locked",
    "tw_lockref_mark_dead",
    "tw_lockref_mark_dead_locked",
    "tw_lockref_count",
    "tw_stats_start",
    "tw_stats_each",
];

#[test]
fn every_function_that_orders_tells_the_sanitizer() {
    let tells = std::fs::read_to_string(capi("include/turnwise_tsan.h")).expect("the header");
    let functions = declared();
    assert!(functions.len() >= 90, "{} functions: does the test read the header rightly?", functions.len());
    for (name, _) in functions {
        let is_silent = SILENT.iter().any(|end| name.ends_with(end)) || SILENT_NAMES.contains(&name.as_str());
        let is_reported = tells.contains(&format!("#define {name} tw_tsan_{}\n", &name["tw_".len()..]));
        assert_ne!(is_silent, is_reported, "{name}");
    }
}
