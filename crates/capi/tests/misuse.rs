//! What the C functions do when they are used wrongly: nothing, an error, a lock that stays taken, or a message and the
//! end of the process.

mod build;

use build::{Compiler, Link, capi};

/// The messages of the calls that abort, by their numbers in the program from 1 on: a count never wraps.
const MESSAGES: [&str; 8] = [NONE, NONE, NONE, NONE, NONE, TOO_MANY, TOO_MANY, TOO_MANY];
const NONE: &str = "a LockRef without references was used";
const TOO_MANY: &str = "more references than a LockRef can count";

#[test]
fn misuse_returns_or_aborts_with_a_message() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("misuse");
    let compiler = Compiler::of("c").into_iter().next().expect("gcc");
    compiler.compile(&capi("tests/c/misuse.c"), &program, Link::Shared);
    Link::Shared.run(&program);
    for (number, message) in (1..).zip(MESSAGES) {
        let mut command = Link::Shared.command(&program);
        let output = command.arg(number.to_string()).env("RUST_BACKTRACE", "0").output().expect("the program starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(message), "{number}: {}: {error}", output.status);
    }
}
