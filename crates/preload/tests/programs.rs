//! C and C++ programs under the preload library, with every policy, and once without it: their expectations must match
//! the C library's behaviour.

mod harness;
mod starts;
mod symbols;

use harness::{Build, POLICIES, Program, library, tool};
use std::process::Command;
use symbols::Symbols;

/// Runs a program on the C library's locks and under every policy.
fn everywhere(program: &Program) {
    program.run_on_libc();
    for policy in POLICIES {
        program.run(policy);
    }
}

macro_rules! programs {
    ($($name:ident: $source:literal,)*) => {
        $(
            #[test]
            fn $name() {
                everywhere(&Build::new($source).program());
            }
        )*
    };
}

programs! {
    kinds_and_errors: "kinds.c",
    timed_locks: "timed.c",
    mutual_exclusion: "exclusion.c",
    destroy_right_after_unlock: "destroy.c",
    condition_variables: "cond.c",
    destroy_of_the_mutex_of_a_wait: "destroy_waited.c",
    cancelled_waits: "cancel.c",
    one_cancelled_of_many_that_wait: "cancel_one.c",
    cancelled_waits_of_idle_threads: "cancel_idle.c",
    exit_handlers_and_destructors: "exit.c",
    foreign_objects_reach_the_c_library: "foreign.c",
    c11_threads: "c11.c",
    keys_of_thread_specific_data: "keys.c",
    symbol_versions: "versions.c",
    cpp_library: "cpp.cpp",
    readers_writer_locks: "rwlock.c",
    readers_writer_exclusion: "rwlock_stress.c",
    readers_that_spread: "rwlock_spread.c",
    cpp_shared_mutexes: "rwlock_cpp.cpp",
    a_million_mutexes: "many.c",
    tries_in_signal_handlers: "signals.c",
    fork_with_threads: "fork.c",
    fork_with_a_pending_handoff: "fork_requested.c",
    fork_with_threads_of_two_priorities: "fork_priority.c",
    tries_after_a_fork_with_a_pending_handoff: "fork_tries.c",
    cancelled_elsewhere_with_locks: "cancel_elsewhere.c",
    spin_locks_with_too_many_threads: "spin_speed.c",
    threads_that_a_live_view_watches: "live_speed.c",
    shared_with_a_process_that_is_not_preloaded: "processes.c",
}

/// Some servers turn them off, and some allocators register their own areas instead of the C library's.
#[test]
fn without_restartable_sequences_of_the_c_library() {
    const OFF: &str = "glibc.pthread.rseq=0";
    for program in ["exclusion.c", "own_rseq.c"] {
        let program = Build::new(program).program().with("GLIBC_TUNABLES", OFF);
        program.run_on_libc();
        let shown = program.run("adaptive");
        assert!(shown.contains("on-cpu layer none"), "{shown}");
    }
    let program = Build::new("own_rseq.c").program();
    program.run_on_libc();
    program.run("adaptive");
}

/// The two may be loaded in either order.
#[test]
fn beside_a_library_that_fakes_the_clock() {
    let faking = Build::new("faked_library.c").shared("faked").display().to_string();
    let ours = library().display().to_string();
    for ahead in ["3600", "-3600"] {
        let program = Build::new("faked.c").program().with("AHEAD", ahead);
        program.run_on_libc_with(&faking);
        program.run_with("adaptive", &format!("{ours}:{faking}"));
        program.run_with("adaptive", &format!("{faking}:{ours}"));
    }
}

/// A signal handler jumps out of a wait for a lock. In a queue of spinners each round takes time slices.
#[test]
fn jumps_out_of_lock_calls() {
    let program = Build::new("jump_out.c").program();
    program.run_with_arguments(None, &["300"]);
    for (policy, rounds) in [("adaptive", "300"), ("ttas", "100"), ("queued", "20")] {
        program.run_with_arguments(Some(policy), &[rounds]);
    }
    program.run_with_arguments(Some("adaptive"), &["100", "timed"]);
}

/// A filter may do anything to system calls that the program does not make with the C library's locks. Turns under a
/// spin policy and queues of spinners are left out: they would take minutes.
#[test]
fn filtered_system_calls() {
    let program = Build::new("sandboxed.c").program();
    for (policy, kinds) in [("adaptive", &["mutex", "rwlock", "cond", "spin"][..]), ("ttas", &["mutex"])] {
        for kind in kinds {
            program.run_with_arguments(None, &["before", kind, "syscall", "kill"]);
            for (when, how) in [("before", "syscall"), ("after", "syscall"), ("after", "prctl")] {
                program.run_with_arguments(Some(policy), &[when, kind, how, "kill"]);
            }
        }
    }
    for action in ["trap", "errno"] {
        program.run_with_arguments(Some("adaptive"), &["after", "mutex", "syscall", action]);
    }
}

