//! The profile as a page.

mod afar;
mod flame;
mod rows;
mod strings;
mod timeline;
mod view;

use super::page::Page;
use crate::model::Profile;
use anyhow::Result;
use std::io::Write;

const PAGE: &str = include_str!("../../../assets/page.html");
const STYLE: &str = include_str!("../../../assets/page.css");
/// In this order: later ones use what earlier ones define.
const SCRIPTS: &[&str] = &[
    include_str!("../../../assets/base.js"),
    include_str!("../../../assets/summary.js"),
    include_str!("../../../assets/course.js"),
    include_str!("../../../assets/scaling.js"),
    include_str!("../../../assets/flame.js"),
    include_str!("../../../assets/histogram.js"),
    include_str!("../../../assets/timeline.js"),
    include_str!("../../../assets/rule.js"),
    include_str!("../../../assets/tables.js"),
];

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    let (title, data) = (view::title(profile), view::data(profile).to_string());
    let page = Page { template: PAGE, title: &title, style: STYLE, scripts: SCRIPTS, data: &data };
    to.write_all(page.text().as_bytes())?;
    Ok(())
}
