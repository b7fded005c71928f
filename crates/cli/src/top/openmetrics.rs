//! `turnwise top --openmetrics`: all totals of locks, as OpenMetrics text, for Prometheus and similar tools.

use crate::live::{BUCKETS, Model, Names, Row, View, Wanted, Watch, lower_bound, rows};
use anyhow::Result;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;

/// The names of labels, and their values for one line.
type Labels = Vec<(&'static str, String)>;

/// A metric's name, its description, and its value for one line.
type Figure<T> = (&'static str, &'static str, fn(&T) -> u64);

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
        let view = Model::default().step(&self.watch.snapshots()?);
        let is_alive = view.processes.iter().any(|process| process.alive);
        Ok((encoded(&view, &mut self.names, &self.wanted, self.limit)?, is_alive))
    }
}

/// Formats a first look as text.
fn encoded(view: &View, names: &mut Names, wanted: &Wanted, limit: usize) -> Result<String> {
    let (rows, _) = rows(view, names, wanted, limit);
    let locks = rows.into_iter().map(|row| (labels(&row), row)).collect();
    let processes = view.processes.iter().map(|process| {
        let labels = vec![("pid", process.id.pid.to_string()), ("program", process.name.clone())];
        let of_it = view.threads.iter().filter(|thread| thread.process == process.id);
        let lost = [process.lost.waits.saturating_add(process.lost.nested), process.lost.threads];
        ProcessMetrics { labels, alive: process.alive, threads: of_it.count() as u64, lost }
    });
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Metrics { locks, processes: processes.collect() }));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

/// Returns the labels; combined processes have no number, and no meaningful addresses.
fn labels(row: &Row) -> Labels {
    let mut labels = vec![("program", row.program.clone())];
    if let [lock] = row.locks.as_slice() {
        labels.push(("pid", lock.process.pid.to_string()));
        labels.push(("address", format!("{:#x}", lock.address)));
    }
    labels.extend([("lock", row.name.clone()), ("kind", row.kind.name().to_owned())]);
    labels
}

/// A process with its figures.
#[derive(Debug)]
struct ProcessMetrics {
    labels: Labels,
    alive: bool,
    threads: u64,
    /// The number of waits and threads that found no room.
    lost: [u64; 2],
}

/// All exported metrics.
#[derive(Debug)]
struct Metrics {
    locks: Vec<(Labels, Row)>,
    processes: Vec<ProcessMetrics>,
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        self.histograms(&mut encoder)?;
        self.lock_counters(&mut encoder)?;
        self.lock_gauges(&mut encoder)?;
        self.process_figures(&mut encoder)
    }
}

impl Metrics {
    fn histograms(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let help = "How long threads waited for a lock";
        let mut metric =
            encoder.encode_descriptor("turnwise_lock_wait", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for (labels, row) in &self.locks {
            let buckets = buckets(&row.total.histogram);
            let count = buckets.iter().map(|(_, count)| count).sum();
            let sum = row.total.finished_ns as f64 / 1e9;
            metric.encode_family(labels)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }

    fn lock_counters(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let of: [Figure<Row>; 4] = [
            ("turnwise_lock_sleeps", "Times that a waiting thread slept", |row| row.total.sleeps),
            ("turnwise_lock_steals", "Acquisitions past threads that slept", |row| row.total.steals),
            ("turnwise_lock_handoffs", "Acquisitions by a hand-off", |row| row.total.handoffs),
            ("turnwise_lock_gave_up", "Waits that ended without the lock", |row| row.total.gave_up),
        ];
        for (name, help, value) in of {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (labels, row) in &self.locks {
                counter(metric.encode_family(labels)?, value(row))?;
            }
        }
        Ok(())
    }

    fn lock_gauges(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let name = "turnwise_lock_waiting_threads";
        let mut metric =
            encoder.encode_descriptor(name, "Threads that wait for a lock now", None, MetricType::Gauge)?;
        for (labels, row) in &self.locks {
            gauge(metric.encode_family(labels)?, row.waiters as f64)?;
        }
        let of: [Figure<Row>; 2] = [
            ("turnwise_lock_longest_wait", "Longest wait for a lock that has ended", |row| row.total.longest_ns),
            ("turnwise_lock_longest_wait_now", "Longest unfinished wait", |row| row.longest_now_ns.unwrap_or(0)),
        ];
        for (name, help, value) in of {
            let mut metric = encoder.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Gauge)?;
            for (labels, row) in &self.locks {
                gauge(metric.encode_family(labels)?, value(row) as f64 / 1e9)?;
            }
        }
        Ok(())
    }

    fn process_figures(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let of: [Figure<ProcessMetrics>; 2] = [
            ("turnwise_process_up", "1 while the process runs", |process| u64::from(process.alive)),
            ("turnwise_process_threads", "Threads that have waited for a lock", |process| process.threads),
        ];
        for (name, help, value) in of {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for process in &self.processes {
                gauge(metric.encode_family(&process.labels)?, value(process) as f64)?;
            }
        }
        let lost = ["turnwise_process_lost_waits", "turnwise_process_lost_threads"];
        for (place, name) in lost.into_iter().enumerate() {
            let mut metric = encoder.encode_descriptor(name, "What found no room", None, MetricType::Counter)?;
            for process in &self.processes {
                counter(metric.encode_family(&process.labels)?, process.lost[place])?;
            }
        }
        Ok(())
    }
}

fn counter(metric: MetricEncoder, value: u64) -> fmt::Result {
    ConstCounter::new(value).encode(metric)
}

fn gauge(metric: MetricEncoder, value: f64) -> fmt::Result {
    ConstGauge::new(value).encode(metric)
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
        hot.histogram[31] = 5;
        let mut look = snapshot(BEGIN, vec![hot, lock(0x200, 10)], threads);
        look.lost.threads = 2;
        let mut names = Names::given(&[(id(0x100), "std::map<\"a\\b\">::lock\n"), (id(0x200), "log")], &[]);
        encoded(&Model::default().step(&[look]), &mut names, &Wanted::default(), 9).unwrap()
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
