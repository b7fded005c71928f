//! The conformance programs of `tests/conformance`: what POSIX and C11 specify about locks, checked sentence by
//! sentence. The results on our locks must be the C library's, line by line, under every policy, even where the
//! standard leaves the result open.

mod harness;

use harness::{Build, POLICIES, Program};

/// Compares the program's results on the C library and under each policy; returns their number.
fn same_answers(source: &'static str) -> usize {
    let program = Build::new(source).program();
    let expected = program.answers_on_libc();
    for policy in POLICIES {
        compare(&program, policy, &expected);
    }
    expected.lines().count()
}

fn compare(program: &Program, policy: &str, expected: &str) {
    let found = program.answers(policy);
    assert_eq!(found.lines().count(), expected.lines().count(), "{policy}: not the same questions");
    for (ours, theirs) in found.lines().zip(expected.lines()) {
        assert_eq!(ours, theirs, "ours under {policy}, and the C library's");
    }
}

macro_rules! programs {
    ($($name:ident: $source:literal, at least $answers:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let answers = same_answers(concat!("../conformance/", $source));
                assert!(answers >= $answers, "{answers} answers: sentences were left out");
            }
        )*
    };
}

programs! {
    mutexes: "mutex.c", at least 560;
    attributes_and_special_mutexes: "attributes.c", at least 38;
    condition_variables: "cond.c", at least 490;
    condition_variables_and_errors: "cond_errors.c", at least 34;
    mutexes_of_condition_waits: "cond_mutex.c", at least 140;
    readers_writer_locks: "rwlock.c", at least 350;
    spin_locks_barriers_once: "other.c", at least 35;
    keys_of_thread_specific_data: "keys.c", at least 22;
    c11: "c11.c", at least 55;
    functions_by_name_and_version: "symbols.c", at least 110;
    forked_children: "fork.c", at least 61;
}
