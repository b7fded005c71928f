//! Pictures: as SVG, by templates that map figures to places, and in letters.

pub(crate) mod chart;
pub(crate) mod letters;
