//! Hostile input for the command line, for settings, and for policy files.

use crate::policy_file::PolicyFile;
use crate::setting::{Assignment, shown, values};
use crate::{Cli, LAB};
use turnwise_fuzz::{check, words};
use turnwise_present::usage;

const POLICY: &str = "\
default = \"libc\"

[[rule]] # the cache
lock = \"adaptive\"
program = \"/opt/*/server\"
symbol = \"cache::lock+8\"
spin = \"20us\"
fair-after = \"1ms\"

[[rule]]
lock = \"mcs\"
module = \"lib*.so\"
function = \"*alloc?\"

[[rule]]
lock = \"libc\"
line = \"cache.c:10-20\"
";

#[test]
fn fuzz_policy() {
    check("policy", 3000, vec![POLICY.into()], |input| {
        match PolicyFile::parse("p.toml", String::from_utf8_lossy(input).into_owned()) {
            Ok(file) => {
                for rule in &file.rules {
                    std::hint::black_box((rule.label(&file.origin), rule.conditions()));
                }
            }
            Err(error) => {
                let reported = format!("{error:#}");
                assert!(reported.contains("p.toml"), "it does not say where: {reported}");
                let obeyed = |c: char| c.is_control() && c != '\n';
                assert!(!reported.contains(obeyed), "a terminal would obey: {reported:?}");
            }
        }
    });
}

#[test]
fn fuzz_setting() {
    let typed = ["cache=spin=off,fair-after=1ms", "*=spin=1.5us,yield-after=1s", "map<a=b>=yield-after=500ms"];
    check("setting", 5000, typed.map(Into::into).to_vec(), |input| {
        if let Ok(read) = String::from_utf8_lossy(input).parse::<Assignment>() {
            assert_eq!(values(&shown(&read.values)), Ok(read.values), "what is shown can be typed");
        }
    });
}

#[test]
fn fuzz_command() {
    let lines = [
        "run --policy p.toml -- ./server -v",
        "compare --runs 3 --lock adaptive,ttas --metric qps=[0-9]+ --timeout 2 -- ./server",
        "profile --json f.json --html f.html --futex --seconds 2 --pid 17",
        "top --once --openmetrics :9400 --interval 2 server",
        "tune --set cache=spin=off --try 5 17",
        "policy check p.toml ./server",
        "why --json 17",
    ];
    check("command", 300, lines.map(|line| line.replace(' ', "\0").into()).to_vec(), |input| {
        if let Err(error) = usage::try_parse::<Cli>(words("turnwise", input), LAB) {
            std::hint::black_box(error.render().to_string());
        }
    });
}
