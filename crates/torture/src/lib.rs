//! Torture: every lock under every scenario on real threads.
