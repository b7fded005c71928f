//! Numbers of users on the command line: `10..2000`, `10,20,100`, `10-90:10`.

use anyhow::{Context, Result, ensure};
use std::fmt;
use std::str::FromStr;

/// The maximum for a run: a simulation can have this many threads, and each user needs a process number.
pub(crate) const USERS_MAX: u32 = 10_000;

/// Distinct numbers of users, in the order in which they were typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ramp(pub Vec<u32>);

/// Returns the steps of the script behind the papers' numbers: 10 to 90 by 10, 100 to 1000 by 100, on by 100.
fn script() -> impl Iterator<Item = u32> {
    (10..100).step_by(10).chain((100..=USERS_MAX).step_by(100))
}

impl FromStr for Ramp {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Ramp> {
        let mut users = Vec::new();
        for part in text.split(',') {
            for count in expand(part.trim()).with_context(|| format!("in {part:?}"))? {
                ensure!(!users.contains(&count), "{count} users are there twice");
                users.push(count);
            }
        }
        Ok(Ramp(users))
    }
}

impl fmt::Display for Ramp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&users.join(","))
    }
}

/// Expands `8`, `4-8`, `10-90:10`, or `10..100`: both ends, and the script's steps between them.
fn expand(part: &str) -> Result<Vec<u32>> {
    if let Some((low, high)) = part.split_once("..") {
        let (low, high) = ordered(low, high)?;
        let mut steps: Vec<u32> = script().filter(|step| (low..=high).contains(step)).collect();
        if steps.first() != Some(&low) {
            steps.insert(0, low);
        }
        if steps.last() != Some(&high) {
            steps.push(high);
        }
        return Ok(steps);
    }
    let (bounds, step) = part.split_once(':').unwrap_or((part, "1"));
    ensure!(bounds.contains('-') || !part.contains(':'), "a step needs a range, as in 10-90:10");
    let (low, high) = bounds.split_once('-').unwrap_or((bounds, bounds));
    let (low, high) = ordered(low, high)?;
    Ok((low..=high).step_by(number(step)? as usize).collect())
}

fn ordered(low: &str, high: &str) -> Result<(u32, u32)> {
    let (low, high) = (number(low)?, number(high)?);
    ensure!(low <= high, "{low} is above {high}: the lower one comes first");
    Ok((low, high))
}

fn number(text: &str) -> Result<u32> {
    let number = text.parse().ok().filter(|number| (1..=USERS_MAX).contains(number));
    number.with_context(|| {
        format!("expected 1 to {USERS_MAX} users, got {text:?}; write for example 10..2000 or 1,10-90:10")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<u32> {
        text.parse::<Ramp>().expect(text).0
    }

    #[test]
    fn lists_ranges_and_the_scripts_steps() {
        assert_eq!(of("7"), [7]);
        assert_eq!(of("1, 4-6"), [1, 4, 5, 6]);
        assert_eq!(of("10-90:40"), [10, 50, 90]);
        assert_eq!(of("80..300"), [80, 90, 100, 200, 300]);
        assert_eq!(of("5..25"), [5, 10, 20, 25], "the ends are run");
        assert_eq!(of("3..3"), [3]);
        assert_eq!(of("10..2000").len(), 9 + 10 + 10);
        assert_eq!("5..25".parse::<Ramp>().expect("it is one").to_string(), "5,10,20,25");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("", "expected 1 to 10000 users, got \"\""),
            ("0", "got \"0\""),
            ("10..", "got \"\""),
            ("20..10", "20 is above 10"),
            ("9-3", "9 is above 3"),
            ("10:2", "a step needs a range"),
            ("1-9:0", "got \"0\""),
            ("10,10", "10 users are there twice"),
            ("20000", "got \"20000\""),
            ("ten", "write for example 10..2000"),
        ];
        for (text, part) in cases {
            let error = format!("{:#}", text.parse::<Ramp>().expect_err(text));
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