/// A program with which glibc before 2.41 loses a signal: `proof/wakeup/README.md`. Distributions have mended some of
/// these versions, but not Debian 12's.
#[test]
fn no_signal_is_lost_wherever_a_waiter_is_stopped() {
    let program = Build::new("../../../../proof/wakeup/lost.c").program();
    let alone = program.command().arg(program.path()).args(["-i", "2"]).output().expect("timeout of coreutils");
    let said = String::from_utf8_lossy(&alone.stdout);
    println!("on the C library: {said}");
    if alone.status.code() == Some(77) {
        return; // it has said why
    }
    if said.starts_with("glibc 2.36\n") {
        assert!(
            alone.status.code() == Some(1) && said.contains("so the signal before was lost"),
            "{}: {said}",
            alone.status
        );
    }
    for policy in POLICIES {
        program.run_with_arguments(Some(policy), &["-t", "2", "-i", "30"]);
    }
}

/// For a moment; `proof/wakeup/README.md` has the long form.
#[test]
fn no_signal_of_very_many_is_lost() {
    let program = Build::new("../../../../proof/wakeup/many.c").program();
    for policy in POLICIES {
        program.run_with_arguments(Some(policy), &["1000000000", "1"]);
    }
}

/// The C library's limit is different, and the policies do not differ here.
#[test]
fn as_many_read_locks_as_there_can_be() {
    Build::new("rwlock_full.c").program().run("adaptive");
}

/// Not under the spin policies, whose queues wait for each thread in them.
#[test]
fn waiters_that_are_stopped() {
    let program = Build::new("stopped.c").program();
    program.run_on_libc();
    program.run("adaptive");
}

#[test]
fn fork_with_contended_locks() {
    let handlers = Build::new("fork_handlers_library.c").shared("fork_handlers");
    everywhere(&Build::new("fork_contended.c").link(&handlers).program());
}

/// Not under the spin policies: with 2000 spinners for each CPU each wait costs countless time slices.
#[test]
fn four_thousand_threads() {
    let program = Build::new("threads.c").program();
    program.run_on_libc();
    program.run("adaptive");
}

#[test]
fn libraries_that_come_and_go() {
    let library = Build::new("dlopen_library.c").shared("comes_and_goes");
    everywhere(&Build::new("dlopen.c").program().with("DLOPEN_LIBRARY", &library.display().to_string()));
}

/// Allocators as people preload them, before and after us.
#[test]
fn allocators_that_lock() {
    for name in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"] {
        let Some(allocator) = shared_object(name) else {
            println!("SKIPPED: no {name} here (Debian: libjemalloc2, libtcmalloc-minimal4, libmimalloc2.0)");
            continue;
        };
        let program = Build::new("allocator.c").program().with("ALLOCATOR", name.split('.').next().expect("a name"));
        program.run_on_libc_with(name);
        for policy in POLICIES {
            program.run_with(policy, &format!("{allocator}:{}", library().display()));
            program.run_with(policy, &format!("{}:{allocator}", library().display()));
        }
    }
}

