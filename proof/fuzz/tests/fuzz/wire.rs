//! Tables of policies, which the preload library reads inside programs.

use turnwise_fuzz::check;
use turnwise_preload_abi::{
    Image, Kind, Lock, ModuleOffset, ModuleRanges, NewRule, NewTable, Policy, SETTINGS, Settings, Table, fingerprint,
    matches,
};

fn rule(policy: Policy, kind: Kind, program: &str, module: &str) -> NewRule {
    let settings = if policy == Policy::ADAPTIVE { [Some(7); SETTINGS] } else { Settings::default() };
    NewRule { policy, kind, label: "p.toml:3".into(), program: program.into(), module: module.into(), settings }
}

fn table() -> Vec<u8> {
    let two = |start: u64| vec![start..start + 64, start + 128..start + 136];
    let ranges = |fingerprint, rule, start| ModuleRanges { fingerprint, rule, ranges: two(start) };
    let table = NewTable {
        default: Policy::ADAPTIVE,
        rules: vec![
            rule(Policy::QUEUED, Kind::Object, "", ""),
            rule(Policy::Libc, Kind::Call, "", ""),
            rule(Policy::TTAS, Kind::Module, "", "lib*.so"),
            rule(Policy::ADAPTIVE, Kind::Any, "/opt/*", ""),
        ],
        modules: vec![ranges(9, 0, 0x100), ranges(9, 1, 0x1000), ranges(3, 1, 8)],
    };
    table.bytes().expect("few rules")
}

#[test]
fn fuzz_table() {
    check("table", 20_000, vec![table()], |input| {
        let Ok(table) = Table::parse(input) else { return };
        for number in 0..table.rules() {
            let rule = table.rule(number).expect("it is sound");
            std::hint::black_box((rule.holds_in(b"/opt/bin/server"), table.settings(number), rule.label.len()));
        }
        let place = |fingerprint, address| Some(ModuleOffset { fingerprint, address, module: b"libx.so" });
        std::hint::black_box(table.decide(place(9, 0x110), place(3, 8), |_| true));
        std::hint::black_box(table.decide(None, place(9, u64::MAX), |number| number % 2 == 0));
    });
}

/// A module's file, as the preload library sees it in memory.
struct Bytes<'a>(&'a [u8]);

impl Image for Bytes<'_> {
    fn at_offset(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.0.get(usize::try_from(offset).ok()?..)?.get(..length)
    }

    fn at_address(&self, _: u64, offset: u64, length: usize) -> Option<&[u8]> {
        self.at_offset(offset, length)
    }
}

#[test]
fn fuzz_module() {
    let own = std::fs::read("/proc/self/exe").expect("this program");
    check("module", 20_000, vec![own[..4096].to_vec()], |input| {
        std::hint::black_box(fingerprint(&Bytes(input)));
    });
}

/// What a user sets in the environment: the value of a variable, and patterns of a policy.
#[test]
fn fuzz_names() {
    let seeds = ["adaptive", "queued\0mcs", "lib*.so\0libx.so", "*a*b?c*\0aabbabcc"].map(|seed| seed.into());
    check("names", 20_000, seeds.to_vec(), |input| {
        std::hint::black_box(Lock::asked_for(input));
        let (pattern, text) = input.split_at(input.iter().position(|byte| *byte == 0).unwrap_or(input.len()));
        let found = matches(pattern, text);
        assert!(!found || pattern.contains(&b'*') || pattern.len() == text.len());
    });
}
