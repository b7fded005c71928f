//! Workfiles: which jobs a user runs, and how often.
//!
//! ```text
//! # a comment
//! FILESIZE: 10K
//! POOLSIZE: 1M
//! 20 creat_clo
//! 30 disk_rd
//! ```
//!
//! A line has a weight and a job. A job of weight `w` is run `w / total * 100` times by each user, rounded, and at
//! least once. The pitfall of AIM7 is kept: of a job that is listed twice the later weight counts, while the total has
//! both.

use super::jobs::Job;
use anyhow::{Context, Result, ensure};

/// The workfiles that come with the program: name and text.
pub static BUILT_IN: &[(&str, &str)] = &[
    ("alltests", include_str!("../workfiles/workfile.alltests")),
    ("five_sec", include_str!("../workfiles/workfile.five_sec")),
    ("fork_test", include_str!("../workfiles/workfile.fork_test")),
    ("fserver", include_str!("../workfiles/workfile.fserver")),
    ("high_systime", include_str!("../workfiles/workfile.high_systime")),
    ("new_fserver", include_str!("../workfiles/workfile.new_fserver")),
    ("shared", include_str!("../workfiles/workfile.shared")),
    ("short", include_str!("../workfiles/workfile.short")),
];

/// About how many jobs each user runs.
const JOBS_PER_USER: f64 = 100.0;

/// A mix of jobs.
#[derive(Clone, Default, Debug)]
pub struct Workfile {
    /// How large the jobs' files are.
    pub sizes: Sizes,
    /// The weights that count, in the order of their first lines.
    pub items: Vec<(&'static Job, u32)>,
    /// The sum of all weights, those that do not count included.
    pub total: u32,
}

/// FILESIZE and POOLSIZE, in KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The size of every file.
    pub file_kib: u32,
    /// The total size of the files of all users.
    pub pool_kib: u32,
}

/// The default where a workfile sets nothing: that of AIM7's own configuration.
impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { file_kib: 10, pool_kib: 1024 }
    }
}

impl Sizes {
    /// Returns the size of a file with this many users, in KiB.
    #[must_use]
    pub fn of_a_file(self, users: u32) -> u32 {
        self.file_kib.saturating_add(self.pool_kib / users.max(1))
    }
}

impl Workfile {
    /// Returns the workfile of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn load(name: &str) -> Result<Workfile> {
        let known = BUILT_IN.iter().find(|(known, _)| *known == name);
        Workfile::parse(known.with_context(|| format!("no workfile {name}"))?.1)
    }

    /// Reads the text of a workfile.
    ///
    /// # Errors
    /// With the first line that is wrong.
    pub fn parse(text: &str) -> Result<Workfile> {
        let mut workfile = Workfile::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            if !words.is_empty() {
                workfile.read(&words).with_context(|| format!("the line {line:?}"))?;
            }
        }
        ensure!(!workfile.items.is_empty(), "a workfile without jobs");
        Ok(workfile)
    }

    fn read(&mut self, words: &[&str]) -> Result<()> {
        match *words {
            ["FILESIZE:", size] => self.sizes.file_kib = kib(size)?,
            ["POOLSIZE:", size] => self.sizes.pool_kib = kib(size)?,
            [weight, name] => {
                let weight = weight.parse::<u16>().ok().filter(|weight| *weight > 0).context("no weight")?;
                self.add(Job::find(name).context("no such job")?, weight.into());
            }
            _ => anyhow::bail!("a weight and a job, or a size"),
        }
        Ok(())
    }

    fn add(&mut self, job: &'static Job, weight: u32) {
        self.total += weight;
        match self.items.iter_mut().find(|(known, _)| std::ptr::eq(*known, job)) {
            Some((_, former)) => *former = weight,
            None => self.items.push((job, weight)),
        }
    }

    /// Returns how often each user runs each job.
    pub fn loads(&self) -> impl Iterator<Item = (&'static Job, u32)> {
        let total = f64::from(self.total);
        self.items.iter().map(move |&(job, weight)| {
            let share = f64::from(weight) / total * JOBS_PER_USER;
            (job, (share.round() as u32).max(1))
        })
    }

    /// Jobs that each user runs: J.
    #[must_use]
    pub fn jobs(&self) -> u32 {
        self.loads().map(|(_, load)| load).sum()
    }
}

/// Parses `10K` or `1M`, in KiB.
fn kib(text: &str) -> Result<u32> {
    let (number, unit) = text.strip_suffix('M').map_or((text.strip_suffix('K'), 1), |number| (Some(number), 1024));
    let number = number.and_then(|number| number.parse::<u32>().ok());
    number.and_then(|number| number.checked_mul(unit)).with_context(|| format!("{text} is not a size, such as 10K"))
}
