//! A paper's tables as columns of text, and the remarks on it: what all of text, Markdown and HTML show.

use super::notes::Notes;
use turnwise_reproduce::report::{Fitted, Listing, Miss, PaperReport, Reproduction, Row, Score, Table, figure};

/// Returns a published table, with the columns that it needs.
pub(crate) fn table(table: &Table, notes: &Notes<'_>) -> Listing {
    if table.rows.iter().all(|row| row.published.is_none()) {
        return in_words(table);
    }
    let seeds = table.rows.iter().any(|row| row.range.is_some());
    let noted = table.rows.iter().any(|row| !notes.cell(row).is_empty());
    let mut columns = vec!["row", "published", "simulated"];
    columns.extend(seeds.then_some("seeds"));
    columns.extend(["error", "bound", "verdict"]);
    columns.extend(noted.then_some("notes"));
    let mut listing = Listing::new(&format!("{} [{}]", table.title, table.unit), &columns);
    for row in &table.rows {
        let mut cells = vec![row.label.clone(), row.said.clone(), ours(row)];
        let range = row.range.map(|(low, high)| format!("{} to {}", figure(low), figure(high)));
        cells.extend(seeds.then(|| range.unwrap_or_default()));
        let bound = row.bound.map_or_else(String::new, |bound| bound.words());
        cells.extend([row.error_text(), bound, verdict(row).to_owned()]);
        cells.extend(noted.then(|| notes.cell(row)));
        listing.rows.push(cells);
    }
    listing
}

/// Returns a table that is all words.
fn in_words(table: &Table) -> Listing {
    let mut listing = Listing::new(&table.title, &["about", "published", "simulated"]);
    let cells = |row: &Row| vec![row.label.clone(), row.said.clone(), row.remark.clone().unwrap_or_default()];
    listing.rows = table.rows.iter().map(cells).collect();
    listing
}

/// Returns a verdict in a word or two: why a row is not judged is in its notes.
fn verdict(row: &Row) -> &str {
    match row.met() {
        None if !row.fitted && row.unjudged.is_some() => "not judged",
        _ => row.verdict(),
    }
}

/// Returns our figure, with its standard error where it is a mean.
fn ours(row: &Row) -> String {
    let ours = row.ours.map_or_else(|| "-".to_owned(), figure);
    row.standard_error.map_or(ours.clone(), |error| format!("{ours} \u{b1} {}", figure(error)))
}

/// Returns today's locks next to those of a table; of neighbours with the same figure the last, which has all patches.
pub(crate) fn today(table: &Table) -> Option<Listing> {
    let what = table.today.as_ref()?;
    let title = format!("{} [{}]: {what}, simulated on the paper's machine", table.title, table.unit);
    let mut listing = Listing::new(&title, &["row", "the paper's lock", "today's"]);
    for (place, row) in table.rows.iter().enumerate() {
        let next = table.rows.get(place + 1).and_then(|row| row.today);
        if let Some((today, ours)) = row.today.zip(row.ours).filter(|(today, _)| next != Some(*today)) {
            listing.rows.push(vec![row.label.clone(), figure(ours), figure(today)]);
        }
    }
    (!listing.rows.is_empty()).then_some(listing)
}

/// Returns one paragraph about a paper.
pub(crate) fn about(document: &PaperReport) -> String {
    let score = Score::of(std::slice::from_ref(document));
    let Score { rows_met, rows_judged, .. } = score;
    format!(
        "{} Simulated on {}. {rows_met} of {rows_judged} judged rows; {} fitted, {} chosen.",
        ended(&document.title),
        document.machine.name,
        document.fitted.len(),
        document.chosen.len()
    )
}

/// Ends a sentence with a full stop.
fn ended(text: &str) -> String {
    if text.ends_with('.') { text.to_owned() } else { format!("{text}.") }
}

/// Returns what was missed, the physics, and what would settle it.
pub(crate) fn miss(miss: &Miss<'_>) -> String {
    let claims = miss.claims.iter().map(|claim| format!("\"{}\"", claim.what));
    let rows = (miss.missed > 0).then(|| format!("{} of {} rows", miss.missed, miss.judged));
    let missed: Vec<String> = rows.into_iter().chain(claims).collect();
    let why = miss.why;
    format!("Missed {}: {}. To settle it: {}.", missed.join(", "), why.physics, why.experiment)
}

/// Returns where a paper was measured, what was simulated, and what was fitted.
pub(crate) fn setting(document: &PaperReport) -> Vec<String> {
    let machine = &document.machine;
    let of_all = if machine.numbers == 0 { String::new() } else { format!(" of {}", machine.numbers) };
    let guessed = if machine.numbers == 0 { machine.provisional.len() as u32 } else { machine.from_memory };
    let fitted: Vec<String> = document.fitted.iter().map(|number| fitted(document, number)).collect();
    let fitted = if fitted.is_empty() { "nothing".to_owned() } else { fitted.join("; ") };
    vec![
        format!("Published on: {}", document.published_on),
        format!(
            "Simulated: {} ({}); {guessed}{of_all} machine numbers are from memory or guessed",
            machine.name, machine.title
        ),
        format!("Workload: {}", document.workload),
        format!("Fitted: {fitted}"),
        format!("Chosen: {}", document.chosen.join("; ")),
    ]
}

/// Returns `what a job computes: 2.91 ms, on "AIM7 fserver: 200-1000 users, nodes: 1, patches 1 and 2"`.
fn fitted(document: &PaperReport, fitted: &Fitted) -> String {
    let row = document.rows().find(|row| row.key == fitted.on || row.key.ends_with(&fitted.on));
    let on = row.map_or_else(|| fitted.on.clone(), |row| format!("\"{}\"", row.label));
    let amount = format!("{} {}", figure(fitted.value), fitted.unit);
    format!("{}: {}, on {on}", fitted.what, amount.trim_end())
}

/// Lists what the papers say, and whether it holds: a line each.
pub(crate) fn claims(report: &Reproduction) -> Listing {
    let columns = ["paper", "claim", "published", "simulated", "holds"];
    let mut listing = Listing::new("What the papers claim", &columns);
    for document in &report.documents {
        let mut name = document.name.as_str();
        for claim in &document.claims {
            let cells = [name, &claim.what, &claim.published, &claim.ours, claim.verdict.words()];
            listing.rows.push(cells.map(str::to_owned).to_vec());
            name = "";
        }
    }
    listing
}

/// Returns where it was made, in one line.
pub(crate) fn origin(report: &Reproduction) -> String {
    let commit = report.commit.as_deref().unwrap_or("unknown");
    let cpu = report.host.cpu.as_deref().unwrap_or("unknown CPU");
    let kernel = report.host.kernel.as_deref().unwrap_or("unknown");
    format!(
        "`{}`, seed {}, commit {commit}; on {} x {cpu}, Linux {kernel}",
        report.command, report.seed, report.host.cpus
    )
}
