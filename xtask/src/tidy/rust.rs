//! Rules about Rust code that neither clippy nor rustc has: theirs do not count comments in a function's lines, and see
//! neither `unsafe extern` blocks nor the code of other architectures.

use super::Report;
use crate::tidy::tree::{Rust, Tree, each_token, span_lines};
use proc_macro2::{Delimiter, TokenTree};
use syn::visit::{self, Visit};

const FUNCTION_LINES: usize = 60;
/// Lines of code between a comment and its subject.
const NEAR: usize = 4;

pub(super) fn rust_syntax(tree: &Tree, report: &mut Report<'_>) {
    for (file, rust) in tree.rust() {
        if rust.syntax.is_none() {
            report.add(&file.path, 1, "does not parse");
        }
    }
}

pub(super) fn function_length(tree: &Tree, report: &mut Report<'_>) {
    for (file, rust) in tree.rust() {
        for function in functions(rust) {
            let lines = function.last - function.first + 1;
            if lines > FUNCTION_LINES {
                report.add(&file.path, function.first, format!("`{}` has {lines} lines", function.name));
            }
        }
    }
}

/// A function, from its signature to its closing brace.
struct Function {
    name: String,
    first: usize,
    last: usize,
    is_const: bool,
}

/// Returns the functions of a file.
fn functions(rust: &Rust) -> Vec<Function> {
    let mut functions = Functions::default();
    rust.syntax.iter().for_each(|file| functions.visit_file(file));
    functions.found
}

#[derive(Default)]
struct Functions {
    found: Vec<Function>,
}

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        self.found.push(Function {
            name: signature.ident.to_string(),
            first: span_lines(signature).0,
            last: span_lines(body).1,
            is_const: signature.constness.is_some(),
        });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.add(&node.sig, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.add(&node.sig, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(body) = &node.default {
            self.add(&node.sig, body);
        }
        visit::visit_trait_item_fn(self, node);
    }
}

pub(super) fn safety_comment(tree: &Tree, report: &mut Report<'_>) {
    for (file, rust) in tree.rust() {
        // Tokens rather than syntax, so that the bodies of macros are seen too.
        each_token(&rust.tokens, &mut |tokens, index| {
            if !is_word(&tokens[index], "unsafe") {
                return;
            }
            let what = match tokens.get(index + 1) {
                Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Brace => "unsafe block",
                Some(next) if is_word(next, "impl") => "unsafe impl",
                // `unsafe extern "C" { … }`, but not `unsafe extern "C" fn`.
                Some(next) if is_word(next, "extern") && !is_function(&tokens[index + 1..]) => "unsafe extern block",
                _ => return,
            };
            let line = tokens[index].span().start().line;
            // Two lines down: the comment may open the block.
            let seen = (line..=line + 2).any(|l| file.comments_near(l, NEAR).iter().any(|c| c.1.contains("SAFETY")));
            if !seen {
                report.add(&file.path, line, format!("{what} without a SAFETY comment"));
            }
        });
    }
}

/// Returns whether it is `extern "C" fn`, with or without the name of the convention.
fn is_function(tokens: &[TokenTree]) -> bool {
    tokens.iter().take(3).any(|t| is_word(t, "fn"))
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

pub(super) fn atomic_types(tree: &Tree, report: &mut Report<'_>) {
    // Neither counters nor the graph of lock classes order anything for a lock.
    let beside = ["platform/", "events", "order", "wait/policy"];
    let is_lock = |path: &str| {
        let inner = path.strip_prefix("crates/turnwise/src/").or(path.strip_prefix("lab/lineage/src/"));
        inner.is_some_and(|p| !beside.iter().any(|b| p.starts_with(b)))
    };
    for (file, rust) in tree.rust().filter(|(file, _)| is_lock(&file.path)) {
        let constructors: Vec<_> = functions(rust).into_iter().filter(|f| f.is_const).collect();
        each_token(&rust.tokens, &mut |tokens, index| {
            let TokenTree::Ident(ident) = &tokens[index] else { return };
            let name = ident.to_string();
            let line = ident.span().start().line;
            let is_type = name.strip_prefix("Atomic").is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase()));
            let is_excepted = constructors.iter().any(|f| (f.first..=f.last).contains(&line)) || rust.in_tests(line);
            if is_type && !is_excepted {
                report.add(&file.path, line, format!("`{name}` in lock code"));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::lines;

    #[test]
    fn rust_syntax() {
        assert_eq!(lines("rust-syntax", &[("a.rs", "fn f( {"), ("b.rs", "fn f() {}\n")]), [1]);
    }

    #[test]
    fn function_length() {
        let body = |lines| format!("impl T {{\nfn long() {{\n{}}}\n}}\n", "f();\n".repeat(lines));
        assert_eq!(lines("function-length", &[("a.rs", &body(59)), ("b.rs", &body(58))]), [2]);
    }

    #[test]
    fn safety_comment() {
        let bad = "fn f() {\n    unsafe { g() }\n}\nunsafe impl Send for T {}\nunsafe extern \"C\" {}\n";
        assert_eq!(lines("safety-comment", &[("a.rs", bad)]), [2, 4, 5]);
        let good = "fn f() {\n    // SAFETY: g is harmless.\n    unsafe { g() }\n}\nunsafe extern \"C\" fn h() {}\n";
        assert_eq!(lines("safety-comment", &[("a.rs", good)]), [0; 0]);
        let far = "// SAFETY: a.\nf();\nf();\nf();\nf();\nf();\nf();\nf();\nfn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(lines("safety-comment", &[("a.rs", far)]), [10]);
        let in_macro = "macro_rules! m {\n    () => {\n        unsafe { g() }\n    };\n}\n";
        assert_eq!(lines("safety-comment", &[("a.rs", in_macro)]), [3]);
    }

    #[test]
    fn atomic_types() {
        let text = "use core::sync::atomic::AtomicU32;\n\
                    impl L {\n\
                    pub const fn new() -> L {\n\
                    L(core::sync::atomic::AtomicU32::new(0))\n\
                    }\n\
                    }\n\
                    #[cfg(test)]\n\
                    mod tests {\n\
                    type T = AtomicBool;\n\
                    }\n";
        assert_eq!(lines("atomic-types", &[("crates/turnwise/src/osq.rs", text)]), [1]);
        assert_eq!(lines("atomic-types", &[("crates/turnwise/src/platform/word.rs", text)]), [0; 0]);
    }
}
