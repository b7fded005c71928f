//! One lock in detail: its call sites, its blockers, the lengths of waits, and the last minute.

use super::super::app::App;
use super::super::columns::{held, length, thread_name, waiting, whole};
use super::Look;
use crate::live::{BUCKETS, LockId, LockView, Names, Row, ThreadView, View, lower_bound};
use crate::setting::shown;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};
use turnwise_live::unnumbered;
use turnwise_present::figures::{percent, short, time};
use turnwise_profile::text::shortened;

/// The width from which two parts are side by side.
const WIDE: u16 = 120;
/// The number of lines of the last minute.
const MINUTE: u16 = 4;
/// The most lines about blocking before the number of further ones.
const WAITERS: usize = 8;
/// The number of call sites that are listed.
const SITES: usize = 8;
/// The depth to which chains of waits are followed.
const DEPTH: usize = 4;

pub(super) fn draw(frame: &mut Frame, area: Rect, app: &mut App, look: &Look, (lock, name): (LockId, &str)) {
    let Some(row) = app.opened(lock).cloned() else {
        let text = format!("{name}: no thread waited for it within the last minute. Esc goes back.");
        return frame.render_widget(Paragraph::new(text), area);
    };
    let title = figures(&row, look);
    let [top, rest] = Layout::vertical([Constraint::Length(title.len() as u16), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(title), top);
    let (left, right) = if area.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).areas(rest);
        (left, right)
    } else {
        let lines = (2 * (SITES + 2) + WAITERS) as u16;
        let [above, below] =
            Layout::vertical([Constraint::Max(lines.min(rest.height / 2)), Constraint::Min(0)]).areas(rest);
        (above, below)
    };
    let width = usize::from(left.width.saturating_sub(1));
    let mut lines = sites(&app.view, &mut app.names, &row, look, width);
    lines.extend(waiters(&app.view, &mut app.names, &row, look, width));
    frame.render_widget(Paragraph::new(lines), left);
    let [minute, times] = Layout::vertical([Constraint::Length(MINUTE + 1), Constraint::Min(0)]).areas(right);
    draw_minute(frame, minute, app, look, &row);
    frame.render_widget(Paragraph::new(histogram(&row, look, times)), times);
}

fn figures(row: &Row, look: &Look) -> Vec<Line<'static>> {
    let process = row.process();
    let place =
        if row.locks.len() == 1 { format!(" at {:#x}", unnumbered(row.locks[0].address)) } else { String::new() };
    let title = format!("{}, {}{place} of {} {}", row.title(), row.what, row.program, process.pid);
    let none = || "-".to_owned();
    let now = format!(
        "now: {} waits/s, {} threads wait in the mean, {} of all; p50 {}, p99 {}",
        row.per_s.map_or_else(none, whole),
        row.waiting.map_or_else(none, waiting),
        percent(row.share),
        length(row.now.quantile(0.5)),
        length(row.now.quantile(0.99)),
    );
    let total = format!(
        "in all: {} waits, {}, longest {}; {} gave up",
        short(row.total.waits as f64),
        time(row.total.waited_ns() as f64),
        time(row.total.longest_ns as f64),
        short(row.total.gave_up as f64),
    );
    let ways = format!(
        "of these: {} sleeps, {} past sleepers (steals), {} by a hand-off",
        short(row.total.sleeps as f64),
        short(row.total.steals as f64),
        short(row.total.handoffs as f64),
    );
    let mut lines = vec![Line::styled(plain(&title), look.title()), Line::raw(now), Line::raw(total), Line::raw(ways)];
    if !row.tuned.is_empty() {
        lines.push(Line::raw(format!("set: {}", shown(&row.tuned))));
    }
    lines.push(Line::raw(""));
    lines
}

/// Returns the locks that a line stands for.
fn locks<'a>(view: &'a View, row: &'a Row) -> impl Iterator<Item = &'a LockView> {
    view.locks.iter().filter(|lock| row.locks.contains(&lock.id))
}

/// Returns the call sites, most time first.
fn sites(view: &View, names: &mut Names, row: &Row, look: &Look, width: usize) -> Vec<Line<'static>> {
    let mut sites: Vec<_> =
        locks(view, row).flat_map(|lock| lock.sites().into_iter().map(|site| (lock.id, site))).collect();
    sites.sort_by_key(|(lock, site)| (std::cmp::Reverse((site.wait_ns, site.total.wait_ns)), *lock, site.address));
    let all: f64 = sites.iter().map(|(_, site)| site.wait_ns as f64).sum();
    let heading = format!("{:>5} {:>7} {:>8} {:>8}  call site", "share", "waits", "in all", "longest");
    let mut lines = vec![Line::styled(heading, look.heading())];
    for (lock, site) in sites.iter().take(SITES) {
        let share = if all > 0.0 { site.wait_ns as f64 / all } else { 0.0 };
        let figures = format!(
            "{:>5} {:>7} {:>8} {:>8}  ",
            percent(share),
            short(site.waits as f64),
            time(site.total.wait_ns as f64),
            time(site.total.longest_ns as f64)
        );
        let name = shortened(&names.site(lock.process, site.address), width.saturating_sub(figures.len()));
        lines.push(Line::raw(figures + &name));
    }
    if sites.len() > SITES {
        lines.push(Line::raw(format!("and {} more", sites.len() - SITES)));
    }
    lines.push(Line::raw(""));
    lines
}

