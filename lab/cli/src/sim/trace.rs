//! The events of a run as Chrome trace events, for ui.perfetto.dev: a track for each CPU, with the thread that runs and
//! in it what the thread waits for and holds; a track for each lock, with the CPU that has it; and an arrow wherever
//! the lock goes from one CPU to another.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use turnwise_sim::{Happened, TraceEvent};

/// Groups of tracks: processes, in the format's words.
const CPUS: u32 = 1;
const LOCKS: u32 = 2;

/// Returns the track of a CPU. Viewers take thread 0 for the idle thread of the whole system, so numbers begin at 1.
fn of_cpu(cpu: u32) -> (u32, u32) {
    (CPUS, 1 + cpu)
}

/// Returns the track of a lock, with a number that no CPU has.
fn of_lock(lock: u32) -> (u32, u32) {
    (LOCKS, 100_001 + lock)
}

/// Returns the run as a JSON document. Events are in the order of their times; a run ends at `end_ps`.
pub(crate) fn chrome(events: &[TraceEvent], locks: &[String], end_ps: u64) -> String {
    let mut tracks = Tracks { locks, ..Tracks::default() };
    for event in events {
        tracks.add(event);
    }
    tracks.close(end_ps);
    let mut lines: Vec<String> = tracks.names();
    lines.extend(tracks.events.iter().flatten().map(|(_, event)| event.to_string()));
    format!("{{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{}\n]}}\n", lines.join(",\n"))
}

/// An event of the format, and its time in nanoseconds: what the viewer keeps. Of its kinds (`ph`), `B` and `E` begin
/// and end a slice, `b` and `e` one of those that overlap, `s` and `f` an arrow, which ends at the slice around it, and
/// `i` is an instant, drawn on its track alone.
type Event = (u64, Value);

fn new_event(ph: char, ps: u64, (pid, tid): (u32, u32), name: &str, id: Option<u64>) -> Event {
    let (ns, cat) = (ps / 1000, if pid == CPUS { "cpu" } else { "lock" });
    let mut event = json!({ "name": name, "cat": cat, "ph": ph, "ts": ns as f64 / 1000.0, "pid": pid, "tid": tid });
    let more = match ph {
        'i' => Some(("s", json!('t'))),
        'f' => Some(("bp", json!('e'))),
        _ => None,
    };
    for (key, value) in more.into_iter().chain(id.map(|id| ("id", json!(id)))) {
        event[key] = value;
    }
    (ns, event)
}

/// What a thread is doing; each is a slice within the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum About {
    Waits(u32),
    Holds(u32),
}

#[derive(Default)]
struct Thread {
    cpu: Option<u32>,
    about: Vec<About>,
}

#[derive(Default)]
struct Tracks<'a> {
    locks: &'a [String],
    /// `None`: an arrow that leads to no other CPU, and is left out.
    events: Vec<Option<Event>>,
    threads: BTreeMap<u32, Thread>,
    /// Of each lock, the CPU that released it last, and the number and the place in `events` of the arrow that begins
    /// there.
    released: BTreeMap<u32, (u32, u64, usize)>,
    /// Of each lock, the thread that has its slice.
    owners: BTreeMap<u32, u32>,
    cpus: BTreeMap<u32, Option<u32>>,
    arrows: u64,
}

