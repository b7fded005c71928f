//! Cells of `turnwise-lab bench`: which there are, and which are meant.

use anyhow::{Context, Result, bail};
use std::fmt;

/// A lock in a scenario of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) subject: String,
    pub(super) scenario: String,
    pub(super) lock: String,
    /// Whether the subject's list begins with this lock: a cell without a lock means that one.
    pub(super) first: bool,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.subject, self.scenario)?;
        if self.first { Ok(()) } else { write!(f, ":{}", self.lock) }
    }
}

/// The content of `turnwise-lab bench --list`.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    subjects: Vec<Subject>,
}

#[derive(Debug, Default)]
struct Subject {
    name: String,
    locks: Vec<String>,
    /// Name and group.
    scenarios: Vec<(String, String)>,
}

impl Catalogue {
    /// Reads the list.
    pub(super) fn parse(list: &str) -> Result<Catalogue> {
        let mut subjects: Vec<Subject> = Vec::new();
        let mut section = "";
        for line in list.lines().filter(|line| !line.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match (line.starts_with(' '), line.split_once(": "), section) {
                (false, Some((name, _)), _) => {
                    subjects.push(Subject { name: name.to_owned(), ..Subject::default() });
                    section = "";
                }
                (false, None, _) => section = words[0],
                (true, _, "locks") => last(&mut subjects, line)?.locks.push(words[0].to_owned()),
                (true, _, "scenarios") => {
                    let group = words.get(1).with_context(|| format!("a scenario without a group: {line}"))?;
                    last(&mut subjects, line)?.scenarios.push((words[0].to_owned(), (*group).to_owned()));
                }
                (true, ..) => {}
            }
        }
        if subjects.iter().all(|subject| subject.scenarios.is_empty()) {
            bail!("`turnwise-lab bench --list` lists no scenarios");
        }
        Ok(Catalogue { subjects })
    }

    /// Returns the cells of `SUBJECT`, `SUBJECT:SCENARIO` or `SUBJECT:SCENARIO:LOCK`; in place of a scenario, a group.
    pub(super) fn cells(&self, typed: &str) -> Result<Vec<Cell>> {
        let mut parts = typed.splitn(3, ':');
        let name = parts.next().unwrap_or_default();
        let subjects = self.subjects.iter().map(|subject| subject.name.as_str());
        let subject = self.subjects.iter().find(|subject| subject.name == name);
        let subject = subject.with_context(|| unknown("subject", name, typed, subjects.collect()))?;
        let (scenario, lock) = (parts.next(), parts.next().unwrap_or(subject.first_lock()));
        if !subject.locks.iter().any(|known| known == lock) {
            bail!(unknown("lock", lock, typed, subject.locks.iter().map(String::as_str).collect()));
        }
        let meant = |(name, group): &&(String, String)| scenario.is_none_or(|typed| typed == name || typed == group);
        let cell = |(name, _): &(String, String)| Cell {
            subject: subject.name.clone(),
            scenario: name.clone(),
            lock: lock.to_owned(),
            first: lock == subject.first_lock(),
        };
        let cells: Vec<Cell> = subject.scenarios.iter().filter(meant).map(cell).collect();
        if cells.is_empty() {
            let all = subject.scenarios.iter().flat_map(|(name, group)| [name.as_str(), group]).collect();
            bail!(unknown("scenario", scenario.unwrap_or_default(), typed, all));
        }
        Ok(cells)
    }

    /// Returns whether there are such a subject, scenario and lock.
    pub(super) fn has(&self, cell: &Cell) -> bool {
        self.subjects.iter().any(|subject| {
            subject.name == cell.subject
                && subject.locks.contains(&cell.lock)
                && subject.scenarios.iter().any(|(name, _)| *name == cell.scenario)
        })
    }
}

impl Subject {
    fn first_lock(&self) -> &str {
        self.locks.first().map_or("", String::as_str)
    }
}

fn last<'a>(subjects: &'a mut [Subject], line: &str) -> Result<&'a mut Subject> {
    subjects.last_mut().with_context(|| format!("`turnwise-lab bench --list` names no subject before: {line}"))
}

