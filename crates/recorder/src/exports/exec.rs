//! Calls that start programs: a program that cannot load this library does not get it.

turnwise_interpose::exec! {}
