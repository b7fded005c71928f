use super::make::initial;
use super::*;

#[test]
fn the_halves_do_not_overlap() {
    assert_eq!((OWNER | HELD | WAITERS) & !LOCK, 0);
    assert_eq!(u64::from(Token::LIMIT) - 1, OWNER);
    assert_eq!(LOCK & (DEAD | initial(COUNT_MAX)), 0);
    assert_eq!(count(initial(COUNT_MAX) | DEAD | LOCK), COUNT_MAX);
    assert_eq!(initial(1), ONE);
}

#[test]
fn who_may_be_found() {
    assert!(may_find(initial(1)) && may_find(initial(COUNT_MAX - 1)));
    assert!(!may_find(initial(0)) && !may_find(initial(COUNT_MAX)) && !may_find(initial(5) | DEAD));
}

#[test]
fn an_owner_without_a_slot_has_no_name() {
    assert_eq!(named(HELD), None);
    assert_eq!(named(HELD | u64::from(Token::ANONYMOUS.get())), None);
    assert_eq!(named(HELD | WAITERS | 2).map(Token::get), Some(2));
}