impl Tracks<'_> {
    fn add(&mut self, event: &TraceEvent) {
        let &TraceEvent { ps, cpu, thread, what } = event;
        match what {
            Happened::Runs => self.runs(ps, cpu, thread),
            Happened::Preempted | Happened::Yields | Happened::Sleeps | Happened::Ends => self.leaves(ps, thread),
            Happened::Woken { .. } => {}
            Happened::Asks { lock } => self.begins(ps, thread, About::Waits(lock)),
            Happened::Acquires { lock, exclusive } => self.acquires(ps, cpu, thread, lock, exclusive),
            Happened::Releases { lock } => self.releases(ps, cpu, thread, lock),
            Happened::Transfer { line, remote } => {
                let name = format!("line {line}{}", if remote { " from another node" } else { "" });
                self.events.push(Some(new_event('i', ps, of_cpu(cpu), &name, None)));
            }
        }
    }

    fn lock(&self, lock: u32) -> &str {
        self.locks.get(lock as usize).map_or("a lock", String::as_str)
    }

    fn name(&self, about: About) -> String {
        match about {
            About::Waits(lock) => format!("waits for {}", self.lock(lock)),
            About::Holds(lock) => format!("holds {}", self.lock(lock)),
        }
    }

    fn thread(&mut self, thread: u32) -> &mut Thread {
        self.threads.entry(thread).or_default()
    }

    fn slice(&mut self, ph: char, ps: u64, cpu: u32, name: String) {
        self.events.push(Some(new_event(ph, ps, of_cpu(cpu), &name, None)));
    }

    /// Begins the thread's slices: it continues what it was doing.
    fn runs(&mut self, ps: u64, cpu: u32, thread: u32) {
        if let Some(Some(before)) = self.cpus.get(&cpu).copied() {
            self.leaves(ps, before);
        }
        self.leaves(ps, thread);
        self.cpus.insert(cpu, Some(thread));
        self.thread(thread).cpu = Some(cpu);
        self.slice('B', ps, cpu, format!("thread {thread}"));
        for about in self.thread(thread).about.clone() {
            self.slice('B', ps, cpu, self.name(about));
        }
    }

    fn leaves(&mut self, ps: u64, thread: u32) {
        let Some(cpu) = self.thread(thread).cpu.take() else { return };
        for about in self.thread(thread).about.clone().into_iter().rev() {
            self.slice('E', ps, cpu, self.name(about));
        }
        self.slice('E', ps, cpu, format!("thread {thread}"));
        self.cpus.insert(cpu, None);
    }

    fn begins(&mut self, ps: u64, thread: u32, about: About) {
        self.thread(thread).about.push(about);
        if let Some(cpu) = self.thread(thread).cpu {
            self.slice('B', ps, cpu, self.name(about));
        }
    }

    /// Ends this slice, for which those within it end, too, and begin again.
    fn ends(&mut self, ps: u64, thread: u32, about: About) {
        let state = self.thread(thread);
        let Some(place) = state.about.iter().rposition(|&other| other == about) else { return };
        let within = state.about.split_off(place);
        state.about.extend(&within[1..]);
        let Some(cpu) = state.cpu else { return };
        for &about in within.iter().rev() {
            self.slice('E', ps, cpu, self.name(about));
        }
        for &about in &within[1..] {
            self.slice('B', ps, cpu, self.name(about));
        }
    }

    fn acquires(&mut self, ps: u64, cpu: u32, thread: u32, lock: u32, exclusive: bool) {
        self.ends(ps, thread, About::Waits(lock));
        self.begins(ps, thread, About::Holds(lock));
        let name = format!("CPU {cpu}, thread {thread}");
        let alone = exclusive && !self.owners.contains_key(&lock);
        if alone {
            self.owners.insert(lock, thread);
        }
        let (ph, id) = if alone { ('B', None) } else { ('b', Some(shared_id(lock, thread))) };
        self.events.push(Some(new_event(ph, ps, of_lock(lock), &name, id)));
        match self.released.remove(&lock) {
            Some((from, _, place)) if from == cpu => self.events[place] = None,
            Some((_, id, _)) => self.events.push(Some(new_event('f', ps, of_cpu(cpu), self.lock(lock), Some(id)))),
            None => {}
        }
    }

    /// Begins an arrow here; the next acquirer of the lock determines where it goes.
    fn arrow(&mut self, ps: u64, cpu: u32, lock: u32) {
        self.arrows += 1;
        if let Some((_, _, place)) = self.released.insert(lock, (cpu, self.arrows, self.events.len())) {
            self.events[place] = None;
        }
        self.events.push(Some(new_event('s', ps, of_cpu(cpu), self.lock(lock), Some(self.arrows))));
    }

    fn releases(&mut self, ps: u64, cpu: u32, thread: u32, lock: u32) {
        self.arrow(ps, cpu, lock);
        self.ends(ps, thread, About::Holds(lock));
        let name = format!("CPU {cpu}, thread {thread}");
        let alone = self.owners.get(&lock) == Some(&thread);
        if alone {
            self.owners.remove(&lock);
        }
        let (ph, id) = if alone { ('E', None) } else { ('e', Some(shared_id(lock, thread))) };
        self.events.push(Some(new_event(ph, ps, of_lock(lock), &name, id)));
    }

    /// Ends what is still open, and sorts everything by time.
    fn close(&mut self, end_ps: u64) {
        for thread in self.threads.keys().copied().collect::<Vec<_>>() {
            self.leaves(end_ps, thread);
        }
        for (lock, thread) in std::mem::take(&mut self.owners) {
            self.events.push(Some(new_event('E', end_ps, of_lock(lock), &format!("thread {thread}"), None)));
        }
        for &(_, _, place) in self.released.values() {
            self.events[place] = None;
        }
        self.events.sort_by_key(|event| event.as_ref().map(|(ns, _)| *ns));
    }

    /// Events that name the tracks.
    fn names(&self) -> Vec<String> {
        let meta = |name: &str, (pid, tid): (u32, u32), args: Value| {
            json!({"name": name, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": args}).to_string()
        };
        let mut names = vec![
            meta("process_name", of_cpu(0), json!({"name": "CPUs"})),
            meta("process_name", of_lock(0), json!({"name": "locks"})),
            meta("process_sort_index", of_cpu(0), json!({"sort_index": 1})),
            meta("process_sort_index", of_lock(0), json!({"sort_index": 0})),
        ];
        for &cpu in self.cpus.keys() {
            names.push(meta("thread_name", of_cpu(cpu), json!({"name": format!("CPU {cpu}")})));
            names.push(meta("thread_sort_index", of_cpu(cpu), json!({"sort_index": cpu})));
        }
        for (lock, name) in (0_u32..).zip(self.locks) {
            names.push(meta("thread_name", of_lock(lock), json!({ "name": name })));
        }
        names
    }
}

/// Distinguishes the slices of threads that share a lock.
fn shared_id(lock: u32, thread: u32) -> u64 {
    u64::from(lock) << 32 | u64::from(thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Happened::{Acquires, Asks, Ends, Preempted, Releases, Runs, Sleeps, Transfer, Woken};

    fn at(ns: u64, cpu: u32, thread: u32, what: Happened) -> TraceEvent {
        TraceEvent { ps: ns * 1000 + 7, cpu, thread, what }
    }

    /// Checks the events of the document and returns them: slices of a track nest and end, and times rise.
    fn checked(events: &[TraceEvent], locks: &[&str], end_ns: u64) -> Vec<Value> {
        let locks: Vec<String> = locks.iter().map(|&lock| lock.to_owned()).collect();
        let document: Value = serde_json::from_str(&chrome(events, &locks, end_ns * 1000)).unwrap();
        let events = document["traceEvents"].as_array().unwrap().clone();
        let mut open: BTreeMap<(u64, u64), Vec<&Value>> = BTreeMap::new();
        let mut before = 0.0;
        for event in events.iter().filter(|event| event["ph"] != "M") {
            let ts = event["ts"].as_f64().unwrap();
            assert!(ts >= before, "{event} is before {before}");
            before = ts;
            let stack = open.entry((event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())).or_default();
            match event["ph"].as_str().unwrap() {
                "B" => stack.push(event),
                "E" => {
                    let begin = stack.pop().expect("something is open");
                    let cpus = event["pid"] == json!(CPUS);
                    assert!(!cpus || begin["name"] == event["name"], "{begin} is ended by {event}");
                }
                _ => {}
            }
        }
        assert!(open.values().all(Vec::is_empty), "{open:?}");
        events
    }

    fn names(events: &[Value], ph: &str, (pid, tid): (u32, u32)) -> Vec<(String, f64)> {
        let of = |event: &&Value| event["ph"] == ph && event["pid"] == pid && event["tid"] == tid;
        let name = |event: &Value| (event["name"].as_str().unwrap().to_owned(), event["ts"].as_f64().unwrap());
        events.iter().filter(of).map(name).collect()
    }

    #[test]
    fn the_lock_travels_from_cpu_to_cpu() {
        let (asks, takes) = (Asks { lock: 0 }, Acquires { lock: 0, exclusive: true });
        let events = checked(
            &[
                at(0, 0, 0, Runs),
                at(0, 5, 1, Runs),
                at(100, 0, 0, asks),
                at(110, 0, 0, takes),
                at(120, 5, 1, asks),
                at(300, 0, 0, Releases { lock: 0 }),
                at(420, 5, 1, Transfer { line: 3, remote: true }),
                at(450, 5, 1, takes),
                at(500, 0, 0, Ends),
                at(1500, 5, 1, Releases { lock: 0 }),
                at(1501, 5, 1, Ends),
            ],
            &["mutex"],
            2000,
        );
        let expected = [("thread 1", 0.0), ("waits for mutex", 0.12), ("holds mutex", 0.45)];
        assert_eq!(names(&events, "B", of_cpu(5)), expected.map(|(name, ts)| (name.to_owned(), ts)));
        let expected = [("CPU 0, thread 0", 0.11), ("CPU 5, thread 1", 0.45)];
        assert_eq!(names(&events, "B", of_lock(0)), expected.map(|(name, ts)| (name.to_owned(), ts)));
        assert_eq!(names(&events, "s", of_cpu(0)), [("mutex".to_owned(), 0.3)]);
        assert_eq!(names(&events, "f", of_cpu(5)), [("mutex".to_owned(), 0.45)]);
        assert_eq!(names(&events, "i", of_cpu(5)), [("line 3 from another node".to_owned(), 0.42)]);
        assert_eq!(names(&events, "M", of_cpu(5))[0].0, "thread_name");
    }

    #[test]
    fn slices_are_cut_where_a_thread_leaves_its_cpu_and_go_on_where_it_runs_again() {
        let events = checked(
            &[
                at(0, 0, 0, Runs),
                at(10, 0, 0, Asks { lock: 0 }),
                at(20, 0, 0, Acquires { lock: 0, exclusive: true }),
                at(30, 0, 0, Preempted),
                at(30, 0, 1, Runs),
                at(40, 0, 1, Asks { lock: 0 }),
                at(50, 0, 1, Sleeps),
                at(50, 1, 0, Runs),
                at(60, 1, 0, Releases { lock: 0 }),
                at(60, 1, 1, Woken { by: Some(0) }),
                at(70, 0, 1, Runs),
                at(80, 0, 1, Acquires { lock: 0, exclusive: true }),
            ],
            &["m"],
            100,
        );
        let on_0: Vec<String> = names(&events, "B", of_cpu(0)).into_iter().map(|(name, _)| name).collect();
        let (waits, holds) = ("waits for m", "holds m");
        assert_eq!(on_0, ["thread 0", waits, holds, "thread 1", waits, "thread 1", waits, holds]);
        let on_1: Vec<String> = names(&events, "B", of_cpu(1)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(on_1, ["thread 0", holds]);
        assert_eq!(names(&events, "E", of_lock(0)).last().unwrap().1, 0.1, "ended at the end of the run");
    }

    #[test]
    fn locks_released_out_of_order_and_shared_locks_nest_all_the_same() {
        let events = checked(
            &[
                at(0, 0, 0, Runs),
                at(0, 1, 1, Runs),
                at(1, 0, 0, Acquires { lock: 0, exclusive: true }),
                at(2, 0, 0, Acquires { lock: 1, exclusive: false }),
                at(3, 1, 1, Acquires { lock: 1, exclusive: false }),
                at(4, 0, 0, Releases { lock: 0 }),
                at(5, 0, 0, Releases { lock: 1 }),
                at(6, 1, 1, Releases { lock: 1 }),
            ],
            &["a", "b"],
            10,
        );
        let began: Vec<String> = names(&events, "B", of_cpu(0)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(began, ["thread 0", "holds a", "holds b", "holds b"]);
        assert_eq!(names(&events, "b", of_lock(1)).len(), 2);
        assert_eq!(names(&events, "e", of_lock(1)).len(), 2);
    }
}
