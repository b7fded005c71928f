//! A report as a page.

use super::curves::Curves;
use anyhow::Result;
use serde::Serialize;
use turnwise_profile::output::page::Page;
use turnwise_simbench::report::SimReport;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

#[derive(Serialize)]
struct Data<'a> {
    report: &'a SimReport,
    curves: Curves,
}

/// Returns the page.
///
/// # Errors
/// The report has no JSON form.
pub(crate) fn page(report: &SimReport) -> Result<String> {
    let data = serde_json::to_string(&Data { report, curves: Curves::of(report) })?;
    let title = format!("Locks on {}, simulated", report.machine.name);
    let page = Page { template: PAGE, title: &title, style: STYLE, scripts: &[SCRIPT], data: &data };
    Ok(page.text())
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn the_data_survives_and_ends_no_script() {
        let mut report = fixture::report(&["a", "b"], &[(1, 1), (8, 8)]);
        report.machine.name = "<!-- </script> {{style}} {{data}}".to_owned();
        report.cells[1].result = Err(fixture::stuck());
        let page = page(&report).unwrap();
        assert_eq!(page.matches("</script>").count(), 2, "the page's own");
        assert_eq!(page.matches("<!--").count(), 0);
        let (_, rest) = page.split_once("id=\"data\">").unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["report"], serde_json::to_value(&report).unwrap());
        assert_eq!(data["curves"]["axis"], "cpus");
    }

    #[test]
    fn the_page_asks_for_nothing() {
        let page = page(&fixture::report(&["a"], &[(1, 1)])).unwrap();
        assert!(page.contains("default-src 'none'"));
        let addresses: Vec<&str> =
            page.match_indices("http").map(|(at, _)| &page[at..(at + 30).min(page.len())]).collect();
        assert!(
            addresses.iter().all(|a| a.starts_with("http-equiv") || a.starts_with("http://www.w3.org/2000/svg")),
            "{addresses:?}"
        );
        for request in ["src=", "href=", "fetch(", "import(", "@import", "url("] {
            assert!(!page.contains(request), "{request}");
        }
    }
}
