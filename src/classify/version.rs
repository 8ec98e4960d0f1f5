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
/// `claude -p` does not and has nothing else to tell it by. From 2.0 on an editor's prompts come
/// the way of the SDK too, and from 2.0.4x queue rows tell.
pub(crate) const MARKS_THINKING: (Version, Version) = (Version(1, 0, 123), Version(2, 0, 0));

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
