//! Durations and sizes as people write them.

use std::time::Duration;

/// Units of a size: those that people write, the biggest of each kind first.
const SIZES: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("B", 1),
];

/// Units of a duration in milliseconds, the biggest first.
const DURATIONS: &[(&str, u128)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];

/// How much of a wrong value an error repeats, in characters.
const CLIP: usize = 60;

/// Bytes of `1MiB`, `64 KiB`, `500kB` or `4096`. Units must be written as they are: `Mb` are bits.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let bytes: u64 = digits.parse().ok()?;
    match unit.trim_start() {
        "" => Some(bytes),
        unit => {
            let (_, factor) = SIZES.iter().find(|(name, _)| *name == unit)?;
            bytes.checked_mul(*factor)
        }
    }
}

/// The size in the biggest binary unit that it is a whole number of.
pub(super) fn write_size(bytes: u64) -> String {
    let binary = SIZES.iter().filter(|(name, _)| name.ends_with("iB"));
    match binary.into_iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor)) {
        Some((name, factor)) => format!("{}{name}", bytes / factor),
        None => format!("{bytes}B"),
    }
}

/// The duration in the biggest unit that it is two or more of, whole: `60s`, `24h`, `30d`; seconds
/// also one or none. Less than a millisecond is left out.
pub(super) fn write_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    let unit = DURATIONS
        .iter()
        .find(|(name, factor)| ms.is_multiple_of(*factor) && (ms >= 2 * factor || *name == "s"));
    let (name, factor) = unit.unwrap_or(&("ms", 1));
    format!("{}{name}", ms / factor)
}

/// The text, cut where an error would drown in it.
pub(super) fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(CLIP).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_unit() {
        for (text, bytes) in [
            ("1", Some(1)),
            ("4096", Some(4096)),
            ("1B", Some(1)),
            ("64 KiB", Some(65_536)),
            (" 1MiB ", Some(1 << 20)),
            ("2GiB", Some(2 << 30)),
            ("5kB", Some(5000)),
            ("5MB", Some(5_000_000)),
            ("1GB", Some(1_000_000_000)),
            ("", None),
            ("MiB", None),
            ("-1", None),
            ("1.5MiB", None),
            ("1mib", None),
            ("1Mb", None),
            ("1 TiB", None),
            ("1MiB2", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("18446744073709551615KiB", None),
        ] {
            assert_eq!(parse_size(text), bytes, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_the_same() {
        for bytes in [0, 1, 1000, 1023, 1024, 1536, 1 << 20, (1 << 20) + 1, 1 << 30, u64::MAX] {
            assert_eq!(parse_size(&write_size(bytes)), Some(bytes));
        }
        for ms in [0, 1, 2, 999, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000, 2_592_000_000] {
            let duration = Duration::from_millis(ms);
            let text = write_duration(duration);
            assert_eq!(humantime::parse_duration(&text).unwrap(), duration, "{text}");
        }
    }

    #[test]
    fn durations_are_written_as_people_write_them() {
        for (seconds, text) in
            [(0, "0s"), (1, "1s"), (60, "60s"), (120, "2min"), (86_400, "24h"), (2_592_000, "30d")]
        {
            assert_eq!(write_duration(Duration::from_secs(seconds)), text);
        }
        assert_eq!(write_duration(Duration::from_millis(100)), "100ms");
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        assert_eq!(clip("short"), "short");
        assert_eq!(clip(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
    }
}
