//! Calls after which the process may be unable to create its recording: it is created before them.

turnwise_interpose::leaving! { crate::real, crate::process::open_now }