/// Returns the holder, its own wait, and its waiters.
fn waiters(view: &View, names: &mut Names, row: &Row, look: &Look, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("who blocks whom", look.heading())];
    if let Some((process, holder)) = row.holder {
        let thread = view.thread(process, holder.tid);
        let name = thread_name(thread.map_or("", |thread| &thread.name), holder.tid);
        let since = if holder.held_ns == 0 { String::new() } else { format!(" ({})", held(holder.held_ns)) };
        lines.push(Line::raw(format!("{name} has it{since}; {} wait for it", row.waiters)));
        lines.extend(chain(view, names, thread).into_iter().map(|line| Line::raw(shortened(&line, width))));
    } else {
        lines.push(Line::raw(format!("holder not known; {} wait for it", row.waiters)));
    }
    let mut waiting: Vec<&ThreadView> =
        locks(view, row).flat_map(|lock| lock.waiters.iter().map(|waiter| &view.threads[*waiter])).collect();
    waiting.sort_by_key(|thread| std::cmp::Reverse(thread.waiting.as_ref().map(|waiting| waiting.for_ns)));
    for thread in waiting.iter().take(WAITERS) {
        let Some(of) = &thread.waiting else { continue };
        let is_for_it = |other: &&ThreadView| {
            other.process == thread.process && other.waiting.as_ref().is_some_and(|of| of.owner == Some(thread.tid))
        };
        let blocked = view.threads.iter().filter(is_for_it).count();
        let blocks = if blocked > 0 { format!(", and blocks {blocked}") } else { String::new() };
        let site = names.site(thread.process, of.site);
        let line = format!("  {} {} {site}{blocks}", thread_name(&thread.name, thread.tid), time(of.for_ns as f64));
        lines.push(Line::raw(shortened(&line, width)));
    }
    if waiting.len() > WAITERS {
        lines.push(Line::raw(format!("  and {} more", waiting.len() - WAITERS)));
    }
    lines.push(Line::raw(""));
    lines
}

/// Returns what the holder waits for, and the holder of that.
fn chain<'a>(view: &'a View, names: &mut Names, mut thread: Option<&'a ThreadView>) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some((of, waiting)) = thread.and_then(|thread| Some((thread, thread.waiting.as_ref()?))) {
        let owner = waiting.owner.and_then(|tid| view.thread(of.process, tid));
        let whose =
            owner.map_or_else(String::new, |owner| format!(", which {} has", thread_name(&owner.name, owner.tid)));
        let lock = names.lock(waiting.lock, waiting.site);
        lines.push(format!("{}waits for {lock}{whose}", " ".repeat(1 + lines.len())));
        if lines.len() >= DEPTH {
            break;
        }
        thread = owner;
    }
    lines
}

fn draw_minute(frame: &mut Frame, area: Rect, app: &App, look: &Look, row: &Row) {
    let [title, chart] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let parts = usize::from(chart.width.clamp(1, 60));
    let minute = app.model.history.minute(&row.locks, app.view.taken_ns, parts);
    let most = minute.iter().copied().fold(0.0, f64::max);
    let text = format!(
        "threads waiting, last minute: now {}, at most {}",
        waiting(minute.last().copied().unwrap_or(0.0)),
        waiting(most)
    );
    frame.render_widget(Paragraph::new(Line::styled(text, look.heading())), title);
    // The widget takes whole numbers.
    let data: Vec<u64> = minute.iter().map(|mean| (mean * 1_000.0) as u64).collect();
    frame.render_widget(Sparkline::default().data(&data).style(look.bar()), chart);
}

/// Returns the waits that ended since the last look, by length: the non-empty buckets, and those between.
fn histogram(row: &Row, look: &Look, area: Rect) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("wait times", look.heading())];
    let counts = &row.now.histogram;
    let (Some(first), Some(last)) =
        (counts.iter().position(|count| *count > 0), counts.iter().rposition(|count| *count > 0))
    else {
        lines.push(Line::raw("no wait ended since the last sample"));
        return lines;
    };
    // If there is no room for all, the longest waits are the most important.
    let room = usize::from(area.height.saturating_sub(1)).max(1);
    let first = first.max((last + 1).saturating_sub(room));
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let width = usize::from(area.width).saturating_sub(20);
    for (bucket, &count) in counts.iter().enumerate().take(last + 1).skip(first) {
        let length = (count as f64 / most as f64 * width as f64).round() as usize;
        let from = time(lower_bound(bucket) as f64);
        let more = if bucket + 1 == BUCKETS { "+" } else { " " };
        let bar = "█".repeat(if count > 0 { length.max(1) } else { 0 });
        let label = format!("{from:>8}{more} {:>7} ", if count > 0 { short(count as f64) } else { String::new() });
        lines.push(Line::from(vec![Span::raw(label), Span::styled(bar, look.bar())]));
    }
    lines
}

/// Returns a program's text without characters that a terminal interprets.
fn plain(text: &str) -> String {
    shortened(text, usize::MAX)
}
