/*
 * Turnwise: adaptive locks. Waiters stand in a queue, spin only while the owner may be running, then sleep; every wait
 * is bounded except where it says otherwise.
 *
 * Generated from crates/capi/src by `cargo xtask header`; changes go there.
 *
 * What all functions require: each pointer points to an object of its type that was made by its _init function, its
 * _INIT initialiser, or zero bytes, and that lives until the call returns. An object that is in use is neither copied
 * nor moved. A lock is released by the thread that acquired it, or on its behalf by another thread that synchronises
 * with it.
 * Nothing here works across processes; nothing is a cancellation point; errno is left alone. Locking in a signal
 * handler is allowed by the try functions only.
 *
 * Every program, with all its libraries, should have one copy of this library: link the shared one if more than one
 * part of a program uses it. Two static copies must not work on the same lock.
 */
