//! The syntax of settings, for input and output: `spin=off,fair-after=1ms`.

use std::str::FromStr;
use turnwise_live::{Setting, Values};
use turnwise_present::names::suggestion;

/// The settings for the waits that a name stands for: `NAME=SETTING[,SETTING...]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) values: Values,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Assignment, String> {
        // A C++ name may also contain an equals sign; the beginning of settings cannot be part of one.
        let places = text.match_indices('=').map(|(place, _)| place);
        let mut complaint = None;
        for place in places {
            let (name, settings) = (&text[..place], &text[place + 1..]);
            match values(settings) {
                Ok(_) if name.is_empty() => return Err("expected the lock's name before `=`; * is all".to_owned()),
                Ok(values) => return Ok(Assignment { name: name.to_owned(), values }),
                Err(error) if settings.contains('=') => complaint = complaint.or(Some(error)),
                Err(_) => {}
            }
        }
        Err(complaint.unwrap_or_else(|| "expected NAME=SETTING, such as cache=spin=off".to_owned()))
    }
}

/// Reads settings, separated by commas.
pub(crate) fn values(text: &str) -> Result<Values, String> {
    let mut values = Values::default();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}`: expected NAME=TIME"))?;
        let setting = setting(name)?;
        if values.get(setting).is_some() {
            return Err(format!("`{name}` is there twice"));
        }
        set(&mut values, setting, value)?;
    }
    Ok(values)
}

fn setting(name: &str) -> Result<Setting, String> {
    Setting::named(name).ok_or_else(|| {
        let known = Setting::ALL.map(Setting::name);
        format!("`{name}` is no setting: {}", suggestion(name, &known))
    })
}

pub(crate) fn set(values: &mut Values, setting: Setting, typed: &str) -> Result<(), String> {
    let name = setting.name();
    let ns = match typed {
        "off" if setting.can_be_off() => Some(0),
        "off" => return Err(format!("`{name}` cannot be off: give a time, such as {name}=1ms")),
        typed => parse_ns(typed),
    };
    let ns = ns.ok_or_else(|| format!("`{name}={typed}`: expected a time with its unit, such as 20us or 1.5ms"))?;
    let (least, most) = setting.bounds();
    let out = || format!("`{name}={typed}`: expected {} to {}", shown_ns(least), shown_ns(most));
    let ns = u32::try_from(ns).map_err(|_| out())?;
    if values.set(setting, ns) { Ok(()) } else { Err(out()) }
}

/// Reads a duration with its unit.
fn parse_ns(text: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    if text == "0" {
        return Some(0);
    }
    let (unit, factor) = UNITS.into_iter().find(|(unit, _)| text.ends_with(unit))?;
    let digits = &text[..text.len() - unit.len()];
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let ns = digits.parse::<f64>().ok()? * factor;
    (ns.is_finite() && ns < 1e18).then_some(ns.round() as u64)
}

/// Writes a duration so that [`parse_ns`] reads the same value.
fn shown_ns(ns: u32) -> String {
    let in_unit = |factor: u32, unit: &str| format!("{}{unit}", f64::from(ns) / f64::from(factor));
    match ns {
        0 => "0".to_owned(),
        1_000_000_000.. => in_unit(1_000_000_000, "s"),
        1_000_000.. => in_unit(1_000_000, "ms"),
        1_000.. => in_unit(1_000, "us"),
        _ => in_unit(1, "ns"),
    }
}

/// Writes settings as they are typed.
pub(crate) fn shown(values: &Values) -> String {
    let one = |(setting, ns): (Setting, u32)| {
        let value = if ns == 0 && setting.can_be_off() { "off".to_owned() } else { shown_ns(ns) };
        format!("{}={value}", setting.name())
    };
    values.iter().map(one).collect::<Vec<_>>().join(",")
}

/// Describes each setting in a line, for the help.
pub(crate) fn help() -> String {
    let line = |setting: Setting| {
        let (least, most) = setting.bounds();
        let least = if setting.can_be_off() { "off".to_owned() } else { shown_ns(least) };
        format!("  {:<12} {}\n               ({least} to {})\n", setting.name(), setting.about(), shown_ns(most))
    };
    Setting::ALL.map(line).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String), String> {
        text.parse::<Assignment>().map(|assignment| (assignment.name, shown(&assignment.values)))
    }

    #[test]
    fn what_is_shown_can_be_typed() {
        for (typed, expected) in [
            ("spin=off", "spin=off"),
            ("spin=0", "spin=off"),
            ("fair-after=1ms,spin=20us", "spin=20us,fair-after=1ms"),
            ("fair-after=10ms,spin=1.5us", "spin=1.5us,fair-after=10ms"),
            ("yield-after=10us,spin=off", "spin=off,yield-after=10us"),
            ("fair-after=0,yield-after=0.5s", "fair-after=0,yield-after=500ms"),
            ("spin=999ns", "spin=999ns"),
        ] {
            let found = values(typed).unwrap();
            assert_eq!(shown(&found), expected);
            assert_eq!(values(expected).unwrap(), found);
        }
    }

    #[test]
    fn names_may_have_equals_signs() {
        let expected = |name: &str| Ok((name.to_owned(), "spin=off".to_owned()));
        for name in ["cache", "*", "0x7f00", "taken in f (a.c:1)", "A::operator=", "map<a=b>"] {
            assert_eq!(read(&format!("{name}=spin=off")), expected(name));
        }
    }

    #[test]
    fn mistakes_are_told() {
        for (text, part) in [
            ("cache", "expected NAME=SETTING"),
            ("cache=spin", "expected NAME=SETTING"),
            ("=spin=off", "the lock's name"),
            ("cache=spni=off", "did you mean `spin`?"),
            ("cache=spin=off,respin=off", "`respin` is no setting"),
            ("cache=spin=20", "with its unit"),
            ("cache=spin=-1us", "with its unit"),
            ("cache=spin=1e3us", "with its unit"),
            ("cache=spin=11ms", "expected 0 to 10ms"),
            ("cache=spin=99999999s", "expected 0 to 10ms"),
            ("cache=yield-after=1us", "expected 10us to 1s"),
            ("cache=fair-after=off", "cannot be off"),
            ("cache=spin=off,spin=1us", "twice"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
