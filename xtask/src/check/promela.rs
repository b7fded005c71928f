//! The Promela models of `proof/wakeup`, searched by Debian's `spin`.

use crate::command::{Run, cmd, need, skipped, text_of};
use anyhow::{Context, Result, ensure};
use regex::Regex;
use std::path::Path;
use std::time::Instant;

const FOLDER: &str = "proof/wakeup";
/// The lock that they are about, as the tests call it.
pub(super) const LOCK: &str = "preload_cond";
/// Each search: the model, what is defined, and whether a signal must be found that is lost. `ONE_SLOW`, `BUSY` and
/// `AFTER` are explained in `queue.pml`, the others in the models.
const SEARCHES: [(&str, &str, bool); 11] = [
    ("groups", "-DONE_SLOW", true),
    ("groups", "-DONE_SLOW -DAT_ONCE", false),
    ("sequence", "-DONE_SLOW", false),
    ("sequence", "", false),
    ("sequence", "-DBUSY", false),
    ("sequence", "-DBUSY -DAFTER", false),
    ("sequence", "-DBUSY -DAFTER -DUNCOUNTED", true),
    ("sequence", "-DBUSY -DAFTER -DALWAYS", true),
    ("sequence", "-DBUSY -DAFTER -DPOLLED", true),
    ("sequence", "-DBUSY -DAFTER -DSAME", true),
    ("sequence", "-DBUSY -DAFTER -DBLIND", true),
];

/// What the checker says of an item that lies there while a worker sleeps.
const LOST: &str = "assertion violated ((items==0)||(inside==0))";

/// Searches all models; returns `true` if each has a lost signal or none, as it should.
pub(super) fn models() -> Result<bool> {
    if let Err(why) = skipped(need("spin", "spin"))? {
        println!("SKIPPED: the Promela models: {why}");
        return Ok(true);
    }
    println!("Promela models of {FOLDER}: is a signal lost?");
    let mut well = true;
    for (model, defined, is_lost) in SEARCHES {
        let begun = Instant::now();
        let (found, size) = search(model, defined).with_context(|| format!("{FOLDER}/{model}.pml {defined}"))?;
        let wrong = if found == is_lost { "" } else { ": WRONG" };
        well &= wrong.is_empty();
        let (answer, time) = (if found { "lost" } else { "none lost" }, begun.elapsed().as_secs_f64());
        println!("{model:8} {defined:27} {answer:9} {size}, {time:.1} s{wrong}");
    }
    Ok(well)
}

/// Makes the checker of a model, and runs it; returns whether a signal is lost, and how much was searched.
fn search(model: &str, defined: &str) -> Result<(bool, String)> {
    let source = std::path::absolute(Path::new(FOLDER).join(model).with_extension("pml"))?;
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let run = |line: &str| {
        let mut command = cmd(line);
        command.current_dir(&folder);
        command
    };
    run(&format!("spin -a {defined}")).arg(source).text()?;
    run("cc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c").text()?;
    let printed = text_of(&run("./pan -m10000").printed()?.stdout);
    let number = |pattern: &str| {
        let found = Regex::new(pattern)?.captures(&printed).map(|found| found[1].to_owned());
        found.with_context(|| format!("pan does not say `{pattern}`:\n{printed}"))
    };
    let is_lost = printed.contains(LOST);
    let is_whole =
        number(r"errors: (\d+)")? == "0" && !["not completed", "too small"].iter().any(|it| printed.contains(it));
    ensure!(is_lost || is_whole, "neither a lost signal nor a whole search:\n{printed}");
    let (states, depth) = (number(r"(\d\S*) states, stored")?, number(r"depth reached (\d+)")?);
    Ok((is_lost, format!("{states:>10} states, depth {depth}")))
}
