//! The TOML of a policy file.

use super::rule::{Rule, Subject};
use crate::policy::DEFAULT;
use crate::setting;
use anyhow::{Error, Result, anyhow};
use serde::Deserialize;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use turnwise_live::{Setting, Values};
use turnwise_preload_abi::{Policy, RULES_MAX};
use turnwise_present::names::suggestion;
use turnwise_present::toml_file::{Advice, Problem, explain, line_at, read, unusable};

/// The name of such files in messages.
const SORT: &str = "policy file";

const ADVICE: Advice = Advice {
    wrong_kind: "names and locks are text in quotes; rules begin with a line `[[rule]]`",
    missing: |_| "add it",
};

/// A policy file that can be used.
pub(crate) struct PolicyFile {
    /// The path, as the user gave it.
    pub(crate) origin: String,
    pub(crate) text: String,
    /// The policy of locks that no rule names.
    pub(crate) default: Policy,
    pub(crate) rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    default: Option<Spanned<String>>,
    #[serde(default)]
    rule: Vec<Spanned<RawRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    lock: Option<Spanned<String>>,
    program: Option<Spanned<String>>,
    module: Option<Spanned<String>>,
    symbol: Option<Spanned<String>>,
    function: Option<Spanned<String>>,
    line: Option<Spanned<String>>,
    spin: Option<Spanned<String>>,
    #[serde(rename = "fair-after")]
    fair_after: Option<Spanned<String>>,
    #[serde(rename = "yield-after")]
    yield_after: Option<Spanned<String>>,
}

impl PolicyFile {
    /// Reads a file; an error lists every problem with its line.
    pub(crate) fn read(path: &Path) -> Result<PolicyFile> {
        Self::parse(&path.display().to_string(), read(SORT, path).map_err(Error::msg)?)
    }

    /// Parses a text, named `origin` in messages; an error lists every problem with its line.
    pub(crate) fn parse(origin: &str, text: String) -> Result<PolicyFile> {
        let (default, rules) = parse(&text).map_err(|problems| anyhow!(unusable(SORT, &problems, origin, &text)))?;
        Ok(PolicyFile { origin: origin.to_owned(), text, default, rules })
    }
}

/// Returns the default policy and the rules.
fn parse(text: &str) -> Result<(Policy, Vec<Rule>), Vec<Problem>> {
    let raw: RawFile = toml::from_str(text).map_err(|error| vec![explain(&error, text, &ADVICE).1])?;
    let mut problems = Vec::new();
    let default = raw.default.as_ref().map_or(Ok(DEFAULT), policy_of).unwrap_or_else(|problem| {
        problems.push(problem);
        DEFAULT
    });
    let mut rules: Vec<Rule> = Vec::new();
    for raw in raw.rule {
        let place = raw.span();
        match rule(raw.into_inner(), default, place, text) {
            Ok(rule) => {
                if let Some(earlier) = rules.iter().find(|earlier| earlier.covers(&rule)) {
                    let what =
                        format!("this rule can never match: the one in line {} takes all its locks", earlier.line);
                    problems.push(Problem::error(
                        rule.place.clone(),
                        what,
                        "the first rule that matches decides: move this one up, or remove it",
                    ));
                }
                rules.push(rule);
            }
            Err(found) => problems.extend(found),
        }
    }
    if let Some(beyond) = rules.get(RULES_MAX) {
        let what = format!("more than {RULES_MAX} rules");
        problems.push(Problem::error(beyond.place.clone(), what, "join rules with patterns: `*` stands for any text"));
    }
    if problems.is_empty() { Ok((default, rules)) } else { Err(problems) }
}

fn rule(raw: RawRule, default: Policy, place: Range<usize>, text: &str) -> Result<Rule, Vec<Problem>> {
    let (values, mut problems) = settings(&raw);
    let RawRule { lock, program, module, symbol, function, line, .. } = raw;
    for value in [&program, &module, &symbol, &function, &line].into_iter().flatten() {
        if value.get_ref().trim().is_empty() {
            problems.push(Problem::error(
                value.span(),
                "an empty name",
                "give a name, or remove the key: without it, any name matches",
            ));
        }
    }
    let policy = match &lock {
        Some(name) => policy_of(name),
        None if !values.is_empty() => Ok(default),
        None => Err(Problem::error(
            place.clone(),
            "the rule has no `lock`",
            format!("add `lock = \"…\"`; {}", suggestion("", &Policy::ALL.map(Policy::name))),
        )),
    };
    if let (Ok(policy), false) = (&policy, values.is_empty() || matches!(policy, Ok(Policy::ADAPTIVE))) {
        let what = format!("settings have no effect on the lock `{policy}`");
        problems.push(Problem::error(place.clone(), what, "remove them, or write `lock = \"adaptive\"`"));
    }
    let subject = subject(symbol, function, line);
    if matches!(subject, Ok(Subject::All)) && program.is_none() && module.is_none() {
        let remedy = "add one of `symbol`, `function`, `line`, `module`, `program`; for all locks, set `default` \
                      above the rules";
        problems.push(Problem::error(place.clone(), "this rule matches no lock", remedy));
    }
    match (policy, subject) {
        (Ok(policy), Ok(subject)) if problems.is_empty() => {
            let line = line_at(text.as_bytes(), place.start);
            Ok(Rule { policy, values, program, module, subject, place, line })
        }
        (policy, subject) => {
            problems.extend(policy.err());
            problems.extend(subject.err());
            Err(problems)
        }
    }
}