/// Returns "no scenario is called `2x50/10` (in mutex:2x50/10); similar: 2x50/100, 2x50/500".
fn unknown(what: &str, name: &str, typed: &str, mut known: Vec<&str>) -> String {
    const SHOWN: usize = 4;
    known.sort_by(|a, b| strsim::jaro_winkler(name, b).total_cmp(&strsim::jaro_winkler(name, a)));
    known.dedup();
    known.truncate(SHOWN);
    let near = known.join(", ");
    format!(
        "no {what} of `turnwise-lab bench` is called `{name}` (in `{typed}`); the nearest: {near}. \
         `cargo run --profile dist -p turnwise-lab -- bench --list` \
         lists them all; a cell is SUBJECT:SCENARIO or SUBJECT:SCENARIO:LOCK"
    )
}

#[cfg(test)]
mod tests {
    use super::super::DEFAULTS;
    use super::*;

    const LIST: &str = "\
mutex: mutexes
locks
  mutex                      our adaptive mutex
  std                        std::sync::Mutex
groups of scenarios
  mutex                      all scenarios that compare mutexes
scenarios (name, group)
  uncontended                mutex            1 thread, increment only
  2x50/100                   mutex            2 threads, 50 ns inside, 100 ns outside
  on-cpu-2                   on-cpu           2 threads: short

spin: spin locks
locks
  ttas                       our test-and-test-and-set lock
scenarios (name, group)
  tight-2                    spin             2 threads
";

    fn names(typed: &str) -> Vec<String> {
        Catalogue::parse(LIST).unwrap().cells(typed).unwrap().iter().map(Cell::to_string).collect()
    }

    #[test]
    fn a_cell_is_named_by_its_parts() {
        assert_eq!(names("mutex:2x50/100"), ["mutex:2x50/100"]);
        assert_eq!(names("mutex:2x50/100:std"), ["mutex:2x50/100:std"]);
        assert_eq!(names("mutex:mutex"), ["mutex:uncontended", "mutex:2x50/100"]);
        assert_eq!(names("mutex").len(), 3);
        assert_eq!(names("spin:tight-2:ttas"), ["spin:tight-2"]);
    }

    #[test]
    fn what_is_not_there_is_named_with_its_neighbours() {
        let catalogue = Catalogue::parse(LIST).unwrap();
        let said = |typed: &str| format!("{:#}", catalogue.cells(typed).unwrap_err());
        assert!(said("mutx:2x50/100").contains("no subject of `turnwise-lab bench` is called `mutx`"));
        assert!(said("mutx").contains("the nearest: mutex"), "{}", said("mutx"));
        assert!(said("mutex:2x50/10").contains("the nearest: 2x50/100,"), "{}", said("mutex:2x50/10"));
        assert!(said("mutex:uncontended:mutx").contains("the nearest: mutex"));
        let cell = catalogue.cells("mutex:2x50/100").unwrap().remove(0);
        assert!(!catalogue.has(&Cell { lock: "ttas".into(), ..cell.clone() }));
        assert!(catalogue.has(&Cell { lock: "std".into(), ..cell }));
    }

    #[test]
    fn other_text_is_no_list() {
        assert!(Catalogue::parse("").is_err());
        assert!(Catalogue::parse("error: no\n").is_err());
        assert!(Catalogue::parse("locks\n  turnwise ours\n").is_err());
    }

    /// The names in the sources: the program need not be built for that.
    #[test]
    fn the_default_cells_are_written_as_cells_are() {
        let subjects = std::fs::read_to_string("../lab/bench/src/subject/subjects.toml").unwrap();
        let subjects: Vec<&str> = subjects.split("[[subject]]").collect();
        for cell in DEFAULTS.cells.iter().chain(&DEFAULTS.ablated) {
            let parts: Vec<_> = cell.split(':').collect();
            assert!((2..=3).contains(&parts.len()), "{cell}");
            let head = format!("\nname = \"{}\"\n", parts[0]);
            let source = subjects.iter().find(|text| text.starts_with(&head)).unwrap();
            assert!(parts[1..].iter().all(|part| source.contains(&format!("\"{part}\""))), "{cell} is in no subject");
        }
    }
}
