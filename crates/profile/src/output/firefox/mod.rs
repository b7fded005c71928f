//! The Firefox profiler's format: a marker for each wait and each hold of a thread, and the waits' stacks as samples.
//!
//! These are the waits that were kept individually; the totals of the others are in the other forms.

mod markers;

use super::names;
use crate::model::{Episode, Profile, StackId, Thread};
use anyhow::{Context, Result};
use fxprof_processed_profile as firefox;
use markers::{Hold, Wait};
use std::io::Write;

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(to, &converted(profile)?).context("the Firefox profile could not be written")
}

/// Maps a profile's items to those of the format.
struct Converter<'a> {
    from: &'a Profile,
    to: firefox::Profile,
    threads: Vec<firefox::ThreadHandle>,
    locks: Vec<firefox::StringHandle>,
    sites: Vec<firefox::StringHandle>,
    thread_names: Vec<firefox::StringHandle>,
    waiting: firefox::CategoryHandle,
    holding: firefox::CategoryHandle,
    nobody: firefox::StringHandle,
}

fn converted(profile: &Profile) -> Result<serde_json::Value> {
    let mut converter = Converter::new(profile);
    for episode in &profile.episodes {
        converter.episode(episode);
    }
    let mut json = serde_json::to_value(&converter.to)?;
    weigh_by_time(&mut json);
    Ok(json)
}

/// Formats a thread by name and number: many have the same name.
fn holder(thread: &Thread) -> String {
    format!("{} {}", names::cut(&thread.name), thread.tid).trim_start().to_owned()
}

/// Gives each sample the milliseconds that it stands for. The crate takes whole numbers only, so it was given
/// microseconds.
fn weigh_by_time(json: &mut serde_json::Value) {
    for thread in json["threads"].as_array_mut().into_iter().flatten() {
        let weights = thread["samples"]["weight"].as_array_mut();
        for weight in weights.into_iter().flatten() {
            *weight = (weight.as_f64().unwrap_or(0.0) / 1000.0).into();
        }
    }
}

fn at(ns: u64) -> firefox::Timestamp {
    firefox::Timestamp::from_nanos_since_reference(ns)
}

impl<'a> Converter<'a> {
    fn new(from: &'a Profile) -> Converter<'a> {
        let started = std::time::Duration::from_secs(from.program.started_unix_s);
        let reference = firefox::ReferenceTimestamp::from_duration_since_unix_epoch(started);
        let name = from.program.command.first().map_or("program", |command| names::base(command));
        let mut to = firefox::Profile::new(name, reference, firefox::SamplingInterval::from_millis(1));
        to.set_symbolicated(true);
        to.set_os_name(&from.program.machine);
        let process = to.add_process(name, from.program.pid, at(0));
        to.set_process_end_time(process, at(from.program.duration_ns));
        let mut threads = Vec::new();
        for thread in &from.threads {
            let is_main = thread.tid == from.program.pid;
            let handle = to.add_thread(process, thread.tid, at(thread.began_ns), is_main);
            to.set_thread_name(handle, &thread.name);
            to.set_thread_end_time(handle, at(thread.ended_ns));
            to.set_thread_show_markers_in_timeline(handle, true);
            to.set_thread_samples_weight_type(handle, firefox::WeightType::TracingMs);
            threads.push(handle);
        }
        let locks = from.locks.iter().map(|lock| to.intern_string(&names::cut(&lock.name))).collect();
        let sites = from.sites.iter().map(|site| to.intern_string(&names::site(from, site))).collect();
        let thread_names = from.threads.iter().map(|thread| to.intern_string(&holder(thread))).collect();
        let waiting = to.add_category("Waiting for a lock", firefox::CategoryColor::Orange);
        let holding = to.add_category("Holding a lock", firefox::CategoryColor::Blue);
        let nobody = to.intern_string("not seen");
        Converter { from, to, threads, locks, sites, thread_names, waiting, holding, nobody }
    }

    fn episode(&mut self, episode: &Episode) {
        let thread = self.threads[episode.thread as usize];
        let site = &self.from.sites[episode.site as usize];
        let (lock, name) = (self.locks[site.lock as usize], self.sites[episode.site as usize]);
        let (holder, holder_site) = episode.holder.map_or((self.nobody, self.nobody), |(thread, site)| {
            (self.thread_names[thread as usize], self.sites[site as usize])
        });
        let stack = self.stack(thread, episode.stack, &site.frames);
        let (began, acquired) = (at(episode.began_ns), at(episode.acquired_ns));
        let category = self.waiting;
        let kind = if episode.acquired { "wait" } else { "wait, given up" };
        let wait = Wait { category, name: kind, lock, site: name, holder, holder_site };
        let marker = self.to.add_marker(thread, firefox::MarkerTiming::Interval(began, acquired), wait);
        self.to.set_marker_stack(thread, marker, stack);
        let micros = i32::try_from(episode.acquired_ns.saturating_sub(episode.began_ns) / 1000).unwrap_or(i32::MAX);
        self.to.add_sample(thread, began, stack, firefox::CpuDelta::ZERO, micros);
        if let (true, Some(released)) = (episode.acquired, episode.released_ns) {
            let hold = Hold { category: self.holding, name: "hold", lock, site: name };
            self.to.add_marker(thread, firefox::MarkerTiming::Interval(acquired, at(released)), hold);
        }
    }

    /// Returns the whole stack if it was taken, otherwise the call site.
    fn stack(
        &mut self,
        thread: firefox::ThreadHandle,
        stack: Option<StackId>,
        site: &[u32],
    ) -> Option<firefox::StackHandle> {
        let frames = stack.map_or(site, |stack| &self.from.stacks[stack as usize]);
        let mut infos = Vec::with_capacity(frames.len());
        for &frame in frames.iter().rev() {
            let label = self.to.intern_string(&names::frame(&self.from.frames[frame as usize]));
            let frame = firefox::Frame::Label(label);
            let flags = firefox::FrameFlags::empty();
            infos.push(firefox::FrameInfo { frame, category_pair: self.waiting.into(), flags });
        }
        self.to.intern_stack_frames(thread, infos.into_iter())
    }
}
