//! The symbols that programs see. Those that acquire jump to a function with one more argument, the return address: the
//! call site.

mod c11;
mod cond;
mod mutex;
mod rwlock;
mod spin;
