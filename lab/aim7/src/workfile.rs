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
use std::fmt;
use std::path::Path;
use turnwise_present::names::nearest;
use turnwise_present::printable;

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

/// No weight is larger: a sum of them is exact.
const WEIGHT_MAX: u32 = 1_000_000;

/// No file or pool is larger, in KiB: 1 TiB.
const SIZE_MAX_KIB: u32 = 1 << 30;

/// A mix of jobs.
#[derive(Clone, Debug)]
pub struct Workfile {
    /// Its name, or its file.
    pub name: String,
    /// How large the jobs' files are.
    pub sizes: Sizes,
    /// The weights that count, in the order of their first lines.
    pub items: Vec<Item>,
    /// The sum of all weights, those that do not count included.
    pub total: u32,
}

/// A job and its weight.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// The job.
    pub job: &'static Job,
    /// Its weight.
    pub weight: u32,
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

/// What is wrong with a workfile, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The file, or the name of a workfile that comes with the program.
    pub file: String,
    /// From 1; 0: not in a line.
    pub line: usize,
    /// Characters from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, message) = (printable(&self.file), printable(&self.message));
        match self.line {
            0 => write!(f, "{file}: {message}"),
            _ => write!(f, "{file}:{}:{}: {message}", self.line, self.column),
        }
    }
}

impl std::error::Error for Fault {}

impl Workfile {
    /// Returns the workfile of this name that comes with the program, or else the file.
    ///
    /// # Errors
    /// There is neither, or the file is wrong.
    pub fn load(name: &str) -> Result<Workfile, Fault> {
        let fault = |message| Fault { file: name.to_owned(), line: 0, column: 0, message };
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Workfile::parse(name, text);
        }
        let is_path = name.contains('/') || Path::new(name).exists();
        if !is_path {
            let known: Vec<&str> = BUILT_IN.iter().map(|&(name, _)| name).collect();
            let near = nearest(name, known.iter().map(|&known| known.into()));
            let hint = near.map_or(String::new(), |near| format!(" Did you mean {near}?"));
            return Err(fault(format!(
                "no such workfile.{hint} Name a file, or one of those that are built in: {}",
                known.join(", ")
            )));
        }
        let bytes = std::fs::read(name).map_err(|error| fault(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count();
            fault(format!("line {line} is not UTF-8: a workfile is plain text"))
        })?;
        Workfile::parse(name, &text)
    }

    /// Reads the text of a workfile.
    ///
    /// # Errors
    /// With the first place that is wrong.
    pub fn parse(file: &str, text: &str) -> Result<Workfile, Fault> {
        let mut workfile = Workfile { name: file.to_owned(), sizes: Sizes::default(), items: Vec::new(), total: 0 };
        for (number, text) in (1..).zip(text.lines()) {
            Line { file, number, text }.read(&mut workfile)?;
        }
        if workfile.items.is_empty() {
            let message = "has no jobs: a line such as `20 creat_clo` gives a weight and a job".to_owned();
            return Err(Fault { file: file.to_owned(), line: 0, column: 0, message });
        }
        Ok(workfile)
    }

    /// Returns how often each user runs each job.
    pub fn loads(&self) -> impl Iterator<Item = (&'static Job, u32)> {
        let total = f64::from(self.total);
        self.items.iter().map(move |item| {
            let share = f64::from(item.weight) / total * JOBS_PER_USER;
            (item.job, (share.round() as u32).max(1))
        })
    }

    /// Jobs that each user runs: J.
    #[must_use]
    pub fn jobs(&self) -> u32 {
        self.loads().map(|(_, load)| load).sum()
    }

    /// Returns the requests of a user to the kernel from start to end, with this many of them.
    #[must_use]
    pub fn operations(&self, users: u32) -> super::jobs::Operations {
        let file_kib = self.sizes.of_a_file(users);
        let of = |(job, load): (&Job, u32)| job.operations(file_kib) * u64::from(load);
        self.loads().map(of).fold(super::jobs::Operations::default(), |all, one| all + one)
    }

    fn add(&mut self, job: &'static Job, weight: u32) {
        self.total += weight;
        match self.items.iter_mut().find(|item| std::ptr::eq(item.job, job)) {
            Some(item) => item.weight = weight,
            None => self.items.push(Item { job, weight }),
        }
    }
}

