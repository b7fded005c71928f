//! The tables of models and of explicit-state checks (`models/*.toml`, `explicit/checks.toml`): what runs, on which
//! machine, how far, and what must be seen.
//!
//! A row names its scene as a call in words: `held 2 1`, or `ticket held 2 1` where the lock has several types. The
//! `scene` function of the lock's module returns what that runs.

use crate::lock::Lock;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::str::{FromStr, SplitWhitespace};

/// A row; `B` is how far it runs.
#[derive(Deserialize)]
pub(crate) struct Row<B> {
    pub(crate) name: &'static str,
    /// The machine, in words.
    pub(crate) machine: &'static str,
    /// The bounded and the wide run.
    pub(crate) bounds: (B, B),
    scene: &'static str,
    #[serde(default)]
    shows: Vec<&'static str>,
}

impl<B> Row<B> {
    /// Returns what must be seen.
    pub(crate) fn shows(&self) -> &'static [&'static str] {
        self.shows.clone().leak()
    }

    /// Returns what `scene` makes of the row's scene.
    pub(crate) fn scene<S>(&self, scene: impl FnOnce(&mut Call) -> S) -> S {
        let mut words = self.scene.split_whitespace();
        let mut call = Call { row: self.name, name: words.next().unwrap_or_default(), words };
        let made = scene(&mut call);
        assert!(call.words.next().is_none(), "{}: its scene has fewer arguments", self.name);
        made
    }
}

/// Returns what `of` makes of each row of a file.
pub(crate) fn read<B, T>(file: &'static str, of: impl Fn(Lock, &Row<B>) -> T) -> BTreeMap<Lock, Vec<T>>
where
    Row<B>: Deserialize<'static>,
{
    let rows: BTreeMap<Lock, Vec<Row<B>>> = toml::from_str(file).unwrap_or_else(|error| panic!("a table: {error}"));
    rows.into_iter().map(|(lock, rows)| (lock, rows.iter().map(|row| of(lock, row)).collect())).collect()
}

/// The name of a scene, and its arguments.
pub(crate) struct Call {
    row: &'static str,
    pub(crate) name: &'static str,
    words: SplitWhitespace<'static>,
}

impl Call {
    /// Makes the next word the name: that of the scene, after that of a type.
    pub(crate) fn of_type(&mut self) -> &mut Self {
        self.name = self.word();
        self
    }

    pub(crate) fn word(&mut self) -> &'static str {
        self.words.next().unwrap_or_else(|| panic!("{}: an argument of {} is missing", self.row, self.name))
    }

    pub(crate) fn arg<T: FromStr<Err: Debug>>(&mut self) -> T {
        let word = self.word();
        word.parse().unwrap_or_else(|_| panic!("{}: {word} is no argument of {}", self.row, self.name))
    }

    /// Returns the arguments up to the next `/` or to the end.
    pub(crate) fn list<T>(&mut self, of: impl FnMut(&'static str) -> T) -> &'static [T] {
        self.words.by_ref().take_while(|word| *word != "/").map(of).collect::<Vec<_>>().leak()
    }

    pub(crate) fn is_unknown(&self) -> ! {
        panic!("{}: no scene or type has the name {}", self.row, self.name)
    }
}

/// Finds a call's scene among functions, which it runs with the arguments that the engine gives (in parentheses) and
/// those of the call: numbers and truth values, or what a function makes of a word (`: by`) or of a list (`: [by]`).
/// Another call is an error, or goes to the expression at the end.
macro_rules! scenes {
    (
        $call:ident $given:tt: $($name:ident $(::<$type:ident>)? ($($arg:ident $(: $by:tt)?),*)),*
        $(,)? $(; $other:expr)?
    ) => {
        match $call.name {
            $(stringify!($name) => {
                $(let $arg = scenes!(@arg $call $($by)?);)*
                scenes!(@body $given [$name $(::<$type>)?] ($($arg),*))
            })*
            _ => scenes!(@other $call $($other)?),
        }
    };
    (@arg $call:ident) => { $call.arg() };
    (@arg $call:ident $by:ident) => { $by($call.word()) };
    (@arg $call:ident [$by:ident]) => { $call.list($by) };
    (@body ($($given:ident),*) [$($name:tt)*] ($($arg:ident),*)) => {
        body(move |$($given),*| _ = $($name)*($($given,)* $($arg),*))
    };
    (@other $call:ident) => { $call.is_unknown() };
    (@other $call:ident $other:expr) => { $other };
}

/// Passes a call to the function of the type that its first word means.
macro_rules! types {
    ($call:ident $scene:ident: $($name:ident = $type:ty),* $(,)? $(; $other:expr)?) => {
        match $call.name {
            $(stringify!($name) => $scene::<$type>($call.of_type()),)*
            _ => scenes!(@other $call $($other)?),
        }
    };
}

/// Finds what a name means: itself, or what is said of it.
macro_rules! named {
    ($name:ident: $($known:ident $(= $is:expr)?),* $(,)? $(; $other:expr)?) => {
        match $name {
            $(stringify!($known) => named!(@is $known $($is)?),)*
            _ => named!(@other $name $($other)?),
        }
    };
    (@is $known:ident) => { $known };
    (@is $known:ident $is:expr) => { $is };
    (@other $name:ident) => { panic!("nothing here has the name {}", $name) };
    (@other $name:ident $other:expr) => { $other };
}

/// Returns what the function of a lock makes of a call.
macro_rules! by_lock {
    ($lock:ident $call:ident: $($name:ident = $scene:expr),* $(,)?) => {
        match $lock {
            $(Lock::$name => $scene($call),)*
            _ => $call.is_unknown(),
        }
    };
}
