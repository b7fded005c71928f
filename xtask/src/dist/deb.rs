//! Debian's packages: the tool, the C library, and its development files.
//!
//! By `dpkg-deb` and three short templates. `cargo-deb` was considered: it packs one crate's files, and the C library
//! needs two packages, a symbols file and a checksum of its own.

use super::machine::Machine;
use super::{VERSION, glibc, notices, symbols};
use crate::capi::lay;
use crate::command::{Run, cmd, files_below, git};
use crate::root::{copy, read, write};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Not a real address: these packages are not published, so no mail about them is expected.
const MAINTAINER: &str = "The Turnwise authors <maintainers@turnwise.invalid>";
const MAJOR: &str = env!("CARGO_PKG_VERSION_MAJOR");
/// The C library's parts, up to the dot.
const OF_GLIBC: &[&str] = &["libc", "libm", "libpthread", "libdl", "librt", "libutil"];
const TOOL: &str = "turnwise";
const DEVELOPMENT: &str = "libturnwise-dev";
/// As Debian counts it: ours, and their first package of it.
const DEBIAN_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-1");

/// The inputs of packages.
struct Maker<'a> {
    /// The target machine.
    machine: &'a Machine,
    /// The folder with the tool and the C library.
    built: &'a Path,
    /// Where the packages go, and their files lie.
    to: &'a Path,
    /// The seconds of the last commit: that of all files.
    time: String,
}

/// Makes the packages in `to`; their paths.
pub(super) fn make(machine: &Machine, built: &Path, to: &Path) -> Result<Vec<PathBuf>> {
    let maker = Maker { machine, built, to, time: git(&["log", "-1", "--format=%ct"])? };
    let library = format!("libturnwise{MAJOR}");
    maker.tool()?;
    maker.library(&library)?;
    let packages = [(TOOL, "turnwise-cli"), (&library, "turnwise-capi"), (DEVELOPMENT, "turnwise-capi")];
    packages.into_iter().map(|(name, of)| maker.pack(name, of)).collect()
}

