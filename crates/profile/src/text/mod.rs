//! The report for a terminal: 100 columns, the most important first.

mod figures;
mod futex;
mod lines;
mod live;
mod locks;
mod summary;

use crate::model::{FrameId, Method, Profile, Site};
use crate::output::names::base;
use crate::output::{deadlocks, headlines};
use figures::{count, plural, share, time};
use lines::{fitted, wrapped};
pub use lines::{shared, shortened};
use std::fmt::Write;

/// The number of lines of a section that is not about the locks themselves.
const LINES: usize = 5;
/// The most columns of a call site's name: its share of the wait time precedes it.
const SITE: usize = 90;
/// The number of columns of a name next to others.
const BESIDE: usize = 60;

/// Formats the report for a terminal.
#[must_use]
pub fn report(profile: &Profile) -> String {
    let mut text: String = deadlocks::sentences(profile).map(|sentence| wrapped(&sentence, "  ")).collect();
    for missing in &profile.recording.missing {
        text += &wrapped(missing, "");
    }
    match profile.recording.method {
        Method::Recorder => recorded(&mut text, profile),
        Method::FutexTrace => futex::report(&mut text, profile),
        Method::Live => live::report(&mut text, profile),
    }
    text.extend(headlines::others(profile).map(|others| wrapped(&format!("Note: {others}."), "      ")));
    lines::within(&text)
}

/// Writes the report on a recording.
fn recorded(text: &mut String, profile: &Profile) {
    if profile.locks.iter().all(|lock| lock.usage.acquisitions == 0) {
        // No acquisitions were counted: the method and the locks' events are not worth mentioning.
        summary::command(text, profile);
        summary::no_locks(text, profile);
        return;
    }
    summary::of_locks(text, profile);
    locks::table(text, profile);
    locks::sites(text, profile);
    locks::details(text, profile);
    conditions(text, profile);
    inversions(text, profile);
    shared_lines(text, profile);
    threads(text, profile);
    notes(text, profile);
}

/// Formats a site in one line. For a function that only locks for others, the caller is also named.
fn site_name(profile: &Profile, site: &Site) -> String {
    let own = site.frames.first().map_or_else(|| "?".to_owned(), |frame| place(profile, *frame));
    let kind = match (site.reader, site.after_wait) {
        (true, _) => " [read]",
        (_, true) => " [after wait]",
        _ => "",
    };
    let is_wrapper = site.frames.iter().all(|frame| crate::analysis::is_wrapper(&profile.frames[*frame as usize]));
    let callers = callers(profile, site);
    let name = match callers.first().filter(|_| is_wrapper) {
        Some((caller, _)) if site.frames.is_empty() => place(profile, *caller) + kind,
        Some((caller, _)) => format!("{}{kind} by {own}", place(profile, *caller)),
        None => own + kind,
    };
    shortened(&name, SITE)
}

/// Returns the first frames outside the site's functions and functions that only lock for others, with wait times.
fn callers(profile: &Profile, site: &Site) -> Vec<(FrameId, u64)> {
    let mut found: Vec<(FrameId, u64)> = Vec::new();
    for usage in &site.stacks {
        let stack = &profile.stacks[usage.stack as usize];
        // The frame that names the site, which may be inlined in the next; none if the call is unknown.
        let is_class = |frame: &FrameId| crate::analysis::is_lock_class(&profile.frames[*frame as usize]);
        let named = stack.iter().position(|frame| !is_class(frame)).filter(|_| !site.frames.is_empty());
        let own = named.map_or(0, |place| place + 1);
        let inside = |frame: &FrameId| crate::analysis::is_wrapper(&profile.frames[*frame as usize]);
        let Some(caller) = stack.iter().skip(own).find(|frame| !inside(frame)) else { continue };
        if is_root(&profile.frames[*caller as usize].function) {
            continue;
        }
        match found.iter_mut().find(|(known, _)| known == caller) {
            Some((_, wait)) => *wait += usage.wait_ns,
            None => found.push((*caller, usage.wait_ns)),
        }
    }
    found.sort_by_key(|(_, wait)| std::cmp::Reverse(*wait));
    found
}

/// Returns whether a function only starts threads or programs.
fn is_root(function: &str) -> bool {
    ["start_thread", "clone3", "__clone", "_start", "thread_start"].contains(&function)
        || function.starts_with("__libc_start")
}

/// Formats a frame as `function (file:line)`.
fn place(profile: &Profile, frame: FrameId) -> String {
    let frame = &profile.frames[frame as usize];
    let function = shortened(&frame.function, BESIDE);
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({}:{line})", shortened(base(file), 24)),
        _ if frame.module.is_empty() => function,
        _ => format!("{function} ({})", shortened(base(&frame.module), 24)),
    }
}

