//! Hostile machine files, and reports that are put together.

use super::{describe, fixture, html, merge, text};
use crate::hostile::named;
use std::path::Path;
use turnwise_fuzz::check;
use turnwise_present::json;
use turnwise_sim::spec::{builtin, file};

#[test]
fn fuzz_machine() {
    let seeds = builtin().iter().map(|(_, text)| text.as_bytes().to_vec());
    check("machine", 1000, seeds.collect(), |input| match file::parse(&String::from_utf8_lossy(input), "m.toml") {
        Ok(machine) => {
            assert!(machine.topology.cpus() > 0);
            std::hint::black_box((describe::text(&machine).len(), machine.fingerprint()));
        }
        Err(error) => named(error, "m.toml"),
    });
}

#[test]
fn fuzz_sim_report() {
    let mut report = fixture::report(&["a", "b"], &[(1, 1), (3, 3)]);
    report.cells[1].result = Err(fixture::stuck());
    let seed = json::text(&report).expect("a report has a JSON form").into_bytes();
    check("sim-report", 1000, vec![seed], |input| {
        match merge::parsed(Path::new("part.json"), &String::from_utf8_lossy(input)).and_then(merge::alone) {
            Ok(report) => {
                std::hint::black_box(text::text(&report).len());
                let page = html::page(&report).expect("a report has a page");
                assert_eq!(page.matches("</script>").count(), page.matches("<script").count(), "a name ends a script");
            }
            Err(error) => named(error, "part.json"),
        }
    });
}