impl Maker<'_> {
    fn root(&self, package: &str) -> PathBuf {
        self.to.join("roots").join(package)
    }

    /// Lays the tool, its manual and completions.
    fn tool(&self) -> Result<()> {
        let usr = self.root(TOOL).join("usr");
        let (program, share) = (usr.join("bin/turnwise"), usr.join("share"));
        copy(self.built.join(TOOL), &program)?;
        self.strip(&program, "--strip-all")?;
        let manuals = share.join("man/man1");
        std::fs::create_dir_all(&manuals)?;
        self.machine.command(&program).arg("man").arg(&manuals).text()?;
        files_below(&manuals)?.iter().try_for_each(|page| compress(page))?;
        for (shell, file) in [
            ("bash", "bash-completion/completions/turnwise"),
            ("zsh", "zsh/vendor-completions/_turnwise"),
            ("fish", "fish/vendor_completions.d/turnwise.fish"),
        ] {
            write(share.join(file), self.machine.command(&program).args(["completions", shell]).text()?)?;
        }
        Ok(())
    }

    /// Lays the C library, and the rest of what `cargo xtask install-c` installs.
    fn library(&self, package: &str) -> Result<()> {
        let lib = format!("lib/{}", self.machine.multiarch()?);
        let development = self.root(DEVELOPMENT).join("usr");
        lay(self.built, &development, Path::new("/usr"), &lib)?;
        let (from, to) = (development.join(&lib), self.root(package).join("usr").join(&lib));
        std::fs::create_dir_all(&to)?;
        for name in [format!("libturnwise.so.{VERSION}"), format!("libturnwise.so.{MAJOR}")] {
            std::fs::rename(from.join(&name), to.join(&name)).with_context(|| format!("cannot move {name}"))?;
        }
        self.strip(&to.join(format!("libturnwise.so.{VERSION}")), "--strip-unneeded")?;
        self.strip(&from.join("libturnwise.a"), "--strip-debug --enable-deterministic-archives")?;
        let control = self.root(package).join("DEBIAN");
        copy(symbols::LIST, control.join("symbols"))?;
        write(control.join("shlibs"), format!("libturnwise {MAJOR} {package} (>= {VERSION})\n"))?;
        write(control.join("triggers"), "activate-noawait ldconfig\n")
    }

    /// Adds what every package has, and packs it.
    fn pack(&self, package: &str, of: &str) -> Result<PathBuf> {
        let root = self.root(package);
        self.documents(package, of)?;
        // Whatever the umask; and libraries are not to be executable.
        cmd("chmod -R u=rwX,go=rX").arg(&root).must()?;
        let files = files_below(&root.join("usr"))?;
        for library in files.iter().filter(|file| file.to_string_lossy().contains("/libturnwise.so.")) {
            cmd("chmod 0644").arg(library).must()?;
        }
        let size: u64 = files.iter().map(|file| file.metadata().map_or(0, |data| data.len().div_ceil(1024))).sum();
        // With paths from the root.
        let sums = cmd("md5sum").args(&files).text()?.replace(&format!("{}/", root.display()), "");
        write(root.join("DEBIAN/md5sums"), sums)?;
        let architecture = self.machine.debian()?;
        let control = read(format!("packaging/debian/{}.control", package.replace(MAJOR, "")))?
            .replace("@VERSION@", DEBIAN_VERSION)
            .replace("@ARCHITECTURE@", &architecture)
            .replace("@MAINTAINER@", MAINTAINER)
            .replace("@MAJOR@", MAJOR)
            .replace("@SIZE@", &size.to_string())
            .replace("@DEPENDS@", &self.depends(&files)?);
        ensure!(control.matches('@').count() <= 1, "something is left to fill in:\n{control}");
        write(root.join("DEBIAN/control"), control)?;
        let file = self.to.join(format!("{package}_{DEBIAN_VERSION}_{architecture}.deb"));
        let mut pack = cmd("dpkg-deb --root-owner-group -Zxz --build");
        pack.arg(&root).arg(&file).env("SOURCE_DATE_EPOCH", &self.time).must()?;
        Ok(file)
    }

    /// Licences and changes.
    fn documents(&self, package: &str, of: &str) -> Result<()> {
        let folder = self.root(package).join("usr/share/doc").join(package);
        write(folder.join("copyright"), read("packaging/debian/copyright.head")? + &paragraphs(&read("LICENSE-MIT")?))?;
        copy("CHANGELOG.md", folder.join("changelog"))?;
        let date = cmd("date --utc --rfc-email --date").arg(format!("@{}", self.time)).text()?;
        let changes = format!(
            "turnwise ({DEBIAN_VERSION}) unstable; urgency=medium\n\n  * changelog.gz has the changes.\n\n \
             -- {MAINTAINER}  {}\n",
            date.trim()
        );
        write(folder.join("changelog.Debian"), changes)?;
        write(folder.join("third-party"), notices::of(of)?)?;
        ["changelog", "changelog.Debian", "third-party"].iter().try_for_each(|name| compress(&folder.join(name)))
    }

    fn strip(&self, file: &Path, flags: &str) -> Result<()> {
        cmd(&self.machine.tool("strip")).args(flags.split(' ')).arg(file).must()
    }

    /// Returns the packages that bring what these files are linked with. By the versions of the symbols that they need:
    /// `dpkg-shlibdeps` goes by this machine's C library, in which functions have moved, and returns 2.34 for each.
    fn depends(&self, files: &[PathBuf]) -> Result<String> {
        let is_linked = |file: &&PathBuf| file.ends_with("bin/turnwise") || file.to_string_lossy().contains(".so.");
        let linked: Vec<_> = files.iter().filter(is_linked).collect();
        if linked.is_empty() {
            return Ok(String::new());
        }
        let listed = |flag| cmd(&self.machine.tool("objdump")).arg(flag).args(&linked).text();
        let (headers, symbols) = (listed("-p")?, listed("-T")?);
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
    cmd("gzip -9n --force").arg(file).text().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_of_a_licence_are_dots() {
        assert_eq!(paragraphs("MIT\n\nby us\n"), " MIT\n .\n by us\n");
    }
}
