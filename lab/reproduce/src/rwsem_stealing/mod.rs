//! `rwsem_stealing`: `fork_test`, whose every fork and exit takes seven locks for writing, before and after waiting
//! writers could be overtaken.
//!
//! | file | what |
//! |---|---|
//! | `load.rs` | what the threads do |
//! | `model.rs` | runs of it |
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

/// The document.
///
/// # Errors
/// When the threads get nowhere.
pub(super) fn run(context: &Context<'_>) -> Result<DocumentReport> {
    let published: RwsemStealing = published::typed(NAME)?;
    let model = Model::on(Model::MACHINE, Model::CPUS, Model::HOLD_NS)?;
    let found = Found::run(context, &model)?;
    let mut listings = vec![found.listing(), tables::robustness(context, &found)?];
    let mut beyond = Vec::new();
    if !context.quick {
        listings.push(tables::by_hold(context)?);
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
        fitted: vec![fitted("forks of the whole run", found.forks(&published), "", "voluntary_context_switches[0]")],
        chosen: chosen(),
        tables: found.tables(&published)?,
        bars: found.bars(),
        listings,
        plots: vec![found.plot()],
        beyond,
        whys: crate::whys::of(NAME),
        notes: notes(),
        left_out: context.choose(
            vec!["other hold times, most other machines, 1024 CPUs; most of the time, all seeds but one".to_owned()],
            Vec::new(),
        ),
    })
}

fn chosen() -> Vec<String> {
    vec![
        format!(
            "{}, the smallest of the machines that a sibling commit names; the document names none",
            Model::MACHINE
        ),
        format!("{} anonymous areas", Model::AREAS),
        format!("changes of trees hold a root lock for {} and {} ns", Model::HOLD_NS, Model::OWN_NS),
        format!("{} users", Model::USERS),
    ]
}

fn facts() -> Vec<String> {
    vec![
        "the machine is not known: commit ce6711f3, of the same days, names Nehalem-EP, Nehalem-EX and Sandy Bridge-EP \
         with two and four sockets; the first of these, and others in a table below"
            .to_owned(),
        format!(
            "a fork takes {} us beside the locks, and so does an exit: half of what both took on a machine of 2.6 GHz \
             (docs/lab/0060, measured)",
            Model::COMPUTE_NS / 1000
        ),
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
        "switches: sleeps on the lock and in wait, and the end of a child: a dead task leaves its CPU by a voluntary \
         switch, a microsecond after it woke its parent, which then counts it (Linux 3.8, `do_exit`, `__schedule`, \
         `wait_task_zombie`: recalled)"
            .to_owned(),
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