/// Reads a rule's settings, and the errors in them.
fn settings(raw: &RawRule) -> (Values, Vec<Problem>) {
    let written =
        [(Setting::Spin, &raw.spin), (Setting::FairAfter, &raw.fair_after), (Setting::YieldAfter, &raw.yield_after)];
    let (mut values, mut problems) = (Values::default(), Vec::new());
    for (setting, value) in written {
        let Some(value) = value else { continue };
        if let Err(what) = setting::set(&mut values, setting, value.get_ref()) {
            problems.push(Problem::error(value.span(), what, setting.about()));
        }
    }
    (values, problems)
}

fn subject(
    symbol: Option<Spanned<String>>,
    function: Option<Spanned<String>>,
    line: Option<Spanned<String>>,
) -> Result<Subject, Problem> {
    match (symbol, function, line) {
        (None, None, None) => Ok(Subject::All),
        (Some(written), None, None) => {
            let (name, text) = symbol_of(written.get_ref());
            let distance = text.map(|text| {
                let what = format!("{text:?} is not a number of bytes");
                number(text).ok_or_else(|| Problem::error(written.span(), what, "write `name+40` or `name+0x28`"))
            });
            Ok(Subject::Symbol(Spanned::new(written.span(), name.to_owned()), distance.transpose()?))
        }
        (None, Some(name), None) => Ok(Subject::Function(name)),
        (None, None, Some(written)) => lines(written),
        (symbol, function, line) => {
            let last = [line, function, symbol].into_iter().flatten().next();
            let place = last.map_or(0..0, |value| value.span());
            Err(Problem::error(
                place,
                "a rule may have only one of `symbol`, `function` and `line`",
                "a lock is a variable (`symbol`), or is known by the call that makes it (`function` or `line`): make \
                 two rules",
            ))
        }
    }
}

/// Returns a symbol's name, and the part after a plus sign. (`operator+` has no such part.)
pub(crate) fn symbol_of(written: &str) -> (&str, Option<&str>) {
    match written.rsplit_once('+') {
        Some((name, distance)) if distance.starts_with(|first: char| first.is_ascii_digit()) => (name, Some(distance)),
        _ => (written, None),
    }
}

