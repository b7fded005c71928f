//! Programs that are profiled: their ELF, their DWARF, their names.

use object::{Object, ObjectSymbol};
use std::fs;
use turnwise_fuzz::check;
use turnwise_profile::symbols::code::Code;
use turnwise_profile::symbols::{Identity, Module, Symbols, separate_file, with_parameters};

/// Addresses to ask about: those of symbols, and some in between.
fn addresses(file: &object::File) -> Vec<u64> {
    let of_symbols = file.symbols().chain(file.dynamic_symbols()).take(16).map(|symbol| symbol.address());
    of_symbols.flat_map(|address| [address, address.wrapping_add(9)]).chain([0, 0x40_1020, u64::MAX]).collect()
}

/// Names do nothing to a terminal.
fn plain<'a>(names: impl IntoIterator<Item = &'a String>) {
    names.into_iter().for_each(|name| assert!(!name.contains(char::is_control), "a terminal would obey: {name:?}"));
}

#[test]
fn fuzz_elf() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("program");
    check("elf", 1500, Vec::new(), |input| {
        let Ok(file) = object::File::parse(input) else { return };
        std::hint::black_box(separate_file(&path, &file).file.is_some());
        // A new file each time: what is mapped is not written to.
        let _ = fs::remove_file(&path);
        fs::write(&path, input).expect("room");
        let code = Code::read(&path);
        std::hint::black_box((code.files().count(), code.functions(|_| true).len(), code.lines("tiny.c", 0, 9).len()));
        let identity = Identity::of(&fs::File::open(&path).expect("the file"));
        let module = Module { range: 0..u64::MAX, base: 0, path: path.clone(), identity };
        let mut symbols = Symbols::new(vec![module]);
        for address in addresses(&file) {
            symbols.of_return_address(address);
            let variable = symbols.variable(address);
            variable.iter().for_each(|found| plain([&found.name, &found.module]));
        }
        for frame in symbols.finish().0 {
            plain([&frame.function, &frame.module]);
            plain(&frame.file);
        }
    });
}

#[test]
fn fuzz_demangle() {
    let names = [
        "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
        "_RNvCs1234_7mycrate4main",
        "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
        "_ZN1n1gIcEEiT_",
        "_ZNSt6vectorIiSaIiEE9push_backEOi@@GLIBCXX_3.4",
        "_ZNKSt8functionIFvPKcEEclES1_",
    ];
    check("demangle", 20_000, names.map(Into::into).to_vec(), |input| {
        let name = String::from_utf8_lossy(input);
        std::hint::black_box((
            with_parameters(&name).len(),
            turnwise_profile::symbols::without_parameters(&name).len(),
        ));
    });
}
