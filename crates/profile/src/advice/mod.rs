//! What a profile advises.