/// Reads a number of bytes, in decimal or after `0x`.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses `cache.c:120` or `src/cache.c:100-140`.
fn lines(written: Spanned<String>) -> Result<Subject, Problem> {
    let parsed = written.get_ref().rsplit_once(':').and_then(|(file, range)| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((file.to_owned(), first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
    });
    match parsed {
        Some((file, first, last)) if !file.is_empty() && first > 0 && first <= last => {
            Ok(Subject::Lines { written, file, first, last })
        }
        _ => {
            let what = format!("{:?} is not a line of a source file", written.get_ref());
            Err(Problem::error(written.span(), what, "write `cache.c:120`, or `src/cache.c:100-140` for several lines"))
        }
    }
}

fn policy_of(name: &Spanned<String>) -> Result<Policy, Problem> {
    Policy::by_name(name.get_ref()).ok_or_else(|| {
        let what = format!("no such lock: {:?}", name.get_ref());
        Problem::error(name.span(), what, suggestion(name.get_ref(), &Policy::ALL.map(Policy::name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn complaint(text: &str, parts: &[&str]) {
        let Err(error) = PolicyFile::parse("p.toml", text.to_owned()) else { panic!("{text:?} was taken") };
        let shown = error.to_string();
        for part in parts {
            assert!(shown.contains(part), "no {part:?} in:\n{shown}");
        }
    }

    #[test]
    fn reads_what_the_manual_shows() {
        let text = "default = \"libc\"\n\n[[rule]]\nsymbol = \"cache+0x28\"\nlock = \"queued\"\n\n\
                    [[rule]]\nprogram = \"srv*\"\nline = \"a/b.c:7-9\"\nlock = \"ttas\"\n";
        let file = PolicyFile::parse("p.toml", text.to_owned()).unwrap();
        assert_eq!((file.default, file.rules.len()), (Policy::Libc, 2));
        assert!(matches!(&file.rules[0].subject, Subject::Symbol(name, Some(0x28)) if name.get_ref() == "cache"));
        assert!(matches!(&file.rules[1].subject, Subject::Lines { first: 7, last: 9, file, .. } if file == "a/b.c"));
        assert_eq!(file.rules[1].label("p.toml"), "p.toml:7 (program srv*, line a/b.c:7-9): ttas");
        let text = "[[rule]]\nsymbol = \"cache\"\nspin = \"off\"\nfair-after = \"1ms\"\n";
        let rule = &PolicyFile::parse("p.toml", text.to_owned()).unwrap().rules[0];
        assert_eq!((rule.policy, setting::shown(&rule.values).as_str()), (Policy::ADAPTIVE, "spin=off,fair-after=1ms"));
        assert_eq!(PolicyFile::parse("p", String::new()).unwrap().default, Policy::ADAPTIVE);
    }

    #[test]
    fn says_what_is_wrong_where_and_what_to_do() {
        complaint("defalt = \"libc\"", &["no such key: `defalt`", "p.toml:1:1", "did you mean `default`?"]);
        complaint("[[rules]]\nlock = \"queued\"", &["no such key: `rules`", "did you mean `rule`?"]);
        complaint("[[rule]]\nsymbl = \"x\"\nlock = \"queued\"", &["no such key: `symbl`", "p.toml:2:1", "`symbol`"]);
        complaint("default = \"adaptve\"", &["no such lock: \"adaptve\"", "p.toml:1:11", "did you mean `adaptive`?"]);
        complaint("[[rule]]\nsymbol = \"x\"", &["the rule has no `lock`", "p.toml:1:1", "`ticket`"]);
        complaint("[[rule]]\nlock = \"queued\"", &["matches no lock", "add one of `symbol`"]);
        complaint("[[rule]]\nlock = \"queued\"\nsymbol = \" \"", &["an empty name", "p.toml:3:10"]);
        complaint("[[rule]]\nlock = 3\nsymbol = \"x\"", &["invalid type", "p.toml:2:8", "text in quotes"]);
        complaint("[[rule]]\nsymbol = \"x\"\nspin = \"1h\"", &["with its unit", "p.toml:3:8"]);
        complaint("[[rule]]\nsymbol = \"x\"\nfair-after = \"9s\"", &["expected 0 to 1s", "hand-off"]);
        let none = "[[rule]]\nsymbol = \"x\"\nlock = \"queued\"\nspin = \"off\"";
        complaint(none, &["no effect on the lock `queued`", "adaptive"]);
        complaint("rule = \"x", &["not TOML", "p.toml:1:"]);
        complaint("[[rule]]\nlock = \"queued\"\nline = \"a.c\"", &["is not a line of a source file", "`cache.c:120`"]);
        complaint("[[rule]]\nlock = \"queued\"\nline = \"a.c:9-7\"", &["is not a line of a source file"]);
        complaint("[[rule]]\nlock = \"queued\"\nsymbol = \"a+9z\"", &["is not a number of bytes"]);
        let two = "[[rule]]\nlock = \"queued\"\nsymbol = \"a\"\nfunction = \"f\"";
        complaint(two, &["may have only one of", "p.toml:4:12"]);
    }

    #[test]
    fn other_bytes_than_utf_8_are_reported_with_their_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"default = \"libc\"\n# caf\xe9\n").unwrap();
        let Err(error) = PolicyFile::read(file.path()) else { panic!("it was taken") };
        assert!(error.to_string().contains("line 2 is not valid UTF-8"), "{error}");
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        complaint("default = \"x\"\n[[rule]]\nlock = \"y\"\n", &["\"x\"", "\"y\"", "matches no lock"]);
    }

    #[test]
    fn rules_that_can_never_match_are_refused() {
        let pair = |first: &str, second: &str| {
            format!("[[rule]]\nlock = \"queued\"\n{first}\n[[rule]]\nlock = \"ttas\"\n{second}\n")
        };
        let never: &[&str] = &["p.toml:4:1", "never match", "line 1"];
        complaint(&pair("symbol = \"a\"", "symbol = \"a\""), never);
        complaint(&pair("symbol = \"a*\"", "symbol = \"ab+8\""), never);
        complaint(&pair("module = \"lib*\"", "module = \"libx.so\"\nfunction = \"f\""), never);
        complaint(&pair("program = \"*\"", "symbol = \"a\"\nprogram = \"x\""), never);
        complaint(&pair("line = \"a.c:1-9\"", "line = \"a.c:3\""), never);
        for (first, second) in [
            ("symbol = \"a\"", "symbol = \"b\""),
            ("symbol = \"a\"\nprogram = \"x\"", "symbol = \"a\""),
            ("symbol = \"a+8\"", "symbol = \"a+16\""),
            ("function = \"a\"", "symbol = \"a\""),
            ("symbol = \"a?\"", "symbol = \"a*\""),
        ] {
            assert!(PolicyFile::parse("p", pair(first, second)).is_ok(), "{first} {second}");
        }
    }
}
