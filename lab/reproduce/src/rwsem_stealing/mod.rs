//! `rwsem_stealing`: `fork_test`, whose every fork and exit takes seven locks for writing, before and after waiting
//! writers could be overtaken.
//!
//! | file | what |
//! |---|---|
//! | `load.rs` | what the threads do |
//! | `model.rs` | runs of it, and the constant that is fitted |
//! | `tables.rs` | the published rows beside ours, and more |

mod load;
mod model;
mod tables;

use super::Context;
use super::report::{DocumentReport, Fitted};
use anyhow::Result;
use model::Model;
use tables::Found;
use turnwise_bench::published::{self, RwsemStealing};
use turnwise_simbench::report::SimMachine;

const NAME: &str = "rwsem_stealing";
/// CPUs of the main run: the smallest of the machines that the later commit names (Nehalem-EP, two sockets).
const CPUS: u32 = 16;

/// The document.
///
/// # Errors
/// When the threads get nowhere.
pub(super) fn run(context: &Context<'_>) -> Result<DocumentReport> {
    let published: RwsemStealing = published::typed(NAME)?;
    let wanted = published.cpu_percent[0];
    let model = Model::fitted(context, CPUS, Model::HOLD_NS, wanted)?;
    let found = Found::run(context, &model)?;
    let mut listings = vec![found.listing(), tables::robustness(context, &found, wanted)?];
    let mut beyond = Vec::new();
    if !context.quick {
        listings.push(tables::by_hold(context, wanted)?);
        beyond.push(tables::to_1024(context, &model)?.plot());
    }
    if context.metal {
        listings.push(context.pool.alone(|| tables::metal(context, &model))?);
    }
    let key = |place: &str| format!("{NAME}.{place}");
    let fitted = |what: &str, value: f64, unit: &str, on: &str| Fitted {
        what: what.to_owned(),
        value,
        unit: unit.to_owned(),
        on: key(on),
    };
    Ok(DocumentReport {
        name: NAME.to_owned(),
        title: published::title(NAME),
        published_on: "not said; 537% CPU: at least 6 CPUs".to_owned(),
        machine: SimMachine::of(&model.machine),
        workload: format!("AIM7, {}", published::text(NAME, "workfile").unwrap_or_default()),
        claims: found.claims(&published),
        facts: facts(),
        fitted: vec![
            fitted("compute of a fork, and of an exit, beside the lock", model.compute_ns, "ns", "cpu_percent[0]"),
            fitted("forks of the whole run", found.forks(&published), "", "voluntary_context_switches[0]"),
        ],
        chosen: chosen(),
        tables: found.tables(&published)?,
        bars: found.bars(),
        listings,
        plots: vec![found.plot()],
        beyond,
        whys: crate::whys::of(NAME),
        notes: notes(),
        left_out: context.choose(
            vec!["32 and 64 CPUs, other hold times, 1024 CPUs; three quarters of the simulated time".to_owned()],
            Vec::new(),
        ),
    })
}

fn chosen() -> Vec<String> {
    vec![
        format!("{CPUS} CPUs of westmere-ex-80; the document names no machine"),
        format!("{} anonymous areas", Model::AREAS),
        format!("changes of trees hold a root lock for {} and {} ns", Model::HOLD_NS, Model::OWN_NS),
        format!("{} users", Model::USERS),
    ]
}

fn facts() -> Vec<String> {
    vec![
        format!("the machine is not known: the first {CPUS} CPUs of westmere-ex-80, and others in a table below"),
        "the lock before: granted in order to waiters, even asleep; after: a waiter is woken, and the first to come \
         has it. Forks, exits and waits are calls into a kernel that is not preemptible"
            .to_owned(),
        format!(
            "{} users, which fork, wait for the child and fork again; {} anonymous areas in a small static program \
             (guessed: 6 to 8), each with a root lock of its own that a fork takes twice and an exit once (mm/rmap.c \
             of 3.8); a change of the ancestor's tree takes {} ns (derived from its depth and the machine's transfers; \
             another table has others), one of an empty tree {} ns",
            Model::USERS,
            Model::AREAS,
            Model::HOLD_NS,
            Model::OWN_NS
        ),
        "switches: sleeps on the lock and in wait; the end of a child is not counted".to_owned(),
    ]
}

fn notes() -> Vec<String> {
    vec![
        "Windows of steady state, not whole runs: absolute counts of switches are those of a window, scaled by the \
         number of forks for which the first row comes out."
            .to_owned(),
        crate::page(NAME),
    ]
}
