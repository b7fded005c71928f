//! The page of `turnwise profile --html` in a browser, as a user operates it: pointer, keys, light and dark, any width.
//!
//! The tests are skipped, with a message, if there is no Chromium.

#[allow(dead_code, reason = "the page of `sim` needs all of it")]
mod chromium;
#[path = "../profile/fixture/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests need all of it")]
mod fixture;

use chromium::Browser;
use serde_json::{Value, json};
use turnwise_profile::model::Profile;
use turnwise_profile::output::by_flag;

/// Opens the profile's page and calls `look`; does nothing if there is no browser.
fn look(profile: &Profile, look: impl FnOnce(&mut Browser)) {
    let Some(name) = Browser::find() else {
        return eprintln!("SKIPPED: no Chromium here; on Debian: apt-get install chromium");
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let page = directory.path().join("profile.html");
    let mut file = std::fs::File::create(&page).expect("it can be made");
    by_flag("html").expect("there is a page").write(profile, &mut file).expect("it can be written");
    let mut browser = Browser::open(name, &page);
    look(&mut browser);
    assert_eq!(browser.complaints, Vec::<String>::new(), "the page has no errors");
}

/// Presses and releases a key, with its text.
fn press(browser: &mut Browser, key: &str) {
    let text = if key.chars().count() == 1 {
        key
    } else if key == "Enter" {
        "\r"
    } else {
        ""
    };
    let code = if key == "Enter" { 13 } else { 0 };
    for kind in ["keyDown", "keyUp"] {
        let text = if kind == "keyDown" { text } else { "" };
        let event = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
        browser.ask("Input.dispatchKeyEvent", event);
    }
}

fn text(browser: &mut Browser, id: &str) -> String {
    let text = browser.value(&format!("document.getElementById('{id}').innerText"));
    text.as_str().expect("a text").to_owned()
}

fn number(browser: &mut Browser, expression: &str) -> f64 {
    browser.value(expression).as_f64().expect("a number")
}

const ROWS: &str = "document.querySelectorAll('#table tbody tr').length";
const FIRST: &str = "document.querySelector('#table tbody td').innerText";

#[test]
fn what_matters_comes_first() {
    look(&fixture::server(), |browser| {
        assert_eq!(text(browser, "title"), "kvserver: threads spent 57% of their time waiting for locks");
        assert_eq!(browser.value("document.querySelectorAll('#headlines li').length"), 5);
        assert_eq!(browser.value("document.querySelectorAll('#findings article').length"), 4);
        assert!(text(browser, "findings").contains("the policy adaptive for cache_lock"));
        let order = browser.value("[...document.querySelectorAll('main > section')].map((s) => s.id)");
        assert_eq!(order, json!(["overview", "advice", "course", "scaling", "flame", "timeline", "tables", "about"]));
        assert!(text(browser, "limits").contains("1 in 16 uncontended acquisitions"));
    });
}

#[test]
fn tables_sort_filter_and_change_by_pointer_and_keys() {
    look(&fixture::server(), |browser| {
        assert_eq!((browser.value(ROWS), browser.value(FIRST)), (json!(5), json!("cache_lock")));
        let sorted = "[...document.querySelectorAll('#table th[aria-sort]')].map((th) => th.innerText.trim())";
        assert!(browser.value(sorted)[0].as_str().is_some_and(|title| title.starts_with("waited")));
        let acquired = "document.querySelectorAll('#table th button')[3]";
        browser.click(acquired);
        assert_eq!(browser.value(&format!("{acquired}.parentNode.getAttribute('aria-sort')")), "descending");
        assert_eq!(browser.value(FIRST), "cache_lock");
        browser.click(acquired);
        assert_eq!(browser.value(FIRST), "Log::Log() at log.cc:19", "1,830 acquisitions are the fewest");
        browser.click("document.getElementById('filter')");
        for key in ["S", "t", "A", "t"] {
            press(browser, key);
        }
        assert_eq!(browser.value(ROWS), 2);
        assert_eq!(text(browser, "filtered"), "2 of 5");
        browser.value(
            "(() => { const f = document.getElementById('filter'); f.value = ''; \
             f.dispatchEvent(new Event('input')); })()",
        );
        browser.value("document.querySelector('#tabs button').focus()");
        browser.key("ArrowRight");
        assert_eq!(browser.value("document.activeElement.innerText.trim()"), "Call sites 8");
        assert_eq!(browser.value(ROWS), 8);
        browser.key("End");
        assert_eq!(
            browser.value("document.querySelector('#tabs [aria-selected=true]').innerText.trim()"),
            "Shared lines 1"
        );
        assert_eq!(browser.value(FIRST), "0x555555758100");
    });
}

#[test]
fn the_flame_graph_zooms_and_searches() {
    const WIDEST: &str =
        "Math.max(...[...document.querySelectorAll('#flame-chart rect')].map((r) => r.width.baseVal.value))";
    let width_of = |name: &str| {
        format!(
            "[...document.querySelectorAll('#flame-chart rect')].find( \
             (r) => r.node.name.startsWith('{name}'))?.width.baseVal.value ?? 0"
        )
    };
    look(&fixture::server(), |browser| {
        let narrow = number(browser, &width_of("serve_get"));
        assert!(narrow > 100.0 && narrow < 0.5 * number(browser, WIDEST));
        browser.click(
            "[...document.querySelectorAll('#flame-chart rect')].find((r) => r.node.name.startsWith('serve_get'))",
        );
        assert_eq!(number(browser, &width_of("serve_get")), number(browser, WIDEST), "it fills the width");
        assert!(text(browser, "flame-shown").starts_with("serve_get (serve.cc:88) in kvserver: "));
        // Up, and out again, by keys.
        browser.value("document.getElementById('flame-chart').focus()");
        press(browser, "ArrowUp");
        assert!(text(browser, "flame-shown").starts_with("worker_main"));
        for _ in 0..9 {
            press(browser, "Escape");
        }
        assert_eq!(number(browser, &width_of("serve_get")), narrow);
        for key in ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "Enter"] {
            press(browser, key);
        }
        assert_eq!(number(browser, &width_of("serve_get")), number(browser, WIDEST), "the second of its level");
        browser.click("document.getElementById('flame-reset')");
        browser.click("document.getElementById('flame-search')");
        for key in ["e", "v", "i", "c", "t"] {
            press(browser, key);
        }
        assert_eq!(text(browser, "flame-found"), "8.62 ms matched, 6.3%");
    });
}

