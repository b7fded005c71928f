//! C programs whose locks follow a policy table: which lock gets which policy, and that all of them work together.

#[path = "../harness/mod.rs"]
mod harness;
mod program;

use program::{By, Program, Rules};
use turnwise_preload_abi::Policy;

/// A structure for each policy, with a lock of each kind.
const MIXED: [(&str, Policy); 5] = [
    ("with_adaptive", Policy::ADAPTIVE),
    ("with_queued", Policy::QUEUED),
    ("with_ttas", Policy::TTAS),
    ("with_ticket", Policy::TICKET),
    ("with_libc", Policy::Libc),
];

#[test]
fn each_lock_by_its_symbol_or_by_the_call_that_makes_it() {
    for program in [Program::build("../policies/sites.c"), Program::with_a_hole("../policies/sites.c")] {
        each_lock_of_sites(&program);
    }
}

fn each_lock_of_sites(program: &Program) {
    let rules = Rules::new(Policy::ADAPTIVE)
        .rule(Policy::QUEUED, By::Symbol("hot"))
        .rule(Policy::Libc, By::Function("make_one"))
        .rule(Policy::TTAS, By::Function("take_first"))
        .rule(Policy::TICKET, By::Symbol("second_of_pair"))
        .rule(Policy::Libc, By::Symbol("made"));
    let shown = program.run(&rules);
    assert!(shown.contains("lock policy adaptive but for 5 rules, on-cpu layer"), "{shown}");
    assert!(shown.contains("turnwise: 1 lock went by rule 0\n"), "{shown}");
    assert!(shown.contains("turnwise: 1 lock went by rule 4\n"), "the first rule decides:\n{shown}");
    assert!(shown.contains("went by no rule, so by the default: adaptive"), "{shown}");
}

#[test]
fn kinds_conditions_and_forks_under_every_policy_at_once() {
    let program = Program::build("../policies/mixed.c");
    let rules = Rules::new(Policy::ADAPTIVE);
    let rules = MIXED.into_iter().fold(rules, |rules, (name, policy)| rules.rule(policy, By::Symbol(name)));
    program.run(&rules);
}

#[test]
fn racing_first_lockers_agree() {
    let program = Program::build("../policies/race.c");
    let rules = Rules::new(Policy::ADAPTIVE)
        .rule(Policy::Libc, By::Function("lock_here"))
        .rule(Policy::TTAS, By::Function("lock_there"));
    let shown = program.run(&rules);
    let count = |rule: &str| -> u32 {
        let line = shown.lines().find(|line| line.ends_with(rule)).unwrap_or_else(|| panic!("no {rule} in:\n{shown}"));
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert_eq!(count("rule 0") + count("rule 1"), 2000, "each lock got its rule once:\n{shown}");
}

#[test]
fn modules_that_are_loaded_later() {
    let plugin = Program::shared("../policies/plugin.c");
    let program = Program::build("../policies/loads.c");
    let rules = Rules::new(Policy::ADAPTIVE).rule(Policy::Libc, By::Module("libplug*.so"));
    program.run_with(&rules, &[&plugin]);
}

/// Finding the rule that applies uses the loader, which must not need its lock: `first_use.c` says why.
#[test]
fn first_calls_while_a_constructor_waits_for_them() {
    let library = Program::shared("first_use_library.c");
    let program = Program::build("first_use.c");
    let rules = Rules::new(Policy::ADAPTIVE).rule(Policy::Libc, By::Module("libplug*.so"));
    for function in ["pthread_mutex_lock", "pthread_mutex_init", "pthread_mutex_trylock", "pthread_rwlock_rdlock"] {
        let shown = program.run_with(&rules, &[&library, function, "ours"]);
        assert!(shown.contains("turnwise: 1 lock went by rule 0\n"), "{function}: {shown}");
    }
}

#[test]
fn rules_for_other_programs_do_not_hold() {
    let program = Program::build("../policies/sites.c");
    let rules = || {
        Rules::new(Policy::TICKET).rule(Policy::QUEUED, By::Program("other*")).rule(Policy::TTAS, By::Program("sites"))
    };
    let shown = program.run_with(&rules(), &["all"]);
    assert!(shown.contains("turnwise: 0 locks went by rule 0\n"), "{shown}");
    assert!(!shown.contains("turnwise: 0 locks went by rule 1\n"), "{shown}");
}

#[test]
fn the_programs_of_the_other_tests_under_tables() {
    let sources = [
        "kinds.c",
        "timed.c",
        "exclusion.c",
        "destroy.c",
        "cond.c",
        "c11.c",
        "fork.c",
        "rwlock.c",
        "cpp.cpp",
        "signals.c",
        "cancel.c",
    ];
    for source in sources {
        let program = Program::build(source);
        for default in [Policy::ADAPTIVE, Policy::Libc] {
            program.run(&Rules::new(default));
        }
    }
}

macro_rules! conformance {
    ($($name:ident: $source:literal;)*) => {
        $(
            /// The standard's rules hold as on the C library, even if each call is dispatched by a table.
            #[test]
            fn $name() {
                let program = Program::build(concat!("../conformance/", $source));
                let expected = program.answers_on_libc();
                assert!(expected.lines().count() > 30, "{expected}");
                let mixed = Rules::new(Policy::Libc).rule(Policy::ADAPTIVE, By::Function("main"));
                for rules in [Rules::new(Policy::Libc), Rules::new(Policy::ADAPTIVE), mixed] {
                    assert_eq!(program.answers(&rules), expected);
                }
            }
        )*
    };
}

conformance! {
    conformance_of_mutexes: "mutex.c";
    conformance_of_condition_variables: "cond.c";
    conformance_of_the_mutexes_of_condition_waits: "cond_mutex.c";
    conformance_of_c11: "c11.c";
    conformance_of_forked_children: "fork.c";
}

#[test]
fn tables_that_cannot_be_used_end_the_process_before_main() {
    let program = Program::build("../policies/sites.c");
    let (status, shown) = program.run_table("/nowhere/policy.table");
    assert_eq!(status, Some(2), "{shown}");
    assert!(
        shown.contains("cannot read the policy table (errno 2)") && shown.contains("/nowhere/policy.table"),
        "{shown}"
    );
    let damaged = program.beside("damaged");
    // The contents after the number of a newer version are unspecified.
    let newer = [&b"twpolicy"[..], &u32::MAX.to_le_bytes(), &[7; 100]].concat();
    for (content, complaint) in [
        (&b"twpolicy\x01"[..], "is damaged"),
        (b"hello, world", "is not a table"),
        (b"", "is not a table"),
        (&newer, "is from another version of turnwise"),
    ] {
        std::fs::write(&damaged, content).unwrap();
        let (status, shown) = program.run_table(damaged.to_str().unwrap());
        assert_eq!(status, Some(2), "{shown}");
        assert!(shown.contains(complaint) && shown.contains("turnwise run --policy"), "{shown}");
    }
}
