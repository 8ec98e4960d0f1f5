//! The time that a row states, read as JavaScript's `Date.parse` reads it (V8's two grammars).
//!
//! Answers: milliseconds since 1970, or nothing. Always holds: never panics, never looks at the
//! machine. A time without a zone would be local time; which zone the writer lived in is not in the
//! row, so it is taken as UTC. Claude Code writes `Z` in every version seen.

use super::date_token::{Token, Tokens, Word};
use crate::ids::Timestamp;

/// The time in `text`, if `Date.parse` finds one.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let mut parser = Parser {
        tokens: Tokens::new(text),
        day: Day::default(),
        time: Time::default(),
        zone: Zone::default(),
    };
    let first = parser.iso()?;
    parser.legacy(first)?;
    let (year, month, day) = parser.day.date()?;
    let days = (year.abs() < 300_000).then(|| days_since_1970(year, month, day))?;
    let ms = days * 86_400_000 + parser.time.ms()? - parser.zone.ms()?;
    // The range of a JavaScript date.
    (ms.abs() <= 8_640_000_000_000_000).then_some(Timestamp(ms))
}

/// The time in the form that Claude Code writes, `2026-11-30T20:19:13.444Z`, by itself; what it is
/// not sure of is left to `parse`.
pub(crate) fn parse_plain(text: &[u8]) -> Option<Timestamp> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T', rest @ ..] = text else {
        return None;
    };
    let [h0, h1, b':', n0, n1, b':', s0, s1, b'.', f0, f1, f2, b'Z'] = rest else {
        return None;
    };
    let number = |digits: &[&u8]| {
        digits.iter().try_fold(0, |value, digit| {
            digit.is_ascii_digit().then(|| value * 10 + i64::from(**digit - b'0'))
        })
    };
    let date = (number(&[y0, y1, y2, y3])?, number(&[m0, m1])?, number(&[d0, d1])?);
    let time = (number(&[h0, h1])?, number(&[n0, n1])?, number(&[s0, s1])?);
    let (year, month, day) = date;
    let (hour, minute, second) = time;
    let is_sure = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    let ms = number(&[f0, f1, f2])?;
    is_sure.then_some(Timestamp(seconds * 1000 + ms))
}

#[derive(Default)]
struct Day {
    parts: Vec<i64>,
    named_month: Option<i64>,
    is_iso: bool,
}

impl Day {
    fn add(&mut self, part: i64) -> Option<()> {
        (self.parts.len() < 3).then(|| self.parts.push(part))
    }

    fn date(&self) -> Option<(i64, i64, i64)> {
        let part = |index: usize| self.parts.get(index).copied().unwrap_or(1);
        self.parts.first()?;
        let is_day = |part: i64| (1..=31).contains(&part);
        let (mut year, month, day) = match self.named_month {
            None if self.is_iso || !is_day(part(0)) => (part(0), part(1), part(2)),
            None => (part(2), part(0), part(1)),
            Some(month) if is_day(part(0)) => (part(1), month, part(0)),
            Some(month) => (part(0), month, part(1)),
        };
        if !self.is_iso {
            year += match year {
                0..=49 => 2000,
                50..=99 => 1900,
                _ => 0,
            };
        }
        ((1..=12).contains(&month) && is_day(day)).then_some((year, month, day))
    }
}

#[derive(Default)]
struct Time {
    parts: Vec<i64>,
    half_day: Option<i64>,
}

impl Time {
    fn add(&mut self, part: i64) -> Option<()> {
        (self.parts.len() < 4).then(|| self.parts.push(part))
    }

    fn add_final(&mut self, part: i64) -> Option<()> {
        self.add(part)?;
        self.parts.resize(4, 0);
        Some(())
    }

    fn expects(&self, part: i64) -> bool {
        match self.parts.len() {
            1 | 2 => (0..60).contains(&part),
            3 => (0..1000).contains(&part),
            _ => false,
        }
    }

    fn ms(&self) -> Option<i64> {
        let part = |index: usize| self.parts.get(index).copied().unwrap_or(0);
        let (mut hour, minute, second, ms) = (part(0), part(1), part(2), part(3));
        if let Some(offset) = self.half_day {
            if !(0..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + offset;
        }
        let in_range = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..1000).contains(&ms);
        let is_midnight = (hour, minute, second, ms) == (24, 0, 0, 0);
        (in_range || is_midnight).then(|| ((hour * 60 + minute) * 60 + second) * 1000 + ms)
    }
}

#[derive(Default)]
struct Zone {
    sign: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
}

impl Zone {
    const fn set(&mut self, hours: i64) {
        self.sign = Some(if hours < 0 { -1 } else { 1 });
        self.hour = Some(hours.abs());
        self.minute = Some(0);
    }

    fn expects(&self, part: i64) -> bool {
        self.hour.is_some() && self.minute.is_none() && (0..60).contains(&part)
    }

    fn is_utc(&self) -> bool {
        self.hour == Some(0) && self.minute == Some(0)
    }