#[test]
fn the_timeline_zooms_and_tells_single_waits() {
    const SHOWN: &str = "document.getElementById('timeline-range').innerText";
    look(&fixture::server(), |browser| {
        assert!(text(browser, "timeline-shown").starts_with("The longest wait: kvserver 4711 waited 242 us"));
        let at_first = browser.value(SHOWN);
        browser.click("document.getElementById('zoom-all')");
        assert_eq!(browser.value(SHOWN), "Shown: all");
        assert_eq!(browser.value("document.querySelectorAll('#timeline-chart .lane').length"), 6, "a row a thread");
        for _ in 0..5 {
            browser.click("document.getElementById('zoom-in')");
        }
        assert_ne!(browser.value(SHOWN), at_first);
        let singles = number(browser, "document.querySelectorAll('#timeline-chart rect.wait').length");
        assert!(singles > 20.0, "{singles} waits one by one");
        browser.value("document.getElementById('timeline-chart').focus()");
        press(browser, "n");
        let one = text(browser, "timeline-shown");
        press(browser, "n");
        let other = text(browser, "timeline-shown");
        assert!(one.contains(" waited ") && other.contains("held") && one != other, "{one} {other}");
        assert_eq!(browser.value("document.querySelectorAll('#timeline-chart .wait.chosen').length"), 1);
        press(browser, "0");
        assert_eq!(browser.value(SHOWN), "Shown: all");
        // Another lock, from its row in the table.
        browser.click("[...document.querySelectorAll('#table td button')].find((b) => b.innerText === 'sessions')");
        assert!(
            browser
                .value("document.getElementById('timeline-lock').selectedOptions[0].innerText")
                .as_str()
                .is_some_and(|lock| lock.starts_with("sessions: "))
        );
        assert_eq!(browser.value("document.activeElement.id"), "timeline-chart");
        let bars = number(browser, "document.querySelectorAll('#wait-histogram rect').length");
        assert!(bars >= 3.0, "{bars}");
    });
}

