//! The threads: what they wait for, and how many wait for them.

use super::super::app::App;
use super::super::columns::{fitting, name_of, thread_name};
use super::Look;
use crate::live::{Names, ThreadView, View};
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::widgets::{Paragraph, Row, Table, TableState};
use std::collections::HashMap;
use turnwise_present::figures::time;

/// Draws threads that wait, longest first; then those that others wait for; then the rest.
pub(super) fn draw(frame: &mut Frame, area: Rect, app: &mut App, look: &Look) {
    let blocks = blocks(&app.view);
    let several = app.view.processes.len() > 1;
    let filter = app.wanted.filter.to_lowercase();
    let mut threads: Vec<&ThreadView> = app.view.threads.iter().collect();
    let blocked_by = |thread: &ThreadView| blocks.get(&(thread.process, thread.tid)).copied().unwrap_or(0);
    threads.sort_by_key(|thread| {
        let waits = thread.waiting.as_ref().map(|waiting| waiting.for_ns);
        (std::cmp::Reverse(waits), std::cmp::Reverse(blocked_by(thread)), thread.process, thread.tid)
    });
    let seen = usize::from(area.height.saturating_sub(1)).max(1);
    let mut lines: Vec<[String; 6]> = Vec::new();
    for thread in threads {
        let line = line(&app.view, &mut app.names, thread, blocked_by(thread), several);
        if filter.is_empty() || line.iter().any(|cell| cell.to_lowercase().contains(&filter)) {
            lines.push(line);
        }
        if lines.len() > app.thread + seen {
            break;
        }
    }
    if lines.is_empty() {
        return frame.render_widget(Paragraph::new("No such thread has waited for a lock."), area);
    }
    app.thread = app.thread.min(lines.len() - 1);
    let first = app.thread.saturating_sub(seen - 1);
    let widths = widths(area.width);
    let rows = lines.iter().skip(first).take(seen).map(|line| {
        Row::new(line.iter().zip(widths).map(|(cell, width)| fitting(cell, usize::from(width))).collect::<Vec<_>>())
    });
    let header = Row::new(["thread", "waits for", "since", "held by", "blocks", "call site"]).style(look.heading());
    let table = Table::new(rows.collect::<Vec<_>>(), widths.map(Constraint::Length))
        .header(header)
        .row_highlight_style(look.selected());
    let mut state = TableState::default().with_selected(app.thread - first);
    frame.render_stateful_widget(table, area, &mut state);
}

/// Returns how many threads wait for each.
fn blocks(view: &View) -> HashMap<(crate::live::ProcessId, u32), usize> {
    let mut blocks = HashMap::new();
    for thread in &view.threads {
        if let Some(owner) = thread.waiting.as_ref().and_then(|waiting| waiting.owner) {
            *blocks.entry((thread.process, owner)).or_default() += 1;
        }
    }
    blocks
}

fn line(view: &View, names: &mut Names, thread: &ThreadView, blocks: usize, several: bool) -> [String; 6] {
    let name = thread_name(&thread.name, thread.tid);
    let name = if several { format!("{}/{name}", thread.process.pid) } else { name };
    let blocks = if blocks == 0 { String::new() } else { blocks.to_string() };
    let Some(waiting) = &thread.waiting else {
        return [name, "-".to_owned(), String::new(), String::new(), blocks, String::new()];
    };
    let lock = format!("{} ({})", names.lock(waiting.lock, waiting.site), waiting.wanted);
    let owner = waiting.owner.map_or_else(|| "-".to_owned(), |tid| name_of(view, thread.process, tid));
    [name, lock, time(waiting.for_ns as f64), owner, blocks, names.site(thread.process, waiting.site)]
}

/// Returns the widths: figures have a fixed width; names share the rest.
fn widths(width: u16) -> [u16; 6] {
    let free = width.saturating_sub(8 + 6 + 5);
    let part = |parts: u16| (u32::from(free) * u32::from(parts) / 10) as u16;
    [part(2), part(3), 8, part(2), 6, part(3)]
}
