//! The state of the terminal's view, and the effects of keys. It is independent of the terminal.

use crate::live::{LockId, Model, Names, Row, Sort, View, Wanted, rows};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use turnwise_live::Snapshot;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Screen {
    #[default]
    Locks,
    /// A line of the list in detail: the lock that it began with, and its name.
    Lock(LockId, String),
    Threads,
}

#[derive(Default)]
pub(super) struct App {
    pub(super) model: Model,
    pub(super) view: View,
    pub(super) names: Names,
    pub(super) wanted: Wanted,
    pub(super) screen: Screen,
    /// The lines as last drawn.
    pub(super) rows: Vec<Row>,
    pub(super) selected: usize,
    /// The selected line of the threads.
    pub(super) thread: usize,
    /// The selected lock, from the first key on: it stays selected as it moves. Before, the first line is selected.
    followed: Option<LockId>,
    pub(super) paused: bool,
    pub(super) help: bool,
    /// Whether the filter is being typed.
    pub(super) typing: bool,
    pub(super) over: bool,
}

/// The maximum number of listed locks: more than a person reads.
const MOST: usize = 1_000;
/// The number of lines that the page keys move by.
const PAGE: usize = 10;

impl App {
    pub(super) fn new(wanted: Wanted) -> App {
        App { wanted, ..App::default() }
    }

    /// Shows the next look.
    pub(super) fn look(&mut self, snapshots: &[Snapshot]) {
        self.view = self.model.step(snapshots);
        let processes: Vec<_> = self.view.processes.iter().map(|process| process.id).collect();
        self.names.keep(|process| processes.contains(&process));
        self.names.add_kinds(&mut self.view);
        self.arrange();
    }

    /// Lists the locks again, in the current order and filter.
    pub(super) fn arrange(&mut self) {
        self.rows = rows(&self.view, &mut self.names, &self.wanted, MOST).0;
        let place = self.followed.and_then(|lock| self.rows.iter().position(|row| row.locks.contains(&lock)));
        self.selected = place.unwrap_or(self.selected).min(self.rows.len().saturating_sub(1));
        if self.followed.is_some() {
            self.follow();
        }
    }

    fn select(&mut self, place: usize) {
        self.selected = place.min(self.rows.len().saturating_sub(1));
        self.follow();
    }

    fn follow(&mut self) {
        self.followed = self.rows.get(self.selected).map(|row| row.locks[0]);
    }

    /// Returns the opened lock, as a line; `None`: no thread waited for it within the last minute.
    pub(super) fn opened(&self, lock: LockId) -> Option<&Row> {
        self.rows.iter().find(|row| row.locks.contains(&lock))
    }

    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            self.over |= key.code == KeyCode::Char('c');
            return;
        }
        if self.followed.is_none() {
            self.follow();
        }
        match key.code {
            code if self.typing => self.type_filter(code),
            _ if self.help => self.help = false,
            KeyCode::Char('q') => self.over = true,
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('t') => self.screen = Screen::Threads,
            KeyCode::Char('l') => self.screen = Screen::Locks,
            KeyCode::Char('/') => self.begin_filter(),
            KeyCode::Esc if !self.wanted.filter.is_empty() && !self.is_opened() => {
                self.wanted.filter.clear();
                self.arrange();
            }
            KeyCode::Esc | KeyCode::Backspace => self.screen = Screen::Locks,
            KeyCode::Enter => self.open(),
            code => self.order_or_move(code),
        }
    }

    fn order_or_move(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char('s') => self.wanted.sort = self.wanted.sort.next(),
            KeyCode::Char('r') => self.wanted.reversed = !self.wanted.reversed,
            KeyCode::Char('a') => self.wanted.as_one = !self.wanted.as_one,
            KeyCode::Down | KeyCode::Char('j') => return self.go(|place| place.saturating_add(1)),
            KeyCode::Up | KeyCode::Char('k') => return self.go(|place| place.saturating_sub(1)),
            KeyCode::PageDown => return self.go(|place| place.saturating_add(PAGE)),
            KeyCode::PageUp => return self.go(|place| place.saturating_sub(PAGE)),
            KeyCode::Home | KeyCode::Char('g') => return self.go(|_| 0),
            KeyCode::End | KeyCode::Char('G') => return self.go(|_| usize::MAX),
            _ => return,
        }
        self.arrange();
    }

    fn go(&mut self, to: impl Fn(usize) -> usize) {
        match self.screen {
            Screen::Locks => self.select(to(self.selected)),
            Screen::Threads => self.thread = to(self.thread).min(self.view.threads.len().saturating_sub(1)),
            Screen::Lock(..) => {}
        }
    }

    fn is_opened(&self) -> bool {
        matches!(self.screen, Screen::Lock(..))
    }

    fn begin_filter(&mut self) {
        self.typing = true;
        if self.is_opened() {
            self.screen = Screen::Locks;
        }
    }

    fn open(&mut self) {
        if let (Screen::Locks, Some(row)) = (&self.screen, self.rows.get(self.selected)) {
            self.screen = Screen::Lock(row.locks[0], row.title());
        }
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.wanted.filter.clear();
            }
            KeyCode::Backspace => _ = self.wanted.filter.pop(),
            KeyCode::Char(letter) => self.wanted.filter.push(letter),
            _ => return,
        }
        self.arrange();
    }
}