fn conditions(text: &mut String, profile: &Profile) {
    let used: Vec<_> = profile.conditions.iter().filter(|condition| condition.waits > 0).collect();
    if used.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nCONDITION VARIABLES\n     spurious wake-ups  timed out   signals  broadcasts  mean wait  variable"
    );
    for condition in used.iter().take(LINES) {
        let figures = format!(
            "{:>10} {:>11} {:>10} {:>9} {:>11} {:>10}  ",
            count(condition.waits),
            count(condition.woken_for_nothing),
            count(condition.timed_out),
            count(condition.signals),
            count(condition.broadcasts),
            time(condition.wait.mean_ns()),
        );
        *text += &fitted(&[(&figures, &condition.name)], "");
    }
    more(text, used.len(), LINES);
}

fn inversions(text: &mut String, profile: &Profile) {
    if profile.inversions.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nTAKEN IN BOTH ORDERS (two threads that do this at the same time wait for each other forever)"
    );
    for inversion in profile.inversions.iter().take(LINES) {
        let name = |lock: u32| profile.locks[lock as usize].name.as_str();
        let site = |site: u32| site_name(profile, &profile.sites[site as usize]);
        let (a, b) = (name(inversion.a), name(inversion.b));
        *text += &fitted(&[("  ", b), (" under ", a), (": ", &site(inversion.b_under_a))], "");
        *text += &fitted(&[("  ", a), (" under ", b), (": ", &site(inversion.a_under_b))], "");
    }
    more(text, profile.inversions.len(), LINES);
}

fn shared_lines(text: &mut String, profile: &Profile) {
    if profile.shared_lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nON ONE CACHE LINE (taking one of them slows the others down: set them 64 bytes apart)");
    for line in profile.shared_lines.iter().take(LINES) {
        let names = line.locks.iter().map(|lock| shortened(&profile.locks[*lock as usize].name, BESIDE));
        *text += &wrapped(&format!("  {:#x}: {}", line.line, names.collect::<Vec<_>>().join(", ")), "    ");
    }
    more(text, profile.shared_lines.len(), LINES);
}

fn threads(text: &mut String, profile: &Profile) {
    if profile.threads.len() < 2 {
        return;
    }
    let mut order: Vec<_> = profile.threads.iter().collect();
    order.sort_by_key(|thread| std::cmp::Reverse((thread.usage.wait.sum_ns, thread.usage.acquisitions)));
    let _ = writeln!(text, "\nTHREADS\n    waited  of its time  acquisitions  contended  thread");
    for thread in order.iter().take(LINES) {
        let usage = &thread.usage;
        let alive = thread.ended_ns.saturating_sub(thread.began_ns);
        let figures = format!(
            "{:>10} {:>12} {:>13} {:>10}  ",
            time(usage.wait.sum_ns),
            share(usage.wait.sum_ns, alive),
            count(usage.acquisitions),
            share(usage.contended, usage.acquisitions),
        );
        *text += &fitted(&[(&figures, &thread.name)], &format!(" ({})", thread.tid));
    }
    more(text, order.len(), LINES);
}

fn notes(text: &mut String, profile: &Profile) {
    let recording = &profile.recording;
    let reported = format!(
        "Every acquisition and wait is counted, waits with their lengths. Stack, holder and hold time are those of \
         each site's first waits, of waits of 100 us and more (of those under 1 ms 1 stack in 8), of 1 in {} others; \
         hold times of 1 in {} uncontended acquisitions. Totals of what is sampled are scaled up.",
        recording.stack_one_in, recording.hold_one_in
    );
    *text += "\n";
    *text += &wrapped(&reported, "");
    if recording.acquisitions_unattributed > 0 {
        let acquisitions = plural(recording.acquisitions_unattributed, "acquisition is", "acquisitions are");
        let _ = writeln!(text, "{acquisitions} in no line above.");
    }
    remarks(text, &recording.remarks);
}

fn remarks(text: &mut String, remarks: &[String]) {
    for remark in remarks {
        *text += &wrapped(&format!("Note: {remark}"), "      ");
    }
}

fn more(text: &mut String, all: usize, shown: usize) {
    if all > shown {
        let _ = writeln!(text, "  … {} more: --json FILE has them", all - shown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Frame, StackUsage};

    #[test]
    fn a_site_that_is_not_known_is_identified_by_the_innermost_frames_of_its_stacks() {
        let frame = |function: &str| Frame { function: function.to_owned(), ..Frame::default() };
        let mut profile = Profile { frames: vec![frame("take_job"), frame("run")], ..Profile::default() };
        profile.stacks = vec![vec![0, 1]];
        let stacks = vec![StackUsage { stack: 0, waits: 1, wait_ns: 9 }];
        let known = Site { frames: vec![0], stacks: stacks.clone(), ..Site::default() };
        assert_eq!((site_name(&profile, &known), callers(&profile, &known)), ("take_job".to_owned(), vec![(1, 9)]));
        let unknown = Site { stacks, ..Site::default() };
        assert_eq!(callers(&profile, &unknown), [(0, 9)]);
        assert_eq!(site_name(&profile, &unknown), "take_job");
    }
}
