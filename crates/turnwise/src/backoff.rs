//! Back-off policies of the spin locks.
