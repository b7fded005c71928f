//! The file system against the simplest possible one: random sequences of operations, every result compared (errno
//! included), and every few steps the whole tree: names, attributes, contents, link counts, inode identity, `d_path` of
//! everything, and the use of the limits. The cache is shrunk in between.
//!
//! A failure prints the seed and a shortest sequence that fails. `TURNWISE_VFS_SEEDS=FROM..TO` runs other seeds.

#[path = "model/agree.rs"]
mod agree;
#[path = "model/drive.rs"]
mod drive;
#[path = "model/minimal.rs"]
mod minimal;
#[path = "model/reference.rs"]
mod reference;
#[path = "model/resolve.rs"]
mod resolve;
#[path = "model/steps.rs"]
mod steps;

use std::ops::Range;
use steps::Step;
use turnwise::platform::Native;
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::{Linux37, Linux37Patch1, Linux37Patch2, Linux310, Linux310Dcache, Linux312, Today};

const STEPS: usize = 300;

fn sequence(seed: u64) -> Vec<Step> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..STEPS).map(|_| Step::random(&mut random)).collect()
}

/// Returns the seeds of a test, or the requested ones.
fn seeds(default: Range<u64>) -> Range<u64> {
    let Ok(asked) = std::env::var("TURNWISE_VFS_SEEDS") else { return default };
    let (from, to) = asked.split_once("..").expect("TURNWISE_VFS_SEEDS is FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}

fn check<L: LockSet<Native>>(default: Range<u64>) {
    for seed in seeds(default) {
        let Err(first) = agree::run::<L>(&sequence(seed)) else { continue };
        let short = minimal::minimal(sequence(seed), |steps| agree::run::<L>(steps).is_err());
        let wrong = agree::run::<L>(&short).expect_err("it just failed");
        let steps: String = short.iter().map(|step| format!("    {}\n", readable(&format!("{step:?}")))).collect();
        panic!(
            "{}, seed {seed}, step {}: {}\nthe shortest sequence found fails at its step {} ({}):\n{steps}",
            L::NAME,
            first.step,
            readable(&first.what),
            wrong.step,
            readable(&wrong.what),
        );
    }
}

/// Lists of bytes as text: `[47, 97]` is "/a".
fn readable(debug: &str) -> String {
    let (mut text, mut rest) = (String::new(), debug);
    while let Some((before, list, behind)) = bracketed(rest) {
        let bytes: Option<Vec<u8>> = list.split(", ").map(|number| number.parse().ok()).collect();
        match bytes {
            Some(bytes) if bytes.len() > 300 => {
                let shown = String::from_utf8_lossy(&bytes[..9]);
                text += &format!("{before}{shown:?} and so on, {} bytes", bytes.len());
            }
            Some(bytes) => text += &format!("{before}{:?}", String::from_utf8_lossy(&bytes)),
            None => text += &format!("{before}[{list}]"),
        }
        rest = behind;
    }
    text + rest
}

fn bracketed(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('[')?;
    let (list, behind) = rest.split_once(']')?;
    Some((before, list, behind))
}

#[test]
fn today() {
    check::<Today>(0..300);
}

#[test]
fn linux_3_7() {
    check::<Linux37>(1000..1050);
    check::<Linux37Patch1>(1050..1070);
    check::<Linux37Patch2>(1070..1090);
}

#[test]
fn linux_3_10() {
    check::<Linux310>(2000..2050);
    check::<Linux310Dcache>(2050..2100);
}

#[test]
fn linux_3_12() {
    check::<Linux312>(3000..3050);
}