    /// The offset; V8 reckons it in seconds of 32 bits, and has none for what is negative in them.
    fn ms(&self) -> Option<i64> {
        let minutes = self.hour.unwrap_or(0) * 60 + self.minute.unwrap_or(0);
        let seconds = (minutes * 60).rem_euclid(1 << 32);
        (seconds <= i64::from(i32::MAX)).then(|| self.sign.unwrap_or(0) * seconds * 1000)
    }
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    day: Day,
    time: Time,
    zone: Zone,
}

impl Parser<'_> {
    /// The ISO grammar. Gives the token at which it gave up, for the other grammar to go on with;
    /// `None` where a time began that cannot be one.
    fn iso(&mut self) -> Option<Token> {
        if let Token::Symbol(sign @ ('-' | '+')) = self.tokens.peek() {
            let token = self.tokens.next();
            let Some(year) = self.tokens.fixed(6) else {
                return Some(token);
            };
            self.tokens.next();
            if sign == '-' && year == 0 {
                return Some(token);
            }
            self.day.add(if sign == '-' { -year } else { year })?;
        } else if let Some(year) = self.tokens.fixed(4) {
            self.tokens.next();
            self.day.add(year)?;
        } else {
            return Some(self.tokens.next());
        }
        for greatest in [12, 31] {
            if !self.tokens.skip_symbol('-') {
                break;
            }
            match self.tokens.fixed(2) {
                Some(part) if (1..=greatest).contains(&part) => {
                    self.tokens.next();
                    self.day.add(part)?;
                }
                _ => return Some(self.tokens.next()),
            }
        }
        match self.tokens.peek() {
            Token::Word(Word::TimeFollows) => {
                self.tokens.next();
                self.iso_time()?;
            }
            Token::End => self.zone.set(0),
            _ => return Some(self.tokens.next()),
        }
        self.day.is_iso = true;
        Some(Token::End)
    }

    /// What stands behind the `T`, to the end.
    fn iso_time(&mut self) -> Option<()> {
        let hour = self.iso_part(24)?;
        let greatest = if hour == 24 { 0 } else { 59 };
        self.tokens.skip_symbol(':').then_some(())?;
        self.iso_part(greatest)?;
        if self.tokens.skip_symbol(':') {
            self.iso_part(greatest)?;
            if self.tokens.skip_symbol('.') {
                let Token::Number { value, length } = self.tokens.next() else {
                    return None;
                };
                if hour == 24 && value > 0 {
                    return None;
                }
                self.time.add(milliseconds(value, length))?;
            }
        }
        match self.tokens.peek() {
            Token::Word(Word::Zone(_, true)) => {
                self.tokens.next();
                self.zone.set(0);
            }
            Token::Symbol(sign @ ('+' | '-')) => {
                self.tokens.next();
                self.zone.sign = Some(if sign == '-' { -1 } else { 1 });
                let (hour, minute) = if let Some(both) = self.tokens.fixed(4) {
                    self.tokens.next();
                    (both / 100, both % 100)
                } else {
                    let hour = self.tokens.fixed(2)?;
                    self.tokens.next();
                    self.tokens.skip_symbol(':').then_some(())?;
                    let minute = self.tokens.fixed(2)?;
                    self.tokens.next();
                    (hour, minute)
                };
                (hour < 24 && minute < 60).then_some(())?;
                (self.zone.hour, self.zone.minute) = (Some(hour), Some(minute));
            }
            _ => {}
        }
        (self.tokens.peek() == Token::End).then_some(())
    }

    /// Two digits of a time.
    fn iso_part(&mut self, greatest: i64) -> Option<i64> {
        let part = self.tokens.fixed(2).filter(|part| *part <= greatest)?;
        self.tokens.next();
        self.time.add(part)?;
        Some(part)
    }

    /// The grammar of everything else: RFC 1123, a blank for the `T`, month names.
    fn legacy(&mut self, first: Token) -> Option<()> {
        let mut has_number = !self.day.parts.is_empty();
        let mut token = first;
        while token != Token::End {
            match token {
                Token::Number { value, .. } => {
                    has_number = true;
                    self.legacy_number(value)?;
                }
                Token::Word(Word::HalfDay(offset)) if !self.time.parts.is_empty() => {
                    self.time.half_day = Some(offset);
                }
                Token::Word(Word::Month(month)) => {
                    self.day.named_month = Some(month);
                    self.tokens.skip_symbol('-');
                }
                Token::Word(Word::Zone(hours, _)) if has_number => self.zone.set(hours),
                // Words without meaning may stand before the first number, apart from it.
                Token::Word(_)
                    if has_number || matches!(self.tokens.peek(), Token::Number { .. }) =>
                {
                    return None;
                }
                Token::Symbol(sign @ ('-' | '+'))
                    if self.zone.is_utc() || !self.time.parts.is_empty() =>
                {
                    has_number = true;
                    self.legacy_zone(sign)?;
                }
                Token::Symbol('-' | '+' | ')') if has_number => return None,
                _ => {}
            }
            token = self.tokens.next();
        }
        Some(())
    }

    fn legacy_number(&mut self, value: i64) -> Option<()> {
        if self.tokens.skip_symbol(':') {
            if self.tokens.skip_symbol(':') {
                self.time.parts.is_empty().then_some(())?;
                self.time.add(value)?;
                return self.time.add(0);
            }
            self.time.add(value)?;
            self.tokens.skip_symbol('.');
            return Some(());
        }
        if self.tokens.skip_symbol('.') && self.time.expects(value) {
            // V8 does not mind if there is no room for these.
            let _ = self.time.add(value);
            let Token::Number { value, length } = self.tokens.next() else {
                return None;
            };
            let _ = self.time.add_final(milliseconds(value, length));
            return Some(());
        }
        if self.zone.expects(value) {
            self.zone.minute = Some(value);
            return Some(());
        }
        if self.time.expects(value) {
            self.time.add_final(value)?;
            let may_follow = matches!(
                self.tokens.peek(),
                Token::End
                    | Token::Space
                    | Token::Word(Word::Zone(_, true))
                    | Token::Symbol('-' | '+')
            );
            return may_follow.then_some(());
        }
        self.day.add(value)?;
        self.tokens.skip_symbol('-');
        Some(())
    }

    fn legacy_zone(&mut self, sign: char) -> Option<()> {
        self.zone.sign = Some(if sign == '-' { -1 } else { 1 });
        let (mut value, mut length) = (0, 0);
        if let Token::Number { value: number, length: digits } = self.tokens.peek() {
            self.tokens.next();
            (value, length) = (number, digits);
        }
        (self.zone.hour, self.zone.minute) = if self.tokens.peek() == Token::Symbol(':') {
            (Some(value), None)
        } else {
            match length {
                1 | 2 => (Some(value), Some(0)),
                3 | 4 => (Some(value / 100), Some(value % 100)),
                _ => return None,
            }
        };
        Some(())
    }
}

