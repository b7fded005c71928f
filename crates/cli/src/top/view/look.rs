//! Colours, and what stands for them where there are none.

use ratatui::style::{Color, Modifier, Style};

/// How things are told apart.
#[derive(Clone, Copy, Debug)]
pub(in crate::top) struct Look {
    pub(in crate::top) coloured: bool,
}

impl Look {
    /// As `NO_COLOR` and `TERM` ask for.
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

    /// Headings of columns and parts.
    pub(super) fn heading(self) -> Style {
        self.coloured(Color::Cyan, Modifier::UNDERLINED)
    }

    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What is not as it should be: paused, ended, a circle of waits.
    pub(super) fn alert(self) -> Style {
        self.coloured(Color::Red, Modifier::BOLD)
    }

    pub(super) fn bar(self) -> Style {
        self.coloured(Color::Green, Modifier::empty())
    }

    /// A lock by its share of all wait time.
    pub(super) fn share(self, share: f64) -> Style {
        match share {
            share if share >= 0.5 => self.coloured(Color::Red, Modifier::BOLD),
            share if share >= 0.1 => self.coloured(Color::Yellow, Modifier::empty()),
            _ => Style::new(),
        }
    }
}