#[test]
fn the_scaling_curve_tells_its_points_and_its_error() {
    const BUTTONS: &str = "document.querySelectorAll('#scaling-what button')";
    look(&fixture::server(), |browser| {
        let marks = "['path.curve', '.point', '.wall', '.recorded'].map( \
             (kind) => document.querySelectorAll('#scaling-chart ' + kind).length)";
        assert_eq!(browser.value(marks), json!([2, 12, 1, 1]));
        let said = text(browser, "scaling-sentences");
        assert!(said.contains("cache_lock is the first bottleneck: from 8 CPUs on"), "{said}");
        assert!(said.contains("With Turnwise's locks no lock becomes a bottleneck."), "{said}");
        assert!(said.contains("gives 1,600,000 acquisitions a second, and 1,450,000 were recorded (+10%)"), "{said}");
        browser.value("document.getElementById('scaling-chart').focus()");
        for (key, shown) in [
            ("End", "64 CPUs. locks that sleep: 600 k acquisitions a second, 95% of the time waiting, mostly for "),
            ("ArrowLeft", "32 CPUs. "),
            ("Home", "2 CPUs. "),
        ] {
            browser.key(key);
            let line = text(browser, "scaling-shown");
            assert!(line.starts_with(shown), "{key}: {line}");
        }
        // The other share: up to the whole time, without the recorded run.
        browser.click(&format!("{BUTTONS}[1]"));
        assert_eq!(browser.value(marks), json!([2, 12, 1, 0]));
        let pressed = format!("[...{BUTTONS}].map((button) => button.getAttribute('aria-pressed'))");
        assert_eq!(browser.value(&pressed), json!(["false", "true"]));
        let labels = browser.value("document.getElementById('scaling-chart').textContent");
        assert!(labels.as_str().is_some_and(|text| text.contains("100%") && text.contains("64 CPUs")), "{labels}");
    });
}

#[test]
fn light_and_dark_have_enough_contrast_and_the_button_overrides() {
    look(&fixture::server(), |browser| {
        for (scheme, dark) in [("light", false), ("dark", true)] {
            let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
            browser.ask("Emulation.setEmulatedMedia", features);
            contrast(browser, scheme, dark);
        }
        for (theme, dark) in [("Theme: light", false), ("Theme: dark", true)] {
            browser.click("document.getElementById('theme')");
            assert_eq!(text(browser, "theme"), theme);
            contrast(browser, theme, dark);
        }
    });
}

fn contrast(browser: &mut Browser, scheme: &str, dark: bool) {
    // The first section has no separate card.
    let script = include_str!("contrast.js").replace("\"section\"", "\"#advice\"");
    let rates = browser.value(&script);
    assert_eq!(rates["back"].as_f64().expect("a number") < 0.2, dark, "{scheme}: {rates}");
    for (name, rate) in rates.as_object().expect("rates").iter().filter(|(name, _)| *name != "back") {
        // As WCAG requires: 4.5 for text, 3 for graphics.
        let least = if name.starts_with("--c") { 3.0 } else { 4.5 };
        assert!(rate.as_f64().expect("a number") >= least, "{scheme} {name}: {rate}");
    }
}

#[test]
fn waits_that_are_left_out_are_drawn_from_afar() {
    let mut profile = fixture::server();
    let again = profile.episodes.clone();
    profile.episodes.extend(again.iter().chain(&again));
    look(&profile, |browser| {
        browser.click("document.getElementById('zoom-all')");
        assert!(text(browser, "timeline-omitted").contains("closely only the 10,000 longest are"));
        let marks = "['path.queue', 'path.hold', 'path.wait', 'rect.wait'].map( \
             (kind) => document.querySelectorAll('#timeline-chart ' + kind).length)";
        assert_eq!(browser.value(marks), json!([1, 6, 6, 0]), "a row for each of the six threads");
        let most = "document.querySelector('#timeline-chart .queue + text').textContent";
        let most = browser.value(most);
        let number = most.as_str().and_then(|text| text.split(' ').nth(1)?.parse::<f64>().ok());
        assert!(number.is_some_and(|number| number > 9.0 && number <= 15.0), "three times at most five: {most}");
    });
}

