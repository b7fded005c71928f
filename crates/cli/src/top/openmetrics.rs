//! `turnwise top --openmetrics`: all totals of locks, as OpenMetrics text, for Prometheus and similar tools.
//! `openmetrics.jinja` has the metrics.

use super::json;
use crate::live::{BUCKETS, Model, Names, Process, Row, View, Wanted, Watch, lower_bound, rows};
use anyhow::Result;
use turnwise_profile::template::{Serde, Value, Words, context};

/// The buckets of the histogram: every second power of two from about a microsecond to four seconds.
const FIRST_BUCKET: usize = 10;
const LAST_BUCKET: usize = BUCKETS - 1;

/// The most of one bucket that can be added up: counters of damaged files may be anything.
const MOST: u64 = u64::MAX / BUCKETS as u64;

/// Produces the text repeatedly.
pub(super) struct Exporter {
    watch: Watch,
    wanted: Wanted,
    limit: usize,
    names: Names,
}

impl Exporter {
    pub(super) fn new(watch: Watch, wanted: Wanted, limit: usize) -> Exporter {
        Exporter { watch, wanted, limit, names: Names::default() }
    }

    /// Returns the current text, and whether a program still runs.
    pub(super) fn text(&mut self) -> Result<(String, bool)> {
        // The first look of a model covers all time since the programs began.
        let mut view = Model::default().step(&self.watch.snapshots()?);
        self.names.add_kinds(&mut view);
        let is_alive = view.processes.iter().any(|process| process.alive);
        Ok((encoded(&view, &mut self.names, &self.wanted, self.limit), is_alive))
    }
}

/// Formats a first look as text.
fn encoded(view: &View, names: &mut Names, wanted: &Wanted, limit: usize) -> String {
    let (rows, _) = rows(view, names, wanted, limit);
    let processes = view.processes.iter().map(|process| process_values(view, process));
    let (locks, processes): (Vec<Value>, Vec<Value>) = (rows.iter().map(lock_values).collect(), processes.collect());
    Words::of(include_str!("openmetrics.jinja")).render(context! { locks, processes })
}

fn lock_values(row: &Row) -> Value {
    let mut labels = vec![("program", row.program.clone())];
    // Combined locks have no number, and no meaningful addresses.
    if let [lock] = row.locks.as_slice() {
        labels.push(("pid", lock.process.pid.to_string()));
        labels.push(("address", format!("{:#x}", lock.address)));
    }
    labels.extend([("lock", row.name.clone()), ("kind", row.what.to_owned())]);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut count = 0;
    let buckets = buckets(&row.total.histogram).into_iter().map(|(bound, here)| {
        count += here;
        context! { le => if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() }, count }
    });
    let buckets: Vec<Value> = buckets.collect();
    context! {
        labels => written(&labels),
        buckets, count,
        wait_seconds => seconds(row.total.wait_ns),
        sleeps => row.total.sleeps,
        steals => row.total.steals,
        handoffs => row.total.handoffs,
        gave_up => row.total.gave_up,
        waiting_threads => row.waiters,
        longest_wait_seconds => seconds(row.total.longest_ns),
        longest_wait_now_seconds => seconds(row.longest_now_ns.unwrap_or(0)),
    }
}

fn process_values(view: &View, process: &Process) -> Value {
    let labels = written(&[("pid", process.id.pid.to_string()), ("program", process.name.clone())]);
    context! { labels, up => u64::from(process.alive), ..Value::from(Serde(json::process_value(view, process))) }
}

/// Writes labels; no value ends its quotation marks or its line.
fn written(labels: &[(&str, String)]) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect::<Vec<_>>().join(",")
}