/// Returns the name by which the loader knows a shared object, if there is one.
fn shared_object(name: &'static str) -> Option<&'static str> {
    if std::env::var_os("CROSS_COMPILE").is_some() {
        return None; // this machine's would be found
    }
    let output = Command::new("/sbin/ldconfig").arg("-p").output().ok()?;
    String::from_utf8_lossy(&output.stdout).contains(name).then_some(name)
}

#[test]
fn a_forked_child_owns_what_its_thread_owned() {
    let program = Build::new("fork_owner.c").program();
    for policy in POLICIES {
        program.run(policy);
    }
}

#[test]
fn locks_taken_before_our_constructor() {
    let early = Build::new("early_library.c").shared("early");
    let program = Build::new("early.c").link(&early).program();
    program.run_on_libc();
    for policy in POLICIES {
        let output = program.run(policy);
        let (before, after) = (output.find("early constructor"), output.find("turnwise: version"));
        assert!(before < after && before.is_some(), "the early constructor did not run first:\n{output}");
    }
}

#[test]
fn an_allocator_that_locks() {
    let allocator = Build::new("malloc_library.c").shared("allocator");
    let program = Build::new("malloc.c").link(&allocator).program();
    everywhere(&program);
    for policy in POLICIES {
        program.run_with(policy, &format!("{}:{}", allocator.display(), library().display()));
    }
}

#[test]
fn an_unknown_policy_ends_the_process_before_main() {
    let program = Build::new("hello.c").program();
    let mut command = Command::new(program.path());
    let output = command.env("LD_PRELOAD", library()).env("TURNWISE_LOCK", "adaptve").output().expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(output.stdout.is_empty());
    assert_eq!(error, "turnwise: TURNWISE_LOCK=adaptve names no policy; take one of: adaptive queued ttas ticket\n");
}

#[test]
fn silent_unless_asked() {
    let program = Build::new("hello.c").program();
    for lock in ["", "adaptive", "ticket", "mcs"] {
        let mut command = Command::new(program.path());
        let output = command.env("LD_PRELOAD", library()).env("TURNWISE_LOCK", lock).output().expect("it starts");
        assert!(output.status.success() && output.stdout == b"main ran\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn an_old_name_of_a_policy_is_that_policy() {
    let program = Build::new("hello.c").program();
    let output = Command::new(program.path())
        .envs([("LD_PRELOAD", library().as_os_str()), ("TURNWISE_LOCK", "mcs".as_ref())])
        .env("TURNWISE_VERBOSE", "1")
        .output()
        .expect("it starts");
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && shown.contains(", lock policy queued,"), "{shown}");
}

/// While `dlopen` runs a constructor it has the loader's lock, and the constructor waits for a thread that calls us.
#[test]
fn first_calls_while_a_constructor_waits_for_them() {
    let library = Build::new("first_use_library.c").shared("first_use").display().to_string();
    let mut program = Build::new("first_use.c").program().with("LIBRARY", &library);
    for objects in ["ours", "foreign", "taken"] {
        // A thread that calls `dlclose` takes the loader's lock.
        for function in EXPORTS.split_whitespace().filter(|name| *name != "dlclose") {
            println!("{function} on {objects}"); // shows which one it was if it hangs
            program = program.with("FUNCTION", function).with("OBJECTS", objects);
            program.run("adaptive");
        }
    }
}

/// The symbols that the library may export: any other would shadow one of the program's.
const EXPORTS: &str = "
    pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock
    pthread_mutex_clocklock pthread_mutex_unlock
    __pthread_mutex_init __pthread_mutex_destroy __pthread_mutex_lock __pthread_mutex_trylock __pthread_mutex_unlock
    pthread_cond_init pthread_cond_destroy pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait
    pthread_cond_signal pthread_cond_broadcast
    pthread_rwlock_init pthread_rwlock_destroy pthread_rwlock_rdlock pthread_rwlock_tryrdlock pthread_rwlock_timedrdlock
    pthread_rwlock_clockrdlock pthread_rwlock_wrlock pthread_rwlock_trywrlock pthread_rwlock_timedwrlock
    pthread_rwlock_clockwrlock pthread_rwlock_unlock
    __pthread_rwlock_init __pthread_rwlock_destroy __pthread_rwlock_rdlock __pthread_rwlock_tryrdlock
    __pthread_rwlock_wrlock __pthread_rwlock_trywrlock __pthread_rwlock_unlock
    pthread_spin_lock
    pthread_key_create __pthread_key_create pthread_key_delete pthread_setspecific tss_create tss_delete tss_set
    pthread_create thrd_create pthread_join pthread_timedjoin_np pthread_clockjoin_np pthread_barrier_wait pthread_once
    sem_wait sem_timedwait sem_clockwait prctl syscall
    chroot setuid seteuid setreuid setresuid setrlimit setrlimit64 dlclose
    execve execv execvp execvpe execl execlp execle fexecve execveat posix_spawn posix_spawnp
    mtx_init mtx_destroy mtx_lock mtx_trylock mtx_timedlock mtx_unlock
    cnd_init cnd_destroy cnd_wait cnd_timedwait cnd_signal cnd_broadcast \
    turnwise_thread_events turnwise_mutex_trylock turnwise_rwlock_trywrlock turnwise_prctl turnwise_syscall";

/// The exports have the symbol versions that the C library has for them: a reference to any of them finds us.
#[test]
fn exports_the_interposed_symbols_and_nothing_else() {
    let ours = Symbols::of(&library());
    let mut expected: Vec<&str> = EXPORTS.split_whitespace().collect();
    expected.sort_unstable();
    assert_eq!(ours.names(), expected);
    let theirs = Symbols::of_c_library();
    for name in expected {
        // Our own calls do not use these: a library before ours that changes them also affects us.
        let by_version_alone = ["prctl", "syscall"].contains(&name);
        assert_eq!(
            ours.without_asking(name),
            usize::from(!by_version_alone),
            "what {name} without a version is: {:?}",
            ours.of_name(name)
        );
        let missing: Vec<_> = theirs.of_name(name).difference(&ours.of_name(name)).cloned().collect();
        assert!(missing.is_empty(), "versions of {name} that the C library has and we do not: {missing:?}");
        assert!(name.starts_with("turnwise_") || !theirs.of_name(name).is_empty(), "the C library has no {name}");
    }
}

/// The table of thread slots is a megabyte, which every process would have to copy if it were not zero at the start.
#[test]
fn initialised_data_is_small() {
    let output = Command::new(tool("size")).arg(library()).output().expect("size of binutils");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("numbers");
    let data: u32 = text.split_whitespace().nth(7).and_then(|data| data.parse().ok()).expect("the second column");
    assert!(data < 64 << 10, "{data} bytes of initialised data:\n{text}");
}

/// Each further library would cost every process that starts a tenth of a millisecond.
#[test]
fn needs_no_library_but_the_c_librarys() {
    let output = Command::new(tool("objdump")).arg("-p").arg(library()).output().expect("objdump of binutils");
    let text = String::from_utf8(output.stdout).expect("text");
    let needed: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("NEEDED")).map(str::trim).collect();
    let is_expected = |name: &&str| name.starts_with("libc.so.") || name.starts_with("ld-linux");
    assert!(!needed.is_empty() && needed.iter().all(is_expected), "{needed:?}");
}