/// The milliseconds of a fraction of a second, cut to three digits.
fn milliseconds(value: i64, length: usize) -> i64 {
    match length {
        1 => value * 100,
        2 => value * 10,
        _ => (3..length.min(9)).fold(value, |value, _| value / 10),
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; the day may lie behind its month's end.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Counted in years that begin in March, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_javascript_reads_them() {
        // Each value is what `Date.parse` of Node 24 says in UTC.
        for (text, ms) in [
            ("2026-11-30T20:19:13.444Z", Some(1_796_069_953_444)),
            ("2026-11-30T20:19:13.444999Z", Some(1_796_069_953_444)),
            ("2026-11-30T22:19:13.444+02:00", Some(1_796_069_953_444)),
            ("2026-11-30 20:19:13", Some(1_796_069_953_000)),
            ("2026-11-30 20:19:13Z", Some(1_796_069_953_000)),
            ("2026-11-30", Some(1_795_996_800_000)),
            ("Mon, 30 Nov 2026 20:19:13 GMT", Some(1_796_069_953_000)),
            ("1969-12-31T23:59:59.999Z", Some(-1)),
            ("2026-02-30T00:00:00Z", Some(1_772_409_600_000)),
            ("2026-11-30T24:00:00Z", Some(1_796_083_200_000)),
            ("2026-11-30T20:19:13Z\0", Some(1_796_069_953_000)),
            ("2026-11-30\0junk", Some(1_795_996_800_000)),
            ("1 jan 2026 4:37:5:1.7", Some(1_767_242_225_001)),
            ("1/1/2026 4:5:6:7.8", Some(1_767_240_306_007)),
            ("1 jan 2026 0:00 +596523:00", Some(-380_257_200_000)),
            ("1 jan 2026 0:00 +596524:00", None),
            ("1 jan 2026 0:00 -1193047:00", Some(1_767_227_504_000)),
            ("30 nov 2026\u{2028}", None),
            ("1796069953444", None),
            (" 2026-11-30T20:19:13.444Z", None),
            ("2026-11-30T20:19:13.444Z ", None),
            ("", None),
            ("yesterday", None),
            ("2026-13-01T00:00:00Z", None),
        ] {
            assert_eq!(parse(text), ms.map(Timestamp), "{text}");
        }
    }

    #[test]
    fn the_plain_form_is_read_the_same_by_itself() {
        let plain = "2026-11-30T20:19:13.444Z";
        assert!(parse_plain(plain.as_bytes()).is_some());
        // Each two digits from 00 to 99 at each place, and any byte.
        for at in 0..plain.len() {
            for value in (0..100_u8).map(|value| vec![b'0' + value / 10, b'0' + value % 10]) {
                let mut text = plain.as_bytes().to_vec();
                let end = (at + 2).min(text.len());
                text.splice(at..end, value);
                check(&text);
            }
            for byte in 0..=u8::MAX {
                let mut text = plain.as_bytes().to_vec();
                text[at] = byte;
                check(&text);
            }
        }
        for year in 0..10_000 {
            check(format!("{year:04}-02-29T23:59:59.999Z").as_bytes());
        }
    }

    fn check(text: &[u8]) {
        if let Some(time) = parse_plain(text) {
            assert_eq!(parse(std::str::from_utf8(text).unwrap()), Some(time), "{text:?}");
        }
    }
}
