//! Scripts of `packaging` that check what other programs print, with programs that only pretend to be those.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Returns whether a script of `packaging` succeeds, and what it prints, where `name` is a program that prints `text`
/// and ends with `status`.
fn script(words: &[&str], name: &str, text: &str, status: u8) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(name);
    std::fs::write(&program, format!("#!/bin/sh\ncat <<'END'\n{text}END\nexit {status}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging");
    let out = Command::new("sh").args(words).current_dir(packaging).env("PATH", path).output().unwrap();
    (out.status.success(), String::from_utf8(out.stdout).unwrap())
}

#[test]
fn later_symbols_and_missing_ones_are_found() {
    let known = "\
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.2.5) read
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.28) thrd_exit
0000000000000000      DF *UND*\t0000000000000000 (GCC_3.0) _Unwind_Resume
0000000000000000  w   D  *UND*\t0000000000000000              __gmon_start__
000000000007eab0 g    DF .text\t0000000000000070  Base        tw_cond_signal
";
    let wrong = "\
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.35) _dl_find_object
0000000000000000      DF *UND*\t0000000000000000  GLIBC_2.100  log
0000000000000000      D  *UND*\t0000000000000000              gettid
";
    let of = |listing: &str| script(&["glibc.sh", "a", "b"], "objdump", listing, 0);
    assert_eq!(of(known), (true, "2 programs and libraries ask for glibc 2.28 or older\n".to_owned()));
    let asks = ["_dl_find_object", "log", "gettid"].map(|symbol| format!("a asks for {symbol}\n")).concat();
    assert_eq!(of(&format!("{known}{wrong}")), (false, asks));
    assert_eq!(of(""), (false, "a needs nothing of any library\n".to_owned()));
}

#[test]
fn each_error_counts_and_the_summary_does_not() {
    let of = |text: &str, status| script(&["refused.sh"], "cargo", text, status);
    let said = "   Compiling a v0.1.0\nerror: live views and what is loaded into programs need x\n  --> a.rs:1:1\n\
                warning: three\nerror: could not compile `a` (lib) due to 2 previous errors\n";
    assert!(of(said, 101).0);
    let (ok, printed) = of(&format!("{said}error[E0308]: two\n"), 101);
    let errors = "error: live views and what is loaded into programs need x\nerror[E0308]: two\n";
    assert!(!ok && printed.ends_with(errors), "{printed}");
    assert!(!of("error: one\n", 101).0 && !of("", 101).0 && !of(said, 0).0);
}
