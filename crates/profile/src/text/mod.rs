//! The report for a terminal: 100 columns, what matters first.

mod figures;
mod futex;
mod locks;

use crate::model::{Ending, FrameId, Profile, Site};
use figures::{count, cut, plural, share, time};
use std::fmt::Write;

/// Columns of a report.
const COLUMNS: usize = 100;
/// Lines of a section that is not about the locks themselves.
const LINES: usize = 5;

/// The report.
#[must_use]
pub fn report(profile: &Profile) -> String {
    let mut text = String::new();
    if profile.recording.knows_acquisitions() {
        recorded(&mut text, profile);
    } else {
        futex::report(&mut text, profile);
    }
    let lines = text.lines().map(|line| cut(line.trim_end(), COLUMNS));
    lines.fold(String::new(), |text, line| text + &line + "\n")
}

/// The report on what the recorder saw.
fn recorded(text: &mut String, profile: &Profile) {
    summary(text, profile);
    if !profile.locks.is_empty() {
        locks::table(text, profile);
        locks::details(text, profile);
    }
    conditions(text, profile);
    inversions(text, profile);
    shared_lines(text, profile);
    threads(text, profile);
    notes(text, profile);
}

fn ending(ending: Ending) -> String {
    match ending {
        Ending::Running => ", still running".to_owned(),
        Ending::Exited(0) => String::new(),
        Ending::Ended => ", exit status not known".to_owned(),
        Ending::Exited(status) => format!(", exit status {status}"),
        Ending::Signalled(signal) => format!(", ended by signal {signal}"),
    }
}

/// The lines that matter.
fn summary(text: &mut String, profile: &Profile) {
    let program = &profile.program;
    let ending = ending(program.ending);
    let _ = writeln!(
        text,
        "{}: {}, {}, {} locks{ending}",
        cut(&program.command.join(" "), 60),
        time(program.duration_ns),
        plural(profile.threads.len() as u64, "thread", "threads"),
        program.policy,
    );
    let usages = || profile.locks.iter().map(|lock| &lock.usage);
    let acquisitions: u64 = usages().map(|usage| usage.acquisitions).sum();
    let contended: u64 = usages().map(|usage| usage.contended).sum();
    let waited: u64 = usages().map(|usage| usage.wait.sum_ns).sum();
    let alive: u64 = profile.threads.iter().map(|thread| thread.ended_ns.saturating_sub(thread.began_ns)).sum();
    if acquisitions == 0 {
        let _ = writeln!(
            text,
            "It took no pthread lock. Programs with locks of their own (Go, Rust's std, Java's monitors, raw\n\
             futexes) are not seen this way; as root, `turnwise profile --futex -- CMD` traces their sleeps."
        );
        return;
    }
    let _ = writeln!(
        text,
        "Waited for locks: {} ({} of the threads' time); {} of {} acquisitions waited ({})",
        time(waited),
        share(waited, alive),
        count(contended),
        count(acquisitions),
        share(contended, acquisitions)
    );
    if let (Some(lock), true) = (profile.locks.first(), waited > 0) {
        let part = share(lock.usage.wait.sum_ns, waited);
        let _ = writeln!(text, "Most of it for: {} ({part})", lock.name);
        if let Some(site) = profile.sites.iter().find(|site| site.lock == 0 && site.usage.wait.sum_ns > 0) {
            let part = share(site.usage.wait.sum_ns, waited);
            let _ = writeln!(text, "Most of it in:  {} ({part})", site_name(profile, site));
        }
        if let Some(pair) = profile.blocked.first() {
            let (waiter, holder) = (&profile.sites[pair.waiter as usize], &profile.sites[pair.holder as usize]);
            let _ = writeln!(
                text,
                "Who blocked:    {} while {} waited ({})",
                site_name(profile, holder),
                site_name(profile, waiter),
                time(pair.wait_ns)
            );
        }
    }
}

/// A site in one line. Of a function that only locks for others, the caller is named, too.
fn site_name(profile: &Profile, site: &Site) -> String {
    let own = site.frames.first().map_or_else(|| "?".to_owned(), |frame| place(profile, *frame));
    let kind = match (site.reader, site.after_wait) {
        (true, _) => " [read]",
        (_, true) => " [after wait]",
        _ => "",
    };
    let is_wrapper = site.frames.iter().all(|frame| crate::analysis::is_wrapper(&profile.frames[*frame as usize]));
    let callers = callers(profile, site);
    match callers.first().filter(|_| is_wrapper) {
        Some((caller, _)) => format!("{}{kind} by {own}", place(profile, *caller)),
        None => own + kind,
    }
}

