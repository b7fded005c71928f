//! Calls after which the process may not be able to make its recording: it is made before.

turnwise_interpose::leaving! { crate::real, crate::process::open_now }
