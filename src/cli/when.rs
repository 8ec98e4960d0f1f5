//! Times for people: how long ago, and the date in UTC.
//!
//! Always holds: pure in its arguments; every `Timestamp` has a form, however far out.

use crate::ids::Timestamp;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;

/// Where days and years begin to be told: "1 d" would stand for nearly two.
const TWO_DAYS: u64 = 2 * DAY;
const TWO_YEARS: u64 = 2 * YEAR;

/// `3 s ago`, `5 min ago`, `in 2 h`, `now` for less than a second; rounded towards now.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    let distance = then.0.abs_diff(now.0);
    let (number, unit) = match distance {
        0..SECOND => return "now".to_owned(),
        SECOND..MINUTE => (distance / SECOND, "s"),
        MINUTE..HOUR => (distance / MINUTE, "min"),
        HOUR..TWO_DAYS => (distance / HOUR, "h"),
        TWO_DAYS..TWO_YEARS => (distance / DAY, "d"),
        _ => (distance / YEAR, "y"),
    };
    if then < now { format!("{number} {unit} ago") } else { format!("in {number} {unit}") }
}

/// `2026-11-30T09:05:07.123Z`; years beyond four digits with sign and six, as ECMAScript has it.
pub(super) fn iso(time: Timestamp) -> String {
    let (days, ms) = (time.0.div_euclid(86_400_000), time.0.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{year:+07}"),
    };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar carried on
/// in both directions. Counts in eras of 400 years that begin with a March, so that the leap day
/// comes last.
const fn civil(days: i64) -> (i64, i64, i64) {
    let from_march_0000 = days + 719_468;
    let era = from_march_0000.div_euclid(146_097);
    let day_of_era = from_march_0000.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distances_are_told_in_one_unit() {
        let now = Timestamp(1_780_000_000_000);
        for (ms, text) in [
            (0, "now"),
            (-999, "now"),
            (999, "now"),
            (-1000, "1 s ago"),
            (-59_999, "59 s ago"),
            (-60_000, "1 min ago"),
            (-3_599_999, "59 min ago"),
            (-3_600_000, "1 h ago"),
            (-172_799_999, "47 h ago"),
            (-172_800_000, "2 d ago"),
            (-729 * 86_400_000, "729 d ago"),
            (-730 * 86_400_000, "2 y ago"),
            (7_200_000, "in 2 h"),
            (3000, "in 3 s"),
        ] {
            assert_eq!(ago(now.plus_ms(ms), now), text);
        }
        assert!(ago(Timestamp(i64::MIN), Timestamp(i64::MAX)).ends_with(" y ago"));
    }

    #[test]
    fn dates_are_utc() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_796_029_507_123, "2026-11-30T09:05:07.123Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(iso(Timestamp(ms)), text);
        }
        assert!(iso(Timestamp(i64::MIN)).starts_with('-'));
        assert!(iso(Timestamp(i64::MAX)).starts_with('+'));
    }

    proptest! {
        #[test]
        fn dates_are_those_of_another_calendar(ms in 0..253_402_300_800_000_u64) {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms);
            let expected = humantime::format_rfc3339_millis(time).to_string();
            prop_assert_eq!(iso(Timestamp(i64::try_from(ms).unwrap())), expected);
        }
    }
}