/// The first frames outside of the site's functions and of functions that only lock for others, with their wait time.
fn callers(profile: &Profile, site: &Site) -> Vec<(FrameId, u64)> {
    let mut found: Vec<(FrameId, u64)> = Vec::new();
    for usage in &site.stacks {
        let stack = &profile.stacks[usage.stack as usize];
        // What was inlined at the call, and the function itself.
        let own = stack.iter().position(|frame| !profile.frames[*frame as usize].inlined).map_or(0, |last| last + 1);
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

/// Whether a function only starts threads or programs.
fn is_root(function: &str) -> bool {
    ["start_thread", "clone3", "__clone", "_start", "thread_start"].contains(&function)
        || function.starts_with("__libc_start")
}

/// `function (file:line)`.
fn place(profile: &Profile, frame: FrameId) -> String {
    let frame = &profile.frames[frame as usize];
    let function = cut(&frame.function, 44);
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({}:{line})", file.rsplit('/').next().unwrap_or(file)),
        _ if frame.module.is_empty() => function,
        _ => format!("{function} ({})", cut(&frame.module, 24)),
    }
}

fn conditions(text: &mut String, profile: &Profile) {
    let used: Vec<_> = profile.conditions.iter().filter(|condition| condition.waits > 0).collect();
    if used.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nCONDITION VARIABLES\n     waits for nothing  timed out   signals  broadcasts  mean wait  variable"
    );
    for condition in used.iter().take(LINES) {
        let _ = writeln!(
            text,
            "{:>10} {:>11} {:>10} {:>9} {:>11} {:>10}  {}",
            count(condition.waits),
            count(condition.woken_for_nothing),
            count(condition.timed_out),
            count(condition.signals),
            count(condition.broadcasts),
            time(condition.wait.mean_ns()),
            condition.name
        );
    }
    more(text, used.len());
}

fn inversions(text: &mut String, profile: &Profile) {
    if profile.inversions.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nTAKEN IN BOTH ORDERS (two threads that do this at the same time wait for each other for ever)"
    );
    for inversion in profile.inversions.iter().take(LINES) {
        let name = |lock: u32| cut(&profile.locks[lock as usize].name, 40);
        let site = |site: u32| site_name(profile, &profile.sites[site as usize]);
        let (a, b) = (name(inversion.a), name(inversion.b));
        let _ = writeln!(text, "  {b} under {a}: {}", site(inversion.b_under_a));
        let _ = writeln!(text, "  {a} under {b}: {}", site(inversion.a_under_b));
    }
    more(text, profile.inversions.len());
}

fn shared_lines(text: &mut String, profile: &Profile) {
    if profile.shared_lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nON ONE CACHE LINE (taking one of them slows the others down: set them 64 bytes apart)");
    for line in profile.shared_lines.iter().take(LINES) {
        let names: Vec<_> = line.locks.iter().map(|lock| profile.locks[*lock as usize].name.as_str()).collect();
        let _ = writeln!(text, "  {:#x}: {}", line.line, names.join(", "));
    }
    more(text, profile.shared_lines.len());
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
        let _ = writeln!(
            text,
            "{:>10} {:>12} {:>13} {:>10}  {} ({})",
            time(usage.wait.sum_ns),
            share(usage.wait.sum_ns, alive),
            count(usage.acquisitions),
            share(usage.contended, usage.acquisitions),
            thread.name,
            thread.tid
        );
    }
    more(text, order.len());
}

fn notes(text: &mut String, profile: &Profile) {
    let recording = &profile.recording;
    let _ = writeln!(
        text,
        "\nEvery acquisition and wait is counted, waits with their lengths. Stack, holder and hold time are those of\n\
         each site's first waits, of waits of 100 us and more (of those under 1 ms 1 stack in 8), of 1 in {}\n\
         others; hold times of 1 in {} uncontended acquisitions. Totals of what is sampled are scaled up.",
        recording.stack_one_in, recording.hold_one_in
    );
    if recording.acquisitions_unattributed > 0 {
        let _ = writeln!(text, "{} acquisitions are in no line above.", count(recording.acquisitions_unattributed));
    }
    wrapped_notes(text, &recording.remarks);
}

fn wrapped_notes(text: &mut String, remarks: &[String]) {
    for remark in remarks {
        for (index, line) in wrapped(remark).iter().enumerate() {
            let _ = writeln!(text, "{}{line}", if index == 0 { "Note: " } else { "      " });
        }
    }
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > COLUMNS - 6 {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn more(text: &mut String, all: usize) {
    if all > LINES {
        let _ = writeln!(text, "  … {} more: --json FILE has them", all - LINES);
    }
}
