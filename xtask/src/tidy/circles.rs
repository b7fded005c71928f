//! The rule against circles of files. A file uses another if one of its paths outside tests leads there, by way of
//! re-exports if need be. (A re-export is not a use, and neither is `mod x;`. What a module uses of the modules inside
//! it does not count either: it is made of them.)

use super::Report;
use crate::tidy::tree::{Tree, is_test};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};

/// Files of a circle that are still easy to read together.
const LARGEST: usize = 3;

/// A module's path from the crate's root, which has none.
type Path = Vec<String>;

pub(super) fn circles(tree: &Tree, report: &mut Report<'_>) {
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for (file, syntax) in tree.rust() {
        let Some((home, below)) = file.path.split_once("/src/") else { continue };
        crates.entry(home).or_default().add(&file.path, module(below), syntax);
    }
    for (home, modules) in &crates {
        for circle in modules.circles() {
            for file in &circle {
                report.add(home, 1, format!("{file} is one of {} files in a circle", circle.len()));
            }
        }
    }
}

/// Returns the module that a file below `src` holds.
fn module(file: &str) -> Path {
    let name = file.trim_end_matches(".rs");
    let mut path: Path = name.split('/').map(str::to_string).collect();
    if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

/// A crate's modules that have files of their own.
#[derive(Default)]
struct Modules<'a> {
    files: BTreeMap<Path, &'a str>,
    uses: BTreeMap<Path, BTreeSet<Path>>,
    /// Names that a module has from elsewhere, and whence.
    imports: BTreeMap<Path, BTreeMap<String, Path>>,
}

impl<'a> Modules<'a> {
    fn add(&mut self, file: &'a str, module: Path, syntax: &syn::File) {
        let mut paths = Paths { here: module.clone(), ..Paths::default() };
        paths.visit_file(syntax);
        self.files.insert(module.clone(), file);
        self.uses.entry(module.clone()).or_default().extend(paths.used);
        self.imports.entry(module).or_default().extend(paths.imports);
    }

    /// Returns the module with a file that `path` leads to.
    fn target(&self, path: &[String], hops: usize) -> Option<&Path> {
        let depth = (0..=path.len()).rev().find(|&n| self.files.contains_key(&path[..n]))?;
        let (found, rest) = path.split_at(depth);
        let import = rest.first().and_then(|name| self.imports.get(found)?.get(name));
        match import.filter(|_| hops > 0) {
            Some(import) => self.target(&[import, &rest[1..]].concat(), hops - 1),
            None => self.files.get_key_value(found).map(|(path, _)| path),
        }
    }

    fn circles(&self) -> Vec<Vec<&'a str>> {
        let mut graph = DiGraphMap::<_, _>::new();
        for (from, paths) in &self.uses {
            for to in paths.iter().filter_map(|path| self.target(path, 8)).filter(|to| !to.starts_with(from)) {
                graph.add_edge(self.files[from], self.files[to], ());
            }
        }
        let large = tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > LARGEST);
        large.map(|circle| BTreeSet::from_iter(circle).into_iter().collect()).collect()
    }
}

/// Collects the paths of one file that lead to modules of its crate, from the root.
#[derive(Default)]
struct Paths {
    /// The module that is being read, which may be one inside the file.
    here: Path,
    /// Modules that it declares.
    children: BTreeSet<String>,
    used: BTreeSet<Path>,
    imports: BTreeMap<String, Path>,
    /// How many modules of the file we are in.
    depth: usize,
}

impl Paths {
    fn absolute(&self, segments: &[String]) -> Option<Path> {
        let first = segments.first()?;
        let up = segments.iter().take_while(|s| *s == "super").count();
        let (base, rest) = match first.as_str() {
            "crate" => (&[][..], &segments[1..]),
            "self" => (&self.here[..], &segments[1..]),
            "super" => (&self.here[..self.here.len().checked_sub(up)?], &segments[up..]),
            name if self.children.contains(name) => (&self.here[..], segments),
            _ => return None,
        };
        Some([base, rest].concat())
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String], public: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (path, name) = match tree {
            syn::UseTree::Path(path) => return self.import(&path.tree, &with(&path.ident), public),
            syn::UseTree::Group(group) => return group.items.iter().for_each(|t| self.import(t, before, public)),
            syn::UseTree::Name(name) if name.ident == "self" => (before.to_vec(), before.last().cloned()),
            syn::UseTree::Name(name) => (with(&name.ident), Some(name.ident.to_string())),
            syn::UseTree::Rename(name) => (with(&name.ident), Some(name.rename.to_string())),
            syn::UseTree::Glob(_) => (before.to_vec(), None),
        };
        let Some(path) = self.absolute(&path) else { return };
        if !public {
            self.used.insert(path.clone());
        }
        if let Some(name) = name.filter(|_| self.depth == 0) {
            self.imports.insert(name, path);
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_file(&mut self, file: &'ast syn::File) {
        let children = file.items.iter().filter_map(|item| match item {
            syn::Item::Mod(item) if item.content.is_none() => Some(item.ident.to_string()),
            _ => None,
        });
        self.children = children.collect();
        visit::visit_file(self, file);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.here.push(item.ident.to_string());
        self.depth += 1;
        visit::visit_item_mod(self, item);
        self.depth -= 1;
        self.here.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Path = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.used.extend(self.absolute(&segments).filter(|_| segments.len() > 1));
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the circles of a crate with these files.
    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let tree = Tree::of(files);
        let mut modules = Modules::default();
        for (file, syntax) in tree.rust() {
            modules.add(&file.path, module(file.path.trim_start_matches("a/src/")), syntax);
        }
        let names = |circle: Vec<&str>| circle.into_iter().map(str::to_string).collect();
        modules.circles().into_iter().map(names).collect()
    }

    const ALL: [&str; 4] = ["a/src/b.rs", "a/src/c/d.rs", "a/src/c/mod.rs", "a/src/e.rs"];

    #[test]
    fn a_circle_of_four_is_found_by_uses_and_by_paths() {
        let files = [
            ("a/src/lib.rs", "mod b; mod c; mod e; pub use b::f;"),
            ("a/src/b.rs", "use crate::c::G; mod inner { use super::super::c; }"),
            ("a/src/c/mod.rs", "mod d; fn g() { super::e::i(); d::h(); }"),
            ("a/src/c/d.rs", "use super::g; use crate::f;"),
            ("a/src/e.rs", "fn i() { crate::c::d::h(); }"),
        ];
        assert_eq!(found(&files), [ALL], "`crate::f` is of b.rs");
        for open in 1..5 {
            let mut files = files;
            files[open].1 = if open == 2 { "mod d; fn g() { d::h(); }" } else { "" };
            assert_eq!(found(&files), [[""; 0]; 0], "without {}", files[open].0);
        }
    }

    #[test]
    fn tests_re_exports_and_circles_of_three_are_allowed() {
        let files = [
            ("a/src/lib.rs", "mod b; mod c; mod e; mod f;"),
            ("a/src/b.rs", "use crate::c; pub use crate::f::X;"),
            ("a/src/c.rs", "use super::e;"),
            ("a/src/e.rs", "use crate::b; #[cfg(test)] mod tests { use crate::f; }"),
            ("a/src/f.rs", "use crate::b;"),
        ];
        assert_eq!(found(&files), [[""; 0]; 0]);
    }
}
