//! Draws the view.

mod list;
mod lock;
mod look;
mod threads;

use super::app::{App, Screen, sorted_by};
use super::once::summary;
pub(super) use look::Look;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use turnwise_profile::text::shortened;

/// The number of processes that have a line each.
const PROCESSES: usize = 3;

/// The effects of the keys.
const HELP: &[(&str, &str)] = &[
    ("↑ ↓ j k", "select; PgUp PgDn Home End (g, G) go farther"),
    ("Enter", "open the lock: call sites, who blocks whom, wait times, last minute"),
    ("Esc", "back; in the list, show all again"),
    ("l  t", "locks; threads"),
    ("/", "show only what has this text in its name, call site or program"),
    ("s  r", "sort by the next column; turn the order round"),
    ("a", "several processes of a program as one, or apart"),
    ("p Space", "pause; continue"),
    ("? h", "this help"),
    ("q Ctrl-C", "end"),
];

pub(super) fn draw(frame: &mut Frame, app: &mut App, look: &Look) {
    let head = head(app, look, frame.area().width);
    let [top, body, foot] =
        Layout::vertical([Constraint::Length(head.len() as u16), Constraint::Min(1), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(head), top);
    match app.screen.clone() {
        Screen::Locks => list::draw(frame, body, app, look),
        Screen::Lock(lock, name) => lock::draw(frame, body, app, look, (lock, &name)),
        Screen::Threads => threads::draw(frame, body, app, look),
    }
    frame.render_widget(foot_line(app, look), foot);
    if app.help {
        help(frame, look);
    }
}

fn head(app: &App, look: &Look, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for process in app.view.processes.iter().take(PROCESSES) {
        let style = if process.alive { look.title() } else { look.alert() };
        lines.push(Line::styled(shortened(&summary(&app.view, process), usize::from(width)), style));
    }
    let more = app.view.processes.len().saturating_sub(PROCESSES);
    if more > 0 {
        lines.push(Line::raw(format!("and {more} more processes")));
    }
    if app.view.processes.is_empty() {
        lines.push(Line::styled("no program on our locks runs", look.alert()));
    }
    lines
}

fn foot_line(app: &App, look: &Look) -> Line<'static> {
    if app.typing {
        return Line::from(vec![Span::styled("filter: ", look.title()), Span::raw(format!("{}▏", app.wanted.filter))]);
    }
    let mut spans = Vec::new();
    if app.paused {
        spans.push(Span::styled("PAUSED ", look.alert()));
    }
    let order = if app.wanted.reversed { ", lowest first" } else { "" };
    let mut text = format!("by {}{order}", sorted_by(app.wanted.sort));
    if app.wanted.as_one {
        text += "; processes as one";
    }
    if !app.wanted.filter.is_empty() {
        text += &format!("; only `{}`", app.wanted.filter);
    }
    spans.push(Span::raw(text + " · "));
    spans.push(Span::styled("Enter open  t threads  / filter  s sort  p pause  ? help  q end", look.heading()));
    Line::from(spans)
}

fn help(frame: &mut Frame, look: &Look) {
    let lines: Vec<Line> = HELP
        .iter()
        .map(|(keys, what)| Line::from(vec![Span::styled(format!("{keys:<9}"), look.title()), Span::raw(*what)]))
        .collect();
    let inside = frame.area().centered(Constraint::Length(78), Constraint::Length(lines.len() as u16 + 2));
    frame.render_widget(Clear, inside);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("keys; any key closes this")), inside);
}

#[cfg(test)]
mod tests {
    use super::super::app::tests::{app, press};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::{Color, Modifier};

