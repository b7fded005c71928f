//! `cargo xtask supply`: the inputs and outputs of the builds.

mod builds;
mod documented;
mod graph;
mod interface;
mod licences;
mod package;
mod refused;
mod tools;
mod twice;

use crate::checks::{self, Check, check};
use crate::command::tracked;
use crate::root::copy;
use anyhow::Result;
use std::path::Path;

pub(crate) use graph::{Graph, Package, packages};

/// Where the checks leave files.
const FOLDER: &str = "target/supply";
/// The crates with an interface for other code, that people write programs with; the rest are parts of the program.
const LIBRARIES: &[&str] = &["turnwise", "turnwise-live"];

/// Licences, versions, features, compilers and bytes: what goes into the builds, and what comes out of them
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: checks::Which,
    /// The commit that `semver` compares with [default: the last tag of a version]
    #[arg(long, value_name = "COMMIT")]
    against: Option<String>,
    /// Have `interface` write the list instead of comparing with it
    #[arg(long)]
    write: bool,
}

const CHECKS: &[Check<Args>] = &[
    check("licences", "licences, versions and sources are those that deny.toml allows", true, licences::run),
    check("msrv", "each published crate compiles with the oldest Rust that it names", true, builds::oldest_rust),
    check("features", "each pair of features of each published crate compiles", true, builds::features),
    check("refused", "what is loaded into programs says by one error which targets it knows", true, refused::run),
    check("interface", "the library's interface is as in the list that is kept", true, interface::run),
    check("package", "what is published is packed, and installs from the packages alone", true, package::run),
    check("docs.rs", "the documentation of what is published, as docs.rs makes it", false, documented::run),
    check("minimal", "published crates compile with the oldest versions that they name", false, builds::minimal),
    check("deny", "`cargo deny`: licences, bans and sources", false, tools::deny),
    check("advisories", "`cargo deny`: known faults of dependencies, and abandoned ones", false, tools::advisories),
    check(
        "semver",
        "`cargo semver-checks`: the libraries' interfaces against the last version's",
        false,
        tools::semver,
    ),
    check("sbom", "`cargo cyclonedx`: lists of what is in the tool and both libraries", false, tools::sbom),
    check("twice", "two builds in different folders have the same bytes", false, twice::run),
];

/// Runs the requested checks; returns `true` if none failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    checks::run(CHECKS, &args.which, args)
}

/// Copies the tree as it is, without what git ignores, below [`FOLDER`].
fn copy_of_the_tree(name: &str) -> Result<std::path::PathBuf> {
    let to = std::path::absolute(FOLDER)?.join(name);
    // Others were deleted in the working tree, or are a folder of another repository.
    for file in tracked(Path::new("."))?.iter().filter(|file| Path::new(file).is_file()) {
        copy(file, to.join(file))?;
    }
    Ok(to)
}
