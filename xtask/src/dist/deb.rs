//! Debian's packages: the tool, the C library, and its development files.
//!
//! By `dpkg-deb` and three short templates. `cargo-deb` was considered: it packs one crate's files, and the C library
//! needs two packages, a symbols file and a checksum of its own.

use super::machine::Machine;
use super::{PACKAGING, VERSION, copy, glibc, notices, symbols, write};
use crate::capi::lay;
use crate::checks::{must, output};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Not a real address: these packages are not published, so no mail about them is expected.
const MAINTAINER: &str = "The Turnwise authors <maintainers@turnwise.invalid>";
const MAJOR: &str = env!("CARGO_PKG_VERSION_MAJOR");
/// The C library's parts, up to the dot.
const OF_GLIBC: &[&str] = &["libc", "libm", "libpthread", "libdl", "librt", "libutil"];
const TOOL: &str = "turnwise";
const DEVELOPMENT: &str = "libturnwise-dev";

/// The inputs of packages.
struct Maker<'a> {
    /// The target machine.
    machine: &'a Machine,
    /// The folder with the tool and the C library.
    built: &'a Path,
    /// Where the packages go, and their files lie.
    to: &'a Path,
    /// As Debian calls it.
    architecture: String,
    /// The folder of its libraries.
    multiarch: String,
    /// The seconds of the last commit: that of all files.
    time: String,
}

/// Makes the packages in `to`; their paths.
pub(super) fn make(machine: &Machine, built: &Path, to: &Path) -> Result<Vec<PathBuf>> {
    let time = output(&["git", "log", "-1", "--format=%ct"])?.trim().to_owned();
    let (architecture, multiarch) = (machine.debian()?, machine.multiarch()?);
    let maker = Maker { machine, built, to, architecture, multiarch, time };
    let library = format!("libturnwise{MAJOR}");
    maker.tool()?;
    maker.library(&library)?;
    [(TOOL, "turnwise-cli"), (&library, "turnwise-capi"), (DEVELOPMENT, "turnwise-capi")]
        .into_iter()
        .map(|(name, of)| maker.pack(name, of))
        .collect()
}

