//! Tables on a terminal, all in the same style.

pub use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table};
use comfy_table::{LineStyle, TableStyle, presets};

/// A line across the whole table.
const RULE: LineStyle = LineStyle::none().fill('─');

/// Returns a table without lines except for one under its header.
pub fn ruled() -> Table {
    styled(presets::NOTHING.header_separator(RULE))
}

/// Returns a table like [`ruled`], with long cells wrapped so that no line has more columns than `width`.
pub fn wrapped(width: u16) -> Table {
    let mut table = ruled();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table
}

/// Returns a table with lines above, below and under its header.
pub fn framed() -> Table {
    let rule = RULE.junction('─');
    styled(TableStyle::new().top_border(rule).header_separator(rule).bottom_border(rule))
}

fn styled(style: TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(style);
    table
}
