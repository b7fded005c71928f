//! The Python wheel: made, installed in an otherwise empty environment, and used.

use super::machine::Machine;
use super::portable::{self, GLIBC};
use super::{PACKAGING, VERSION, copy, empty_folder, notices, write};
use crate::checks::{Outcome, must, output};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// Threads that share a mutex in Python itself: its own lock of the interpreter.
const PROGRAM: &str = "\
import threading
maps = open('/proc/self/maps').read()
assert 'libturnwise_preload' in maps, 'not on our locks'
count = []
threads = [threading.Thread(target=lambda: [count.append(0) for _ in range(10000)]) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print('python counted', len(count))
";

/// Makes and tries it.
pub(super) fn run() -> Result<Outcome> {
    let (python, built) = match (portable::python()?, portable::build(&Machine::own())?) {
        (Ok(python), Ok(built)) => (python, built),
        (Err(why), _) | (_, Err(why)) => return Ok(Outcome::Skipped(why)),
    };
    let (source, folder) = (empty_folder("wheel-source")?, empty_folder("wheel")?);
    let platform = format!("manylinux_{}_{}", GLIBC.replace('.', "_"), std::env::consts::ARCH);
    lay(&built, &source, &platform)?;
    let python = python.display().to_string();
    let (from, to) = (source.display().to_string(), folder.display().to_string());
    let line =
        [&python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", &to, &from];
    must(Path::new("."), &[], &line)?;
    let name = format!("turnwise-{VERSION}-py3-none-{platform}.whl");
    let wheel = folder.join(&name);
    ensure!(wheel.exists(), "there is no {name} in {to}");
    let used = use_wheel(&wheel)?;
    Ok(Outcome::Ok(format!("{name}; {used}")))
}

/// Lays out the wheel's content.
fn lay(built: &Path, to: &Path, platform: &str) -> Result<()> {
    copy(&built.join("turnwise"), &to.join("turnwise"))?;
    for text in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(Path::new(text), &to.join(text))?;
    }
    write(&to.join("THIRD-PARTY"), notices::of("turnwise-cli")?)?;
    let from = Path::new(PACKAGING).join("wheel");
    for file in ["README.md", "pyproject.toml", "tag.py"] {
        let text = std::fs::read_to_string(from.join(file)).with_context(|| format!("cannot read {file}"))?;
        write(&to.join(file), text.replace("@VERSION@", VERSION).replace("@PLATFORM@", platform))?;
    }
    Ok(())
}

fn use_wheel(wheel: &Path) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let fresh = folder.path().join("fresh");
    must(Path::new("."), &[], &["python3", "-m", "venv", &fresh.display().to_string()])?;
    let python = fresh.join("bin/python3").display().to_string();
    let wheel = wheel.display().to_string();
    let install = [&python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", &wheel];
    must(Path::new("."), &[], &install)?;
    let tool = fresh.join("bin/turnwise");
    let used = portable::use_tool(&Machine::own(), &tool)?;
    let counted = output(&[&tool.display().to_string(), "run", "--", &python, "-c", PROGRAM])?;
    ensure!(counted.contains("python counted 40000"), "Python says {counted}");
    let remove = [&python, "-m", "pip", "uninstall", "--quiet", "--yes", "turnwise"];
    must(Path::new("."), &[], &remove)?;
    ensure!(!tool.exists(), "{} is left over", tool.display());
    Ok(used)
}
