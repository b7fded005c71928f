//! Counts on the command line: `1,2,4-8,10-80:10`.

use anyhow::{Context, Result, ensure};
use std::fmt;
use std::str::FromStr;

/// No list is longer: it would be a slip of the pen, and fill the memory.
const COUNTS_MAX: usize = 4096;

/// Distinct counts above zero, in the order in which they were typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ranges(pub(crate) Vec<u32>);

impl FromStr for Ranges {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Ranges> {
        let mut counts = Vec::new();
        for part in text.split(',') {
            let expanded = expand(part.trim()).with_context(|| format!("in {part:?}"))?;
            for count in expanded {
                ensure!(!counts.contains(&count), "{count} is there twice");
                counts.push(count);
                ensure!(counts.len() <= COUNTS_MAX, "more than {COUNTS_MAX} counts");
            }
        }
        Ok(Ranges(counts))
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&counts.join(","))
    }
}

/// Expands `8`, `4-8` or `10-80:10`.
fn expand(part: &str) -> Result<impl Iterator<Item = u32> + use<>> {
    let (bounds, step) = part.split_once(':').unwrap_or((part, "1"));
    let (low, high) = bounds.split_once('-').unwrap_or((bounds, bounds));
    ensure!(bounds.contains('-') || !part.contains(':'), "a step needs a range, as in 10-80:10");
    let (low, high, step) = (number(low)?, number(high)?, number(step)?);
    ensure!(low <= high, "{low} is above {high}: the lower one comes first");
    Ok((low..=high).step_by(step as usize))
}

fn number(text: &str) -> Result<u32> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.with_context(|| format!("{text:?} is not a whole number above zero; write for example 1,2,4-8,10-80:10"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<u32> {
        text.parse::<Ranges>().unwrap().0
    }

    #[test]
    fn lists_ranges_and_steps() {
        assert_eq!(of("80"), [80]);
        assert_eq!(of("1,2,4-8,10-80:10"), [1, 2, 4, 5, 6, 7, 8, 10, 20, 30, 40, 50, 60, 70, 80]);
        assert_eq!(of("8, 4"), [8, 4], "in the order typed");
        assert_eq!(of("1-9:4"), [1, 5, 9]);
        assert_eq!(of("3-3"), [3]);
        assert_eq!(of("1-3").len(), "1-3".parse::<Ranges>().unwrap().to_string().split(',').count());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let complaint = |text: &str| format!("{:#}", text.parse::<Ranges>().unwrap_err());
        for (text, part) in [
            ("", "\"\" is not a whole number"),
            ("4,", "not a whole number"),
            ("0", "above zero"),
            ("1,x", "in \"x\""),
            ("8-4", "8 is above 4"),
            ("4:2", "a step needs a range"),
            ("1-9:0", "above zero"),
            ("1-4,3", "3 is there twice"),
            ("1-4000000000", "more than 4096"),
            ("5000000000", "not a whole number"),
        ] {
            assert!(complaint(text).contains(part), "{text}: {}", complaint(text));
        }
    }
}
