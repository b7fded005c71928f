//! The library's report on a run to `turnwise compare`.

mod harness;

use harness::{Build, POLICIES, Program, output_path};
use std::path::Path;
use turnwise_preload_abi::{environment, run_probe::WORDS};

/// Runs the program; returns the words that it wrote: loaded, used, contended.
fn probed(program: Program, policy: &str) -> Vec<u32> {
    let page = output_path("page");
    std::fs::write(&page, [0; WORDS * size_of::<u32>()]).expect("an empty probe");
    program.with(environment::RUN_PROBE, page.to_str().expect("a path in UTF-8")).run(policy);
    let bytes = std::fs::read(&page).expect("the page");
    std::fs::remove_dir_all(page.parent().expect("a folder")).expect("it is ours");
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().expect("4 bytes"))).collect()
}

fn doing(what: &str) -> Program {
    Build::new("run_probe.c").program().with("DO", what)
}

#[test]
fn a_program_without_locks_is_distinguished_from_one_whose_locks_are_free() {
    for policy in POLICIES {
        assert_eq!(probed(doing("nothing"), policy), [1, 0, 0], "{policy}");
        assert_eq!(probed(doing("free"), policy), [1, 1, 0], "{policy}");
        assert_eq!(probed(doing("spin-free"), policy), [1, 1, 0], "{policy}");
    }
}

#[test]
fn one_thread_that_waits_is_enough() {
    for policy in POLICIES {
        for what in ["lock", "try", "rwlock", "spin", "forked"] {
            assert_eq!(probed(doing(what), policy), [1, 1, 1], "{what} under {policy}");
        }
    }
}

#[test]
fn locks_used_before_our_constructor_count() {
    let early = Build::new("early_library.c").shared("early");
    let words = probed(Build::new("early.c").link(&early).program(), "adaptive");
    assert_eq!(words[..2], [1, 1]);
}

#[test]
fn a_page_that_cannot_be_used_is_done_without() {
    let empty = output_path("empty");
    std::fs::write(&empty, "").expect("an empty file");
    let folder = empty.parent().expect("a folder");
    for path in [folder, &empty, Path::new("/nowhere"), Path::new("")] {
        doing("free").with(environment::RUN_PROBE, path.to_str().expect("a path in UTF-8")).run("adaptive");
    }
    std::fs::remove_dir_all(folder).expect("it is ours");
}
