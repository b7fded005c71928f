//! Calls after which the process may be unable to create its live view: it is created before them.

turnwise_interpose::leaving! { crate::real, crate::live::make_now }