    /// Returns the lines of the screen, and whether any part has a colour.
    fn drawn(app: &mut App, width: u16, height: u16, coloured: bool) -> (Vec<String>, bool) {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, app, &Look { coloured })).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        let has_colour = buffer.content.iter().any(|cell| cell.fg != Color::Reset);
        ((0..height).map(line).collect(), has_colour)
    }

    /// Returns the only line that contains this.
    fn with<'a>(lines: &'a [String], part: &str) -> &'a str {
        let found: Vec<&String> = lines.iter().filter(|line| line.contains(part)).collect();
        assert_eq!(found.len(), 1, "{part:?} in:\n{}", lines.join("\n"));
        found[0]
    }

    #[test]
    fn the_list_fits_80_columns_and_uses_200() {
        let mut app = app();
        let (narrow, _) = drawn(&mut app, 80, 24, false);
        assert!(narrow[0].starts_with("server 4000001: 2 of 3 threads wait; over 1.00 s"), "{narrow:?}");
        let cache = with(&narrow, "cache");
        for part in ["100%", "0.08", "50.0 k", "3.00 ms", "worker-13"] {
            assert!(cache.contains(part), "{part} in {cache}");
        }
        assert!(with(&narrow, "log").contains("0.4%"));
        assert!(!narrow.concat().contains("cache.c"), "no room for call sites");
        let (wide, _) = drawn(&mut app, 200, 24, false);
        let cache = with(&wide, "cache ");
        for part in ["mutex", "get (cache.c:128)", "worker-13 13", "25.0 k", "12.5 k", "2.00 us"] {
            assert!(cache.contains(part), "{part} in {cache}");
        }
        assert!(wide.iter().all(|line| line.chars().count() <= 200));
        assert!(narrow[23].contains("by wait time") && narrow[23].contains("? help"), "{}", narrow[23]);
    }

    #[test]
    fn colours_are_used_only_where_they_are_wanted() {
        for keys in ["", "\n", "t", "?", "p"] {
            let mut app = app();
            press(&mut app, keys.trim_start_matches(' '));
            assert!(!drawn(&mut app, 120, 40, false).1, "{keys:?}");
            assert!(drawn(&mut app, 120, 40, true).1, "{keys:?}");
        }
        assert_eq!(Look { coloured: false }.alert().add_modifier, Modifier::BOLD);
    }

    #[test]
    fn an_opened_lock_shows_sites_waiters_times_and_the_last_minute() {
        let mut app = app();
        press(&mut app, "\n");
        for (width, height) in [(80, 40), (200, 40)] {
            let (lines, _) = drawn(&mut app, width, height, false);
            with(&lines, "cache, mutex");
            assert!(with(&lines, "get (cache.c:128)").contains("75%"), "{lines:#?}");
            assert!(with(&lines, "1.02 us").contains("50.0 k"), "{lines:#?}");
            assert!(with(&lines, "worker-13 13 has it").contains("2 wait"), "{lines:#?}");
            assert!(with(&lines, "worker-11 11").contains("3.00 ms"), "{lines:#?}");
            assert!(lines.iter().any(|line| line.contains("last minute")), "{lines:#?}");
        }
    }

    #[test]
    fn threads_show_what_they_wait_for_and_whom_they_block() {
        let mut app = app();
        press(&mut app, "t");
        let (lines, _) = drawn(&mut app, 100, 24, false);
        let waiting = with(&lines, "worker-11");
        for part in ["cache (mutex)", "3.00 ms", "worker-13 13", "put (cache.c:141)"] {
            assert!(waiting.contains(part), "{part} in {waiting}");
        }
        let holder = lines.iter().find(|line| line.starts_with("worker-13")).expect("the holder has a line");
        assert_eq!(holder.split_whitespace().collect::<Vec<_>>(), ["worker-13", "13", "-", "2"], "it blocks two");
        press(&mut app, "/11\n");
        assert!(drawn(&mut app, 100, 24, false).0.iter().all(|line| !line.contains("worker-12")));
    }

    #[test]
    fn pause_filter_help_and_nothing_are_said() {
        let mut app = app();
        press(&mut app, "p/lo");
        assert!(drawn(&mut app, 80, 24, false).0[23].starts_with("filter: lo"));
        press(&mut app, "\n");
        let foot = drawn(&mut app, 80, 24, false).0.pop().unwrap();
        assert!(foot.starts_with("PAUSED by wait time; only `lo`"), "{foot}");
        press(&mut app, "?");
        with(&drawn(&mut app, 80, 24, false).0, "turn the order round");
        let mut empty = App::new(crate::live::Wanted::default());
        with(&drawn(&mut empty, 80, 24, false).0, "no program on our locks runs");
    }

    #[test]
    fn any_size_of_terminal_can_be_drawn() {
        for (width, height) in [(1, 1), (10, 3), (40, 10), (80, 24), (500, 100)] {
            for keys in ["", "\n", "t", "?"] {
                let mut app = app();
                press(&mut app, keys);
                drawn(&mut app, width, height, true);
            }
        }
    }
}
