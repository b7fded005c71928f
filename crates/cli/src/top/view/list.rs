//! The list of locks.

use super::super::app::App;
use super::super::columns::{Column, Context, columns, fitting};
use super::Look;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

pub(super) fn draw(frame: &mut Frame, area: Rect, app: &mut App, look: &Look) {
    if app.rows.is_empty() {
        let text = if app.wanted.filter.is_empty() {
            "No thread waited for a lock within the last minute."
        } else {
            "No such lock was waited for within the last minute; Esc shows all."
        };
        return frame.render_widget(Paragraph::new(text), area);
    }
    let columns: Vec<&Column> = columns(area.width, app.view.processes.len() > 1).collect();
    let widths = widths(&columns, area.width);
    // Only visible lines are made: names of call sites are looked up for them.
    let seen = usize::from(area.height.saturating_sub(1)).max(1);
    let first = app.selected.saturating_sub(seen - 1);
    let mut context = Context { view: &app.view, names: &mut app.names };
    let rows = app.rows.iter().skip(first).take(seen).map(|row| {
        let cells = columns.iter().zip(&widths).map(|(column, width)| {
            let cell = fitting(&(column.cell)(row, &mut context), usize::from(*width));
            aligned(cell, column)
        });
        Row::new(cells.collect::<Vec<_>>()).style(look.share(row.share))
    });
    let rows: Vec<Row> = rows.collect();
    let header = Row::new(columns.iter().map(|column| aligned(column.title.to_owned(), column))).style(look.heading());
    let table = Table::new(rows, widths.iter().map(|width| Constraint::Length(*width)))
        .header(header)
        .row_highlight_style(look.selected());
    let mut state = TableState::default().with_selected(app.selected - first);
    frame.render_stateful_widget(table, area, &mut state);
}

fn aligned(text: String, column: &Column) -> Cell<'static> {
    Cell::from(Text::from(text).alignment(if column.grows { Alignment::Left } else { Alignment::Right }))
}

/// Returns the widths: names share the room that figures leave, in proportion to their minimum widths.
pub(super) fn widths(columns: &[&Column], width: u16) -> Vec<u16> {
    let used: u16 = columns.iter().map(|column| column.width + 1).sum::<u16>().saturating_sub(1);
    let free = u32::from(width.saturating_sub(used));
    let growing: u32 = columns.iter().filter(|column| column.grows).map(|column| u32::from(column.width)).sum();
    let more = |column: &&Column| if column.grows { free * u32::from(column.width) / growing.max(1) } else { 0 };
    columns.iter().map(|column| column.width + more(column) as u16).collect()
}
