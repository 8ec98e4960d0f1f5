//! Versions of Claude Code, as far as rules depend on them.

/// A version such as 2.1.97; parts behind the third do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

/// From here a message that is typed during a tool call has an attachment row of its own.
pub(crate) const KEEPS_QUEUED_MESSAGES: Version = Version(2, 1, 97);

/// From here each prompt carries its permission mode, and no echo of a command does.
pub(crate) const MARKS_PROMPTS: Version = Version(2, 1, 17);

/// From here each notice names its origin.
pub(crate) const MARKS_NOTICES: Version = Version(2, 1, 90);

/// From here a person's queued message carries `humanTurn` (2.1.160 has it not yet).
pub(crate) const MARKS_QUEUED: Version = Version(2, 1, 285);

/// In these versions (from, before) a typed prompt carries `thinkingMetadata`, while a prompt of
/// `claude -p` does not (1.0.128 to 2.1.30; 2.1.77 has it no more).
pub(crate) const MARKS_THINKING: (Version, Version) = (Version(1, 0, 123), Version(2, 1, 31));

/// From here an editor's prompts come the way of the SDK, as blocks and without that mark.
pub(crate) const HAS_EDITORS: Version = Version(2, 0, 0);

/// From here rows of the message queue tell a program's prompt; one that is given on the command
/// line has none, nor the mark at first.
pub(crate) const WRITES_QUEUE: Version = Version(2, 0, 40);

/// Before this, a session with an image that is resumed gets all rows from the image on once more,
/// under new uuids and split into blocks (1.0.44 to 2.1.17; 2.1.77 does not).
pub(crate) const REPLAYS: Version = Version(2, 1, 77);

/// Before this, these rows are stamped with the time of the resumption (2.0.1; 2.0.14 keeps their
/// own).
pub(crate) const REPLAYS_AT_ONCE: Version = Version(2, 0, 14);

impl Version {
    /// Reads a version; `None` for what is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let whole = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok());
        let (major, minor) = (whole(parts.next())?, whole(parts.next())?);
        let patch = parts.next()?;
        let digits = patch.find(|c: char| !c.is_ascii_digit()).and_then(|end| patch.get(..end));
        Some(Self(major, minor, digits.unwrap_or(patch).parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_number() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("2.1.96") < KEEPS_QUEUED_MESSAGES);
        assert!(version("2.1.97") >= KEEPS_QUEUED_MESSAGES);
        assert!(version("2.1.332-beta.1") > KEEPS_QUEUED_MESSAGES);
        assert!(version("1.0.128") < version("2.0.42"));
        for text in ["", "2", "2.1", "2.1.", "a.b.c", "2.1.x", "2.1.99999999999"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
