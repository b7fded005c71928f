//! A document's tables as columns of text: what all of text, Markdown and HTML show.

use turnwise_reproduce::report::{Bar, DocumentReport, Fitted, Listing, Reproduction, Row, Table, Verdict, figure};

/// A published table, with the columns that it needs.
pub(crate) fn table(table: &Table) -> Listing {
    if table.rows.iter().all(|row| row.published.is_none()) {
        return in_words(table);
    }
    let mut columns = vec!["row", "published", "ours", "error", "bound", ""];
    let today = table.rows.iter().any(|row| row.today.is_some());
    columns.extend(today.then_some("today"));
    let remarks = table.rows.iter().any(|row| row.remark.is_some());
    columns.extend(remarks.then_some("remark"));
    let mut listing = Listing::new(&format!("{} [{}]", table.title, table.unit), &columns);
    listing.rows = table.rows.iter().map(|row| cells(row, today, remarks)).collect();
    listing
}

/// A table that is all words.
fn in_words(table: &Table) -> Listing {
    let mut listing = Listing::new(&table.title, &["about", "published", "ours"]);
    let cells = |row: &Row| vec![row.label.clone(), row.said.clone(), row.remark.clone().unwrap_or_default()];
    listing.rows = table.rows.iter().map(cells).collect();
    listing
}

fn cells(row: &Row, today: bool, remarks: bool) -> Vec<String> {
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
    let mut cells = vec![
        row.label.clone(),
        row.said.clone(),
        ours(row),
        row.error_text(),
        row.bound.map_or_else(String::new, |bound| bound.words()),
        row.verdict().to_owned(),
    ];
    cells.extend(today.then(|| shown(row.today)));
    cells.extend(remarks.then(|| row.remark.clone().unwrap_or_default()));
    cells
}

/// Our figure, with its standard error where it is a mean.
fn ours(row: &Row) -> String {
    let ours = row.ours.map_or_else(|| "-".to_owned(), figure);
    row.standard_error.map_or(ours.clone(), |error| format!("{ours} \u{b1} {}", figure(error)))
}

/// What the column of today's locks stands for.
pub(crate) fn today(table: &Table) -> Option<String> {
    table.today.as_ref().map(|what| format!("today: {what}"))
}

/// `4.00 us, fitted on spin_backoff.rows[0].spin[0]`.
pub(crate) fn fitted(fitted: &Fitted) -> String {
    format!("{}: {} {}, on {}", fitted.what, figure(fitted.value), fitted.unit, fitted.on)
}

/// A bar, in two or three sentences.
pub(crate) fn bar(bar: &Bar) -> String {
    let verdict = if bar.met { "met" } else { "MISSED" };
    let why = bar.why.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
    format!("{verdict}: {}: {}{why}", bar.asked, bar.found)
}

/// How many rows kept their bounds, and how many numbers were fitted on how many rows.
pub(crate) fn score(document: &DocumentReport) -> String {
    let (met, all) = document.judged();
    let rows: usize = document.tables.iter().map(|table| table.rows.len()).sum();
    let fitted = match document.fitted.len() {
        0 => "nothing fitted".to_owned(),
        1 => "1 number fitted".to_owned(),
        n => format!("{n} numbers fitted"),
    };
    let chosen = document.chosen.len();
    format!("{rows} rows, {fitted}, {chosen} chosen; {met} of {all} judged rows within their bounds")
}

/// What the documents say, and whether it holds: a line each.
pub(crate) fn claims(report: &Reproduction) -> Listing {
    let all: Vec<_> = report.documents.iter().flat_map(|document| &document.claims).collect();
    let of = |verdict| all.iter().filter(|claim| claim.verdict == verdict).count();
    let title = format!(
        "{} claims: {} hold, {} more in direction, {} do not",
        all.len(),
        of(Verdict::Holds),
        of(Verdict::Direction),
        of(Verdict::Fails)
    );
    let mut listing = Listing::new(&title, &["case study", "claim", "published", "simulated", "holds"]);
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

/// One line for each document.
pub(crate) fn summary(report: &Reproduction) -> Listing {
    let mut listing = Listing::new(
        "All case studies",
        &["case study", "machine", "fitted, chosen", "rows within bounds", "bars met"],
    );
    for document in &report.documents {
        let (met, all) = document.judged();
        let bars = document.bars.iter().filter(|bar| bar.met).count();
        listing.rows.push(vec![
            document.name.clone(),
            document.machine.name.clone(),
            format!("{}, {}", document.fitted.len(), document.chosen.len()),
            format!("{met} of {all}"),
            format!("{bars} of {}", document.bars.len()),
        ]);
    }
    listing
}

/// Where it was made, in one line.
pub(crate) fn origin(report: &Reproduction) -> String {
    let commit = report.commit.as_deref().unwrap_or("unknown");
    let cpu = report.host.cpu.as_deref().unwrap_or("unknown CPU");
    let kernel = report.host.kernel.as_deref().unwrap_or("unknown");
    format!(
        "`{}`, seed {}, commit {commit}; on {} x {cpu}, Linux {kernel}",
        report.command, report.seed, report.host.cpus
    )
}
