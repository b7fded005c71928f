//! Calls that start programs: one that cannot load this library does not get it.

turnwise_interpose::exec! {}
