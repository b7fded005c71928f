//! Writes a table of all functions of the locks and workloads, so that a profile of a simulated run, whose times carry
//! places in the source, can name them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};
use syn::visit::{self, Visit};

/// The crates whose functions a profile may show; paths from the workspace's root.
const CRATES: [&str; 7] = [
    "crates/turnwise/src",
    "lab/lineage/src",
    "lab/vfs/src",
    "lab/bench/src",
    "lab/simbench/src",
    "lab/aim7/src",
    "lab/reproduce/src",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let mut table = String::from("&[\n");
    for folder in CRATES {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        for file in sources(&root.join(folder))? {
            let text = fs::read_to_string(&file)?;
            let file = file.strip_prefix(&root)?.to_str().ok_or("a file name is not UTF-8")?;
            let source = syn::parse_file(&text).map_err(|e| format!("{file}: {e}"))?;
            let mut functions = Functions { file, scope: vec![module(file)], table: &mut table };
            functions.visit_file(&source);
        }
    }
    table.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("functions.rs"), table)?;
    Ok(())
}

/// Returns all files of Rust below a folder, in order.
fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<_> = fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns what functions outside types are named after: `mutex::spin` for `mutex/spin.rs`, `mutex` for `mutex/mod.rs`.
fn module(file: &str) -> String {
    let path = file.split_once("/src/").map_or(file, |(_, path)| path);
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.replace('/', "::")
}

struct Functions<'a> {
    file: &'a str,
    /// Modules and types around; the last one is part of a function's name.
    scope: Vec<String>,
    table: &'a mut String,
}

impl Functions<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let (from, to) = (signature.fn_token.span.start(), block.brace_token.span.close().end());
        let (file, scope, name) = (self.file, self.scope.last().map_or("", String::as_str), &signature.ident);
        let (from, to) = ((from.line, from.column + 1), (to.line, to.column + 1));
        let row = format!("Function {{ file: {file:?}, from: {from:?}, to: {to:?}, name: \"{scope}::{name}\" }},");
        writeln!(self.table, "{row}").expect("a string takes everything");
    }

    fn inside(&mut self, scope: String, visit: impl FnOnce(&mut Self)) {
        self.scope.push(scope);
        visit(self);
        self.scope.pop();
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        let name = name.unwrap_or_else(|| module(self.file));
        self.inside(name, |this| visit::visit_item_impl(this, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.inside(item.ident.to_string(), |this| visit::visit_item_trait(this, item));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.inside(item.ident.to_string(), |this| visit::visit_item_mod(this, item));
    }
}
