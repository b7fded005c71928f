//! The profile as a page: one file with its style, script and data in it. It asks for nothing from anywhere.

mod flame;
mod rows;
mod strings;
mod timeline;
mod view;

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
    include_str!("../../../assets/tables.js"),
];

pub(super) fn write(profile: &Profile, to: &mut dyn Write) -> Result<()> {
    let view = view::View::of(profile);
    let title = escaped(&view.title);
    let data = inert(&serde_json::to_string(&view)?);
    let script = format!("\"use strict\";\n(() => {{\n{}}})();\n", SCRIPTS.concat());
    // The data last: no text of the profile can be taken for a place to fill.
    let parts = [("{{title}}", title), ("{{style}}", STYLE.to_owned()), ("{{script}}", script)];
    let page = parts.into_iter().fold(PAGE.to_owned(), |page, (place, text)| page.replacen(place, &text, 1));
    to.write_all(page.replacen("{{data}}", &data, 1).as_bytes())?;
    Ok(())
}

/// JSON that a browser cannot take for the end of its script, or for a comment.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('{', "&#123;")
}
