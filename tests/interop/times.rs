//! Times as people and programs write them, and what is nearly one.

use fastrand::Rng;
use std::fmt::Write as _;

const MONTHS: [&str; 8] = ["Jan", "February", "mar", "Sept", "October", "Dec", "Foo", "Ma"];
const DAYS: [&str; 4] = ["Mon, ", "Tuesday ", "Sun", "Xyz "];
const ZONES: [&str; 18] = [
    "Z",
    "z",
    "",
    "",
    "+02:00",
    "-0730",
    "+02",
    "+2",
    " GMT",
    " UTC",
    " EST",
    " PDT",
    " GMT+0100",
    "+24:00",
    "-00:00",
    " +01:00",
    " Z",
    "+01:60",
];
const TOKENS: [&str; 40] = [
    "2026", "11", "30", "1", "12", "99", "0", "00", "70", "49", "50", "1970", "10000", "275760",
    "T", "t", "Z", "z", ":", "-", "/", ".", ",", " ", "+", "(", ")", "(x)", "AM", "pm", "Jan",
    "december", "Mon", "GMT", "UTC+1", "24:00", "23:59:60", "\u{a0}", "\u{2028}", "٣",
];

/// A time, or something else.
pub(crate) fn time(rng: &mut Rng) -> String {
    let mut time = match rng.u8(0..16) {
        0..2 => "2026-11-30T19:01:47.416Z".to_owned(),
        2..9 => iso(rng),
        9..12 => named(rng),
        12 => format!("{}/{}/{}", rng.u16(0..14), rng.u16(0..33), rng.u32(0..2100)),
        13 => format!(
            "{}-{}-{} {}:{}",
            rng.u32(0..2100),
            rng.u8(0..14),
            rng.u8(0..33),
            rng.u8(0..26),
            rng.u8(0..62)
        ),
        14 => (0..rng.u8(0..9)).map(|_| TOKENS[rng.usize(..TOKENS.len())]).collect(),
        _ => rng.i64(..).to_string(),
    };
    if rng.u8(0..6) == 0 {
        let token = TOKENS[rng.usize(..TOKENS.len())];
        let places: Vec<usize> =
            time.char_indices().map(|(at, _)| at).chain([time.len()]).collect();
        let at = places[rng.usize(..places.len())];
        match rng.u8(0..3) {
            0 => time.insert_str(at, token),
            1 => time.truncate(at),
            _ => drop(time.pop()),
        }
    }
    if rng.u8(0..20) == 0 {
        let space = [" ", "\t", "\n", "\u{feff}"][rng.usize(..4)];
        time = if rng.bool() { format!("{space}{time}") } else { time + space };
    }
    time
}

/// A time in the manner of ISO 8601.
fn iso(rng: &mut Rng) -> String {
    let year = match rng.u8(0..12) {
        0 => format!("+{:06}", rng.u32(0..280_000)),
        1 => format!("-{:06}", rng.u32(0..280_000)),
        2 => rng.u32(0..100_000).to_string(),
        _ => format!("{:04}", rng.u32(1900..2100)),
    };
    let mut time = year;
    for at_most in [13, 32] {
        if rng.u8(0..20) == 19 {
            return time;
        }
        write!(time, "-{:02}", rng.u32(1..=at_most)).unwrap();
    }
    let between = ["T", "T", "T", "t", " ", "", "  ", "_"][rng.usize(..8)];
    if rng.u8(0..10) == 0 {
        return time + ZONES[rng.usize(..ZONES.len())];
    }
    time += between;
    write!(time, "{:02}:{:02}", rng.u32(0..25), rng.u32(0..61)).unwrap();
    if rng.u8(0..6) > 0 {
        write!(time, ":{:02}", rng.u32(0..61)).unwrap();
        if rng.u8(0..4) > 0 {
            time += [".", ".", ".", ","][rng.usize(..4)];
            time.extend("4163928475".chars().take(rng.usize(0..11)));
        }
    }
    time + ZONES[rng.usize(..ZONES.len())]
}

/// A time with a month's name.
fn named(rng: &mut Rng) -> String {
    let month = MONTHS[rng.usize(..MONTHS.len())];
    let (day, year) = (rng.u32(0..34), rng.u32(0..2100));
    let mut time =
        if rng.bool() { DAYS[rng.usize(..DAYS.len())].to_owned() } else { String::new() };
    let date = match rng.u8(0..3) {
        0 => format!("{day} {month} {year}"),
        1 => format!("{month} {day}, {year}"),
        _ => format!("{day}-{month}-{year}"),
    };
    time += date.as_str();
    if rng.u8(0..4) > 0 {
        write!(time, " {}:{:02}", rng.u32(0..26), rng.u32(0..62)).unwrap();
        if rng.bool() {
            write!(time, ":{:02}", rng.u32(0..62)).unwrap();
        }
        time += ["", "", " AM", " PM", "pm"][rng.usize(..5)];
    }
    time += ZONES[rng.usize(..ZONES.len())];
    if rng.u8(0..5) == 0 {
        time += " (Central European Time)";
    }
    time
}
