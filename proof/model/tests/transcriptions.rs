//! What the checks transcribe is the same as what ships: function by function, apart from comments, and from where the
//! words are.

use std::fs;
use std::path::Path;

/// Returns a function's body without comments and white space. `name` may begin with that of its type.
fn body(file: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let (of, name) = name.rsplit_once("::").map_or((0, name), |(of, name)| {
        (code.find(&format!("impl {of} {{")).unwrap_or_else(|| panic!("{file} has no {of}")), name)
    });
    let start = [format!("fn {name}("), format!("fn {name}<")].iter().find_map(|head| code[of..].find(head.as_str()));
    let start = of + start.unwrap_or_else(|| panic!("{file} has no function {name}"));
    let open = start + code[start..].find('{').expect("a function has a body");
    let mut depth = 0;
    let end = code[open..].find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    let body = &code[open..open + end.expect("a body ends")];
    body.chars().filter(|c| !c.is_whitespace()).collect()
}

/// `names` are the same in both files, but for these words of the shipped one.
fn agree(shipped: &str, transcribed: &str, names: &[&str], words: &[(&str, &str)]) {
    for name in names {
        let mut expected = body(shipped, name);
        for (theirs, ours) in words {
            expected = expected.replace(theirs, ours);
        }
        assert_eq!(body(transcribed, name), expected, "{name} in {shipped} and in {transcribed}");
    }
}

#[test]
fn slots() {
    let words = &[("FREE.", "self.free."), ("FRESH.", "self.fresh."), ("TABLE[", "self.table[")];
    let transcribed = "proof/model/src/explicit/checks/slots.rs";
    agree("crates/turnwise/src/platform/native/thread.rs", transcribed, &["pop_free", "push_free"], words);
}

#[test]
fn thread_exit() {
    let transcribed = "proof/model/src/explicit/checks/slots.rs";
    let shipped = "crates/turnwise/src/platform/native/linux/rseq.rs";
    let names = ["Area::withdraw", "Area::is_observed", "Area::is_of_this_process", "Area::cpu"];
    agree(shipped, transcribed, &names, &[]);
}