/// A line of a workfile.
struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn read(&self, into: &mut Workfile) -> Result<(), Fault> {
        let text = self.text.split('#').next().unwrap_or_default();
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { return Ok(()) };
        if first.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return self.size(text, first, into);
        }
        let weight = self.weight(first)?;
        let Some(name) = words.next() else {
            return Err(self.fault_after(text, format!("weight {weight} has no job: write `{weight} creat_clo`")));
        };
        let job = Job::find(name).ok_or_else(|| self.fault(name, unknown(name)))?;
        self.end(words.next())?;
        if into.total > u32::MAX - WEIGHT_MAX {
            return Err(self.fault(first, "the weights are too large together".to_owned()));
        }
        into.add(job, weight);
        Ok(())
    }

    /// Parses `FILESIZE: 10K`, with or without the colon.
    fn size(&self, text: &'a str, first: &'a str, into: &mut Workfile) -> Result<(), Fault> {
        let (key, glued) = first.split_once(':').unwrap_or((first, ""));
        let place = match key.to_ascii_uppercase().as_str() {
            "FILESIZE" => &mut into.sizes.file_kib,
            "POOLSIZE" => &mut into.sizes.pool_kib,
            _ if Job::find(first).is_some() => {
                return Err(self.fault(first, format!("the weight comes first: write `20 {first}`")));
            }
            _ => {
                let message = format!("`{key}` is neither a weight nor FILESIZE or POOLSIZE");
                return Err(self.fault(first, message));
            }
        };
        let mut words = text.split_whitespace().skip(1).skip_while(|word| *word == ":");
        let value = if glued.is_empty() { words.next() } else { Some(glued) };
        let Some(value) = value else {
            return Err(self.fault_after(text, format!("{key} has no size: write `{key}: 10K`")));
        };
        *place = kib(value.trim_start_matches(':')).map_err(|message| self.fault(value, message))?;
        self.end(words.next())
    }

    fn weight(&self, word: &str) -> Result<u32, Fault> {
        let weight = word.parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight));
        weight.ok_or_else(|| {
            let message = format!("`{word}` is not a weight: a line begins with a whole number from 1 to {WEIGHT_MAX}");
            self.fault(word, message)
        })
    }

    fn end(&self, rest: Option<&str>) -> Result<(), Fault> {
        rest.map_or(Ok(()), |word| {
            Err(self.fault(word, format!("`{word}` is too much: one weight and one job in a line")))
        })
    }

    /// Returns a fault at a word of this line.
    fn fault(&self, word: &str, message: String) -> Fault {
        let bytes = word.as_ptr().addr() - self.text.as_ptr().addr();
        let column = self.text[..bytes].chars().count() + 1;
        Fault { file: self.file.to_owned(), line: self.number, column, message }
    }

    /// Returns a fault behind the last word.
    fn fault_after(&self, text: &str, message: String) -> Fault {
        let column = text.trim_end().chars().count() + 1;
        Fault { file: self.file.to_owned(), line: self.number, column, message }
    }
}

fn unknown(name: &str) -> String {
    match Job::nearest(name) {
        Some(job) => format!("no job `{name}`: did you mean `{}`?", job.name),
        None => format!("no job `{name}`: `turnwise-lab aim7 --list` has all of them"),
    }
}

/// Parses `10K`, `1m` or `1G`, in KiB.
fn kib(text: &str) -> Result<u32, String> {
    let complaint = || format!("`{text}` is not a size: a whole number and K, M or G, as in 10K; 1024G at most");
    let shift = match text.bytes().last().map(|unit| unit.to_ascii_uppercase()) {
        Some(b'K') => 0,
        Some(b'M') => 10,
        Some(b'G') => 20,
        _ => return Err(complaint()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| complaint())?;
    let kib = number.checked_mul(1 << shift).filter(|&kib| kib <= u64::from(SIZE_MAX_KIB)).ok_or_else(complaint)?;
    u32::try_from(kib).map_err(|_| complaint())
}