/// Returns the upper bounds in seconds, and the number of waits in each bucket.
fn buckets(histogram: &[u64; BUCKETS]) -> Vec<(f64, u64)> {
    let mut buckets: Vec<(f64, u64)> = Vec::new();
    let mut count = 0;
    for (bucket, here) in histogram.iter().enumerate() {
        count += (*here).min(MOST);
        let is_bound = bucket + 1 >= FIRST_BUCKET && (bucket + 1 - FIRST_BUCKET).is_multiple_of(2);
        if is_bound && bucket < LAST_BUCKET {
            buckets.push((lower_bound(bucket + 1) as f64 / 1e9, std::mem::take(&mut count)));
        }
    }
    buckets.push((f64::INFINITY, count));
    buckets
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::live::made_up::{BEGIN, id, lock, running, snapshot, waiting};
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// Returns the text for a made-up server, whose lock has a name that needs escaping.
    pub(in crate::top) fn made_up() -> String {
        let threads = vec![waiting(11, 0x100, Some(13), BEGIN, 3_000_000), running(13)];
        let mut hot = lock(0x100, 1_000);
        hot.totals.histogram[31] = 5;
        let mut look = snapshot(BEGIN, vec![hot, lock(0x200, 10)], threads);
        look.lost.threads = 2;
        let mut names = Names::given(&[(id(0x100), "std::map<\"a\\b\">::lock\n"), (id(0x200), "log")], &[]);
        encoded(&Model::default().step(&[look]), &mut names, &Wanted::default(), 9)
    }

    #[test]
    fn buckets_hold_all_waits() {
        let mut histogram = [0; BUCKETS];
        (histogram[0], histogram[9], histogram[10], histogram[30], histogram[31]) = (1, 2, 4, 8, 16);
        let buckets = buckets(&histogram);
        assert_eq!(buckets[..2], [(1.024e-6, 3), (4.096e-6, 4)]);
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, 24)));
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 31);
        let wild = super::buckets(&[u64::MAX; BUCKETS]);
        assert!(wild.iter().map(|(_, count)| count).sum::<u64>() > 0, "it does not overflow");
    }

    /// A script that prints what Prometheus's own parser reads: `sample name labels value` lines, sorted.
    const PARSE: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        print(family.type, family.unit, sample.name, sorted(sample.labels.items()), sample.value)
";

    /// Parses the text; `None`: the parser is not installed.
    pub(in crate::top) fn parsed(text: &str) -> Option<Vec<String>> {
        let python = |script: &str| {
            let mut command = Command::new("/usr/bin/python3");
            command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().ok()
        };
        if !python("import prometheus_client.openmetrics.parser")?.wait_with_output().ok()?.status.success() {
            return None;
        }
        let mut parser = python(PARSE)?;
        parser.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = parser.wait_with_output().unwrap();
        assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    }

    #[test]
    fn prometheus_reads_every_sample() {
        let text = made_up();
        let Some(samples) = parsed(&text) else {
            return eprintln!("SKIPPED: needs Debian's python3-prometheus-client");
        };
        let find = |name: &str, label: &str| {
            let found: Vec<&String> =
                samples.iter().filter(|line| line.contains(&format!(" {name} ")) && line.contains(label)).collect();
            assert_eq!(found.len(), 1, "{name} {label} in {samples:#?}");
            found[0].rsplit(' ').next().unwrap().parse::<f64>().unwrap()
        };
        let hot = r#"std::map<"a\\b">::lock\n"#;
        assert_eq!(find("turnwise_lock_wait_seconds_count", hot), 1005.0);
        assert_eq!(find("turnwise_lock_wait_seconds_sum", "log"), 1.5e-5);
        assert_eq!(find("turnwise_lock_sleeps_total", hot), 500.0);
        assert_eq!(find("turnwise_lock_waiting_threads", hot), 1.0);
        assert_eq!(find("turnwise_lock_longest_wait_now_seconds", hot), 0.003);
        assert_eq!(find("turnwise_process_lost_threads_total", "4000001"), 2.0);
        assert!(samples.iter().any(|line| line.starts_with("histogram seconds turnwise_lock_wait_seconds_bucket")));
    }

    #[test]
    fn the_dashboard_asks_only_for_what_is_exported() {
        let dashboard: serde_json::Value =
            serde_json::from_str(include_str!("../../../../docs/grafana-locks.json")).unwrap();
        let text = made_up();
        let panels = dashboard["panels"].as_array().unwrap();
        let asked = panels.iter().map(|panel| panel["targets"][0]["expr"].as_str().unwrap());
        let metrics: Vec<&str> = asked
            .flat_map(|query| query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_'))
            .filter(|word| word.starts_with("turnwise_"))
            .collect();
        assert!(metrics.len() >= panels.len(), "{metrics:?}");
        let is_there = |metric: &str| text.lines().any(|line| line.starts_with(&format!("{metric}{{")));
        assert!(metrics.iter().all(|metric| is_there(metric)), "{metrics:?} in {text}");
    }
}
