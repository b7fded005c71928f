//! Colours, and their substitutes without colour.

use ratatui::style::{Color, Modifier, Style};

/// The styles that distinguish items.
#[derive(Clone, Copy, Debug)]
pub(in crate::top) struct Look {
    pub(in crate::top) coloured: bool,
}

impl Look {
    /// Returns the styles that `NO_COLOR` and `TERM` request.
    pub(in crate::top) fn of_environment() -> Look {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Look { coloured: !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb") }
    }

    fn coloured(self, color: Color, otherwise: Modifier) -> Style {
        if self.coloured { Style::new().fg(color) } else { Style::new().add_modifier(otherwise) }
    }

    pub(super) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Returns the style of headings of columns and parts.
    pub(super) fn heading(self) -> Style {
        self.coloured(Color::Cyan, Modifier::UNDERLINED)
    }

    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the style of alerts: paused, ended, a cycle of waits.
    pub(super) fn alert(self) -> Style {
        self.coloured(Color::Red, Modifier::BOLD)
    }

    pub(super) fn bar(self) -> Style {
        self.coloured(Color::Green, Modifier::empty())
    }

    /// Returns the style of a lock by its share of all wait time.
    pub(super) fn share(self, share: f64) -> Style {
        match share {
            share if share >= 0.5 => self.coloured(Color::Red, Modifier::BOLD),
            share if share >= 0.1 => self.coloured(Color::Yellow, Modifier::empty()),
            _ => Style::new(),
        }
    }
}
