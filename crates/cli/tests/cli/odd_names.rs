//! Names that a terminal or a browser would interpret: of files, threads and arguments.

use crate::common::{compiled, expect, expect_of, output, scratch, shown, text, turnwise};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Returns whether a terminal interprets a character.
fn is_obeyed(c: char) -> bool {
    c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c)
}

#[test]
fn names_are_text_wherever_they_are_shown() {
    let folder = scratch();
    let odd = OsStr::from_bytes(b"\x1b]0;t\x07<script>alert(1)<!--\"'&\xff");
    let program = folder.path().join(odd);
    std::fs::rename(compiled(folder.path(), "odd_names"), &program).unwrap();
    let (json, page) = (folder.path().join("json"), folder.path().join("html"));
    for mode in [&[][..], &["--lock", "adaptive"], &["--waits"], &["--futex"]] {
        let mut command =
            turnwise(&[&["profile", "--json", shown(&json), "--html", shown(&page)], mode, &["--"]].concat());
        let ended = output(command.arg(&program).arg("</script>\u{202e}\u{1b}[2J"));
        if mode == ["--futex"] && ended.status.code() == Some(2) {
            println!("SKIPPED: {}", text(&ended.stderr));
            continue;
        }
        assert_eq!(ended.status.code(), Some(0), "{mode:?} {ended:?}");
        let report = text(&ended.stdout);
        assert!(!report.contains(is_obeyed) && report.contains("[2J</"), "{mode:?} {report:?}");
        let written = std::fs::read_to_string(&json).unwrap();
        assert!(!written.contains(is_obeyed), "{mode:?}");
        // It refuses text that a terminal would interpret.
        let (again, _) = expect(0, &["profile", "--from", shown(&json)]);
        assert_eq!(again, report, "{mode:?}");
        let html = std::fs::read_to_string(&page).unwrap();
        assert_eq!(html.matches("</script>").count(), 2, "the page's own");
        let (_, data) = html.rsplit_once("id=\"data\"").unwrap();
        let data = data.split("</script>").next().unwrap();
        assert!(!data[1..].contains('<') && !html.contains(is_obeyed), "{mode:?}");
    }
    let mut command = turnwise(&["run", "--"]);
    expect_of(0, command.arg(&program).env("XDG_RUNTIME_DIR", folder.path()));
    let view = std::fs::read_dir(folder.path().join("turnwise")).unwrap().next().unwrap().unwrap();
    let pid = view.file_name().to_str().unwrap().split('-').next().unwrap().to_owned();
    for arguments in [&["top", "--once"][..], &["top", "--once", "--json"], &["why"], &["why", "--json"]] {
        let mut command = turnwise(&[arguments, &[&pid]].concat());
        let (shown, _) = expect_of(0, command.env("XDG_RUNTIME_DIR", folder.path()));
        assert!(!shown.contains(is_obeyed), "{arguments:?} {shown:?}");
        let is_json = arguments.contains(&"--json");
        assert!(is_json || shown.contains("\nNEXT\n  turnwise profile -- CMD\n"), "{arguments:?} {shown}");
    }
}
