//! Cells of `turnwise-lab bench`: which there are, and which are meant.

use anyhow::{Result, bail, ensure};
use std::fmt;

/// A lock in a scenario of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) subject: String,
    pub(super) scenario: String,
    /// Of scenarios.
    pub(super) group: String,
    pub(super) lock: String,
    /// Whether the subject's list begins with this lock: a cell without a lock means that one.
    pub(super) first: bool,
}

impl Cell {
    /// Returns whether both are the same lock in the same scenario; groups and order may differ.
    pub(super) fn is(&self, other: &Cell) -> bool {
        (&self.subject, &self.scenario, &self.lock) == (&other.subject, &other.scenario, &other.lock)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.subject, self.scenario)?;
        if self.first { Ok(()) } else { write!(f, ":{}", self.lock) }
    }
}

/// Returns all cells in the text of `turnwise-lab bench --list`.
pub(super) fn listed(list: &str) -> Result<Vec<Cell>> {
    let (mut cells, mut locks, mut subject, mut section) = (Vec::new(), Vec::new(), "", "");
    for line in list.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (section, &words[..]) {
            (_, []) => {}
            (_, [word, ..]) if !line.starts_with(' ') => match line.split_once(": ") {
                Some((name, _)) => (subject, section, locks) = (name, "", Vec::new()),
                None => section = word,
            },
            ("locks", [lock, ..]) => locks.push((*lock).to_owned()),
            ("scenarios", [scenario, group, ..]) => cells.extend(locks.iter().map(|lock| Cell {
                subject: subject.to_owned(),
                scenario: (*scenario).to_owned(),
                group: (*group).to_owned(),
                lock: lock.clone(),
                first: *lock == locks[0],
            })),
            _ => {}
        }
    }
    ensure!(!cells.is_empty(), "`turnwise-lab bench --list` lists no scenarios");
    Ok(cells)
}

/// Returns the cells of `SUBJECT`, `SUBJECT:SCENARIO` or `SUBJECT:SCENARIO:LOCK`; in place of a scenario, a group.
pub(super) fn named<'a>(all: &'a [Cell], typed: &str) -> Result<Vec<&'a Cell>> {
    let parts: Vec<&str> = typed.splitn(3, ':').collect();
    let mut cells = having(all.iter().collect(), "subject", parts.first(), typed, |cell| [&cell.subject, ""])?;
    cells.retain(|cell| parts.len() > 2 || cell.first);
    let cells = having(cells, "lock", parts.get(2), typed, |cell| [&cell.lock, ""])?;
    having(cells, "scenario", parts.get(1), typed, |cell| [&cell.scenario, &cell.group])
}

/// Returns those that have this name, if there is one. Where none has it, the error is "no scenario is called
/// `2x50/10` (in mutex:2x50/10); the nearest: 2x50/100, 2x50/500".
fn having<'a>(
    mut cells: Vec<&'a Cell>,
    what: &str,
    name: Option<&&str>,
    typed: &str,
    names: fn(&Cell) -> [&str; 2],
) -> Result<Vec<&'a Cell>> {
    const SHOWN: usize = 4;
    let Some(name) = name else { return Ok(cells) };
    let mut known: Vec<&str> = cells.iter().flat_map(|cell| names(cell)).filter(|name| !name.is_empty()).collect();
    cells.retain(|cell| !name.is_empty() && names(cell).contains(name));
    if !cells.is_empty() {
        return Ok(cells);
    }
    let likeness = |other: &str| strsim::jaro_winkler(name, other);
    known.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)).then(a.cmp(b)));
    known.dedup();
    known.truncate(SHOWN);
    bail!(
        "no {what} of `turnwise-lab bench` is called `{name}` (in `{typed}`); the nearest: {}. \
         `cargo run --profile dist -p turnwise-lab -- bench --list` \
         lists them all; a cell is SUBJECT:SCENARIO or SUBJECT:SCENARIO:LOCK",
        known.join(", ")
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
        named(&listed(LIST).unwrap(), typed).unwrap().into_iter().map(Cell::to_string).collect()
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
        let all = listed(LIST).unwrap();
        let said = |typed: &str| format!("{:#}", named(&all, typed).unwrap_err());
        assert!(said("mutx:2x50/100").contains("no subject of `turnwise-lab bench` is called `mutx`"));
        assert!(said("mutx").contains("the nearest: mutex"), "{}", said("mutx"));
        assert!(said("mutex:2x50/10").contains("the nearest: 2x50/100,"), "{}", said("mutex:2x50/10"));
        assert!(said("mutex:uncontended:mutx").contains("the nearest: mutex"));
        let cell = named(&all, "mutex:2x50/100").unwrap().remove(0).clone();
        assert!(!all.iter().any(|other| other.is(&Cell { lock: "ttas".into(), ..cell.clone() })));
        assert!(all.iter().any(|other| other.is(&Cell { lock: "std".into(), ..cell.clone() })));
    }

    #[test]
    fn other_text_is_no_list() {
        assert!(listed("").is_err());
        assert!(listed("error: no\n").is_err());
        assert!(listed("locks\n  turnwise ours\n").is_err());
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