impl Maker<'_> {
    fn root(&self, package: &str) -> PathBuf {
        self.to.join("roots").join(package)
    }

    /// Lays the tool, its manual and completions.
    fn tool(&self) -> Result<()> {
        let usr = self.root(TOOL).join("usr");
        let (from, program) = (self.built.join(TOOL), usr.join("bin/turnwise"));
        copy(&from, &program)?;
        self.strip(&program, &["--strip-all"])?;
        let manuals = usr.join("share/man/man1");
        std::fs::create_dir_all(&manuals)?;
        let tool = program.display().to_string();
        output(&self.machine.line(&[&tool, "man", &manuals.display().to_string()]))?;
        for page in files_below(&manuals)? {
            compress(&page)?;
        }
        let share = usr.join("share");
        for (shell, file) in [
            ("bash", "bash-completion/completions/turnwise"),
            ("zsh", "zsh/vendor-completions/_turnwise"),
            ("fish", "fish/vendor_completions.d/turnwise.fish"),
        ] {
            write(&share.join(file), output(&self.machine.line(&[&tool, "completions", shell]))?)?;
        }
        Ok(())
    }

    /// Lays the C library, and the rest of what `cargo xtask install-c` installs.
    fn library(&self, package: &str) -> Result<()> {
        let lib = format!("lib/{}", self.multiarch);
        let development = self.root(DEVELOPMENT).join("usr");
        lay(self.built, &development, Path::new("/usr"), &lib)?;
        let (from, to) = (development.join(&lib), self.root(package).join("usr").join(&lib));
        std::fs::create_dir_all(&to)?;
        for name in [format!("libturnwise.so.{VERSION}"), format!("libturnwise.so.{MAJOR}")] {
            std::fs::rename(from.join(&name), to.join(&name)).with_context(|| format!("cannot move {name}"))?;
        }
        self.strip(&to.join(format!("libturnwise.so.{VERSION}")), &["--strip-unneeded"])?;
        self.strip(&from.join("libturnwise.a"), &["--strip-debug", "--enable-deterministic-archives"])?;
        let control = self.root(package).join("DEBIAN");
        copy(&Path::new(PACKAGING).join(symbols::LIST), &control.join("symbols"))?;
        write(&control.join("shlibs"), format!("libturnwise {MAJOR} {package} (>= {VERSION})\n"))?;
        write(&control.join("triggers"), "activate-noawait ldconfig\n")
    }

    /// Adds what every package has, and packs it.
    fn pack(&self, package: &str, of: &str) -> Result<PathBuf> {
        let root = self.root(package);
        self.documents(package, of)?;
        let shown = root.display().to_string();
        // Whatever the umask; and libraries are not to be executable.
        must(Path::new("."), &[], &["chmod", "-R", "u=rwX,go=rX", &shown])?;
        let files = files_below(&root.join("usr"))?;
        for library in files.iter().filter(|file| file.to_string_lossy().contains("/libturnwise.so.")) {
            must(Path::new("."), &[], &["chmod", "0644", &library.display().to_string()])?;
        }
        let size: u64 = files.iter().map(|file| file.metadata().map_or(0, |data| data.len().div_ceil(1024))).sum();
        write(&root.join("DEBIAN/md5sums"), sums(&root, &files)?)?;
        let template = package.replace(MAJOR, "");
        let template = Path::new(PACKAGING).join(format!("debian/{template}.control"));
        let control = std::fs::read_to_string(&template);
        let control = control.with_context(|| format!("cannot read {}", template.display()))?;
        let control = control
            .replace("@VERSION@", &self.version())
            .replace("@ARCHITECTURE@", &self.architecture)
            .replace("@MAINTAINER@", MAINTAINER)
            .replace("@MAJOR@", MAJOR)
            .replace("@SIZE@", &size.to_string())
            .replace("@DEPENDS@", &self.depends(&files)?);
        ensure!(
            !control.contains('@') || control.matches('@').count() == 1,
            "something is left to fill in:\n{control}"
        );
        write(&root.join("DEBIAN/control"), control)?;
        let file = self.to.join(format!("{package}_{}_{}.deb", self.version(), self.architecture));
        let line = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", &shown, &file.display().to_string()];
        must(Path::new("."), &[("SOURCE_DATE_EPOCH", OsStr::new(&self.time))], &line)?;
        Ok(file)
    }

    fn version(&self) -> String {
        format!("{VERSION}-1")
    }

    /// Licences and changes.
    fn documents(&self, package: &str, of: &str) -> Result<()> {
        let folder = self.root(package).join("usr/share/doc").join(package);
        let head = std::fs::read_to_string(Path::new(PACKAGING).join("debian/copyright.head"))?;
        let licence = std::fs::read_to_string("LICENSE-MIT").context("cannot read LICENSE-MIT")?;
        write(&folder.join("copyright"), head + &paragraphs(&licence))?;
        copy(Path::new("CHANGELOG.md"), &folder.join("changelog"))?;
        let date = output(&["date", "--utc", "--rfc-email", "--date", &format!("@{}", self.time)])?;
        let version = self.version();
        let changes = format!(
            "turnwise ({version}) unstable; urgency=medium\n\n  * changelog.gz has the changes.\n\n \
             -- {MAINTAINER}  {}\n",
            date.trim()
        );
        write(&folder.join("changelog.Debian"), changes)?;
        write(&folder.join("third-party"), notices::of(of)?)?;
        ["changelog", "changelog.Debian", "third-party"].iter().try_for_each(|name| compress(&folder.join(name)))
    }

    fn strip(&self, file: &Path, flags: &[&str]) -> Result<()> {
        must(Path::new("."), &[], &[&[&*self.machine.tool("strip")], flags, &[&file.display().to_string()]].concat())
    }

    /// Returns the packages that bring what these files are linked with. By the versions of the symbols that they need:
    /// `dpkg-shlibdeps` goes by this machine's C library, in which functions have moved, and returns 2.34 for each.
    fn depends(&self, files: &[PathBuf]) -> Result<String> {
        let is_linked = |file: &&PathBuf| file.ends_with("bin/turnwise") || file.to_string_lossy().contains(".so.");
        let linked: Vec<String> = files.iter().filter(is_linked).map(|file| file.display().to_string()).collect();
        if linked.is_empty() {
            return Ok(String::new());
        }
        let objdump = self.machine.tool("objdump");
        let line =
            |flags| [objdump.as_str(), flags].into_iter().chain(linked.iter().map(String::as_str)).collect::<Vec<_>>();
        let (headers, symbols) = (output(&line("-p"))?, output(&line("-T"))?);
        let needed = headers.lines().filter_map(|line| line.trim().strip_prefix("NEEDED")).map(str::trim);
        let mut packages =
            vec![format!("libc6 (>= {})", glibc::newest(&symbols).context("nothing of glibc is asked for")?)];
        for library in needed.collect::<BTreeSet<_>>() {
            let stem = library.split('.').next().unwrap_or(library);
            match stem {
                "libgcc_s" => packages.push("libgcc-s1 | libgcc1".to_owned()),
                _ if stem.starts_with("ld-linux") || OF_GLIBC.contains(&stem) => {}
                _ => bail!("no package is known that brings {library}"),
            }
        }
        Ok(packages.join(", "))
    }
}

/// Returns a licence's text as the field of a copyright file.
fn paragraphs(licence: &str) -> String {
    licence.lines().map(|line| if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {line}\n") }).collect()
}

fn compress(file: &Path) -> Result<()> {
    output(&["gzip", "-9n", "--force", &file.display().to_string()]).map(|_| ())
}

/// Sums of the files, with paths from the root.
fn sums(root: &Path, files: &[PathBuf]) -> Result<String> {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let line: Vec<&str> = ["md5sum"].into_iter().chain(files.iter().map(String::as_str)).collect();
    Ok(output(&line)?.replace(&format!("{}/", root.display()), ""))
}

/// Returns all files below a folder, links left out, in order.
pub(super) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files.extend(files_below(&entry.path())?);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_of_a_licence_are_dots() {
        assert_eq!(paragraphs("MIT\n\nby us\n"), " MIT\n .\n by us\n");
    }
}
