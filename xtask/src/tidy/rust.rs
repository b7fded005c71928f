//! Rules about Rust code that neither clippy nor rustc has: theirs do not count comments in a function's lines, and see
//! neither `unsafe extern` blocks nor the code of other architectures.

use super::Report;
use crate::tidy::tree::{Tree, span_lines};
use syn::visit::{self, Visit};

const FUNCTION_LINES: usize = 60;

pub(super) fn rust_syntax(tree: &Tree, report: &mut Report<'_>) {
    for file in tree.files.iter().filter(|file| file.is(&["rs"]) && file.syntax.is_none()) {
        report.add(&file.path, 1, "does not parse");
    }
}

pub(super) fn function_length(tree: &Tree, report: &mut Report<'_>) {
    for (file, syntax) in tree.rust() {
        let mut functions = Functions(Vec::new());
        functions.visit_file(syntax);
        for (name, first, last) in functions.0.into_iter().filter(|(_, first, last)| last - first >= FUNCTION_LINES) {
            report.add(&file.path, first, format!("`{name}` has {} lines", last - first + 1));
        }
    }
}

/// The functions of a file: names, and lines from the signature to the closing brace.
struct Functions(Vec<(String, usize, usize)>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        self.0.push((signature.ident.to_string(), span_lines(signature).0, span_lines(body).1));
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

#[cfg(test)]
mod tests {
    use crate::tidy::tests::lines;

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
        let hidden = "impl L {\n    pub const fn nothing() {}\n    fn f() {\n        AtomicU8::new(0);\n    }\n    \
                      pub(super) const unsafe fn g() -> u8 {\n        AtomicU8::new(0)\n    }\n}\n\
                      #[cfg(test)]\nmod none {} // none\nfn h() {\n    r##\"a \" b\"##;\n    AtomicU8::new(0);\n}\n";
        assert_eq!(lines("atomic-types", &[("crates/turnwise/src/osq.rs", hidden)]), [4, 14]);
    }
}