#[test]
fn paper_has_light_colours_and_the_whole_table() {
    look(&fixture::server(), |browser| {
        let dark = json!({"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]});
        browser.ask("Emulation.setEmulatedMedia", dark);
        assert_eq!(browser.value("getComputedStyle(document.body).color"), "rgb(27, 33, 41)");
        assert_eq!(browser.value("getComputedStyle(document.querySelector('.scroll')).overflowX"), "visible");
    });
}

#[test]
fn narrow_windows_do_not_overflow() {
    look(&fixture::server(), |browser| {
        let narrow = json!({"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        browser.ask("Emulation.setDeviceMetricsOverride", narrow);
        browser.until("document.querySelector('#flame-chart svg').viewBox.baseVal.width <= 380");
        fits(browser);
    });
}

/// Sets the window's width.
fn widen(browser: &mut Browser, width: u32) {
    let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
    browser.ask("Emulation.setDeviceMetricsOverride", size);
    browser.until(&format!("document.querySelector('#flame-chart svg').viewBox.baseVal.width <= {width}"));
    // Redrawing happens in the next frame.
    browser.ask(
        "Runtime.evaluate",
        json!({"expression": "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
            "awaitPromise": true}),
    );
}

#[test]
fn the_names_of_walls_are_apart_from_each_other_and_in_the_picture() {
    const NAMES: &str = "[...document.querySelectorAll('#scaling-chart .wall-name')]";
    // At the same number of CPUs, next to each other, and at either end.
    for places in [(8, 8), (8, 16), (2, 64), (64, 64)] {
        let mut profile = fixture::server();
        let designs = &mut profile.scaling.as_mut().expect("a forecast").designs;
        (designs[0].wall, designs[1].wall) = (Some((places.0, 0)), Some((places.1, 1)));
        look(&profile, |browser| {
            for width in [1400, 1000, 390] {
                widen(browser, width);
                let shown = browser.value(&format!("{NAMES}.map((name) => name.textContent.slice(0, 6))"));
                assert_eq!(shown, json!(["wall: ", "wall: "]), "{places:?} at {width}");
                let overlap = browser.value(&format!(
                    "(() => {{ const [a, b] = {NAMES}.map((name) => name.getBoundingClientRect()); \
                     return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom; }})()"
                ));
                assert_eq!(overlap, json!(false), "{places:?} at {width}");
                let beyond = browser.value(&format!(
                    "(() => {{ const chart = document.querySelector('#scaling-chart svg').getBoundingClientRect(); \
                     return {NAMES}.map((name) => name.getBoundingClientRect()).filter((name) => \
                     name.left < chart.left || name.right > chart.right || name.top < chart.top).length; }})()"
                ));
                assert_eq!(beyond, 0, "{places:?} at {width}");
            }
        });
    }
}

#[test]
fn no_column_is_cut_in_a_wide_window_and_elsewhere_the_edge_says_so() {
    const SCROLLER: &str = "document.querySelector('.scroll')";
    look(&fixture::server(), |browser| {
        for width in [1400, 1000, 390] {
            widen(browser, width);
            for tab in 0..7 {
                browser.click(&format!("document.querySelectorAll('#tabs button')[{tab}]"));
                let left = number(browser, &format!("{SCROLLER}.scrollWidth - {SCROLLER}.clientWidth"));
                assert!(width < 1400 || left < 1.0, "{left} pixels of table {tab} are cut at {width}");
                let wide = json!(left > 1.0);
                browser.until(&format!("{SCROLLER}.classList.contains('more') === {wide}"));
                browser.value(&format!("{SCROLLER}.scrollLeft = 1e6"));
                browser.until(&format!("!{SCROLLER}.classList.contains('more')"));
                let last = "[...document.querySelectorAll('#table tr')].every((row) => \
                     row.lastChild.getBoundingClientRect().right <= \
                     document.querySelector('.scroll').getBoundingClientRect().right + 1)";
                assert_eq!(browser.value(last), json!(true), "table {tab} at {width}");
                let first = "document.querySelector('#table td').getBoundingClientRect().left >= \
                     document.querySelector('.scroll').getBoundingClientRect().left";
                assert_eq!(browser.value(first), json!(true), "the first column of table {tab} stays at {width}");
            }
            fits(browser);
        }
    });
}

#[test]
fn a_lock_leads_to_its_rule_which_can_be_copied() {
    const RULES: &str = "[...document.querySelectorAll('#table td:last-child button')]";
    look(&fixture::server(), |browser| {
        assert_eq!(
            browser.value(&format!("{RULES}.map((button) => button.innerText)")),
            json!(["rule", "rule", "rule", "facts", "facts"]),
            "policy files do not reach spin locks"
        );
        browser.click(&format!("{RULES}[0]"));
        let rule = "[[rule]]\nsymbol = \"cache_lock\"\nlock = \"adaptive\"\n";
        assert_eq!(browser.value("document.getElementById('lock-rule').textContent"), rule);
        assert!(text(browser, "facts-of-lock").contains("0x"), "where it lies");
        browser.click("document.getElementById('rule-copy')");
        browser.until("document.getElementById('rule-shown').textContent === 'Copied.'");
        for width in [1400, 390] {
            widen(browser, width);
            fits(browser);
        }
        browser.key("Escape");
        browser.until("!document.getElementById('lock-facts').open");
        browser.click(&format!("{RULES}[3]"));
        assert_eq!(browser.value("document.getElementById('rule-there').hidden"), true);
    });
}

/// Checks that only elements that scroll by themselves are wider than the window.
fn fits(browser: &mut Browser) {
    let beyond = "[...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll > *, svg, nav, .skip') && \
         e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5) \
         .map((e) => e.outerHTML.slice(0, 80))";
    assert_eq!(browser.value(beyond), json!([]));
    assert_eq!(browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0);
}

#[test]
fn hostile_names_are_only_shown() {
    look(&fixture::hostile(), |browser| {
        assert!(browser.value("document.title").as_str().is_some_and(|title| title.starts_with("Locks of ")));
        assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
        let first = browser.value(FIRST);
        assert!(first.as_str().is_some_and(|name| name.starts_with("</script><img src=x onerror=")), "{first}");
        for tab in 0..7 {
            browser.click(&format!("document.querySelectorAll('#tabs button')[{tab}]"));
            assert!(number(browser, ROWS) >= 1.0);
        }
        browser.click("document.querySelectorAll('#flame-chart rect')[3]");
        fits(browser);
    });
}

#[test]
fn a_large_profile_stays_usable() {
    look(&fixture::large(), |browser| {
        assert_eq!(browser.value(ROWS), 100);
        browser.click("document.querySelectorAll('#tabs button')[1]");
        browser.click("document.getElementById('more')");
        assert_eq!(browser.value(ROWS), 600);
        assert!(text(browser, "filtered").contains("8,000 with less waiting are left out of this page"));
        let spent = |script: &str| {
            format!("(() => {{ const start = performance.now(); {script}; return performance.now() - start; }})()")
        };
        for script in [
            "document.getElementById('zoom-all').click()",
            "document.getElementById('flame-reset').click()",
            "document.querySelectorAll('#table th button')[3].click()",
        ] {
            let ms = number(browser, &spent(script));
            assert!(ms < 1000.0, "{script} took {ms} ms");
        }
        let drawn = number(browser, "document.querySelectorAll('svg *').length");
        assert!(drawn < 20_000.0, "{drawn} elements");
    });
}

#[test]
fn a_profile_without_waits_says_so_and_hides_what_would_be_empty() {
    let mut quiet = fixture::program(5_000_000);
    quiet.threads.push(Default::default());
    look(&quiet, |browser| {
        assert_eq!(text(browser, "title"), "kvserver: it took no lock that is seen this way");
        let hidden = "['course', 'scaling', 'flame', 'timeline'].map((id) => document.getElementById(id).hidden)";
        assert_eq!(browser.value(hidden), json!([true, true, true, true]));
        let dead = "[...document.querySelectorAll('#nav a')] \
             .filter((link) => document.querySelector(link.getAttribute('href')).hidden).length";
        assert_eq!(browser.value(dead), 0);
        assert!(text(browser, "verdict").contains("turnwise profile --futex"));
        assert_eq!(browser.value(ROWS), 1);
        assert_eq!(browser.value(FIRST), Value::from("none in this run"));
    });
}