/// Returns what the lines are sorted by, in words.
pub(super) fn sorted_by(sort: Sort) -> &'static str {
    match sort {
        Sort::Wait => "wait time",
        Sort::Rate => "waits/s",
        Sort::P99 => "p99",
        Sort::Now => "longest wait now",
        Sort::Waiters => "waiting threads",
        Sort::Name => "name",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::live::made_up::{id, server};

    /// Returns the view of a made-up server.
    pub(in crate::top) fn app() -> App {
        let (model, view, names) = server();
        let mut app = App::new(Wanted::default());
        (app.model, app.view, app.names) = (model, view, names);
        app.arrange();
        app
    }

    pub(in crate::top) fn press(app: &mut App, keys: &str) {
        for letter in keys.chars() {
            let code = match letter {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                '\u{8}' => KeyCode::Backspace,
                letter => KeyCode::Char(letter),
            };
            app.key(KeyEvent::from(code));
        }
    }

    fn listed(app: &App) -> Vec<&str> {
        app.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn keys_sort_filter_and_open() {
        let mut app = app();
        assert_eq!(listed(&app), ["cache", "log"], "nobody waited for the third");
        press(&mut app, "r");
        assert_eq!(listed(&app), ["log", "cache"]);
        assert_eq!(app.rows[app.selected].name, "cache", "the selected lock stays selected");
        press(&mut app, "rsssss");
        assert_eq!((app.wanted.sort, listed(&app)), (Sort::Name, vec!["cache", "log"]));
        press(&mut app, "/LOGx\u{8}\n");
        assert_eq!((app.typing, listed(&app)), (false, vec!["log"]));
        press(&mut app, "\u{1b}");
        assert_eq!(listed(&app).len(), 2, "Esc shows all again");
        press(&mut app, "/q");
        assert!(!app.over && app.wanted.filter == "q", "letters are text there");
        press(&mut app, "\u{1b}jG");
        assert_eq!(app.selected, 1);
        press(&mut app, "gkk\n");
        assert_eq!(app.screen, Screen::Lock(id(0x100), "cache".to_owned()));
        press(&mut app, "\u{1b}");
        assert_eq!(app.screen, Screen::Locks);
    }

    #[test]
    fn the_first_line_is_selected_until_a_key_is_pressed() {
        let mut app = app();
        app.wanted.reversed = true;
        app.arrange();
        assert_eq!(app.rows[app.selected].name, "log", "it has come first since");
        press(&mut app, "l");
        app.wanted.reversed = false;
        app.arrange();
        assert_eq!(app.rows[app.selected].name, "log");
    }

    #[test]
    fn help_ends_with_any_key_and_the_program_with_two() {
        let mut app = app();
        press(&mut app, "?q");
        assert!(!app.help && !app.over);
        press(&mut app, "tq");
        assert!(app.over && app.screen == Screen::Threads);
        let mut app = super::tests::app();
        app.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(app.over);
    }

    #[test]
    fn an_empty_list_has_nothing_to_open() {
        let mut app = App::new(Wanted::default());
        press(&mut app, "jG\nsp");
        assert!(app.paused && app.screen == Screen::Locks && app.selected == 0);
    }
}
