//! Calls after which the process may not be able to make its live view: it is made before.

turnwise_interpose::leaving! { crate::real, crate::live::make_now }
