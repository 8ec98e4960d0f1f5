//! Was it ours? Own texts, and what they excuse.
//!
//! Answers: is this human-looking row a text that OpenClaw, or a program that said so, had sent.
//! Always holds: in `provenance` mode a person's own mark on a row beats any likeness of texts, and
//! one own text excuses one row, so that the same word typed twice still counts. Deliberately
//! elsewhere: who typed (`classify`), where own texts come from (whoever implements `OwnTexts`).

use crate::classify::Evidence;
use crate::error::Result;
use crate::ids::{SessionKey, TextHash, Timestamp};

/// How far apart an own text and its echo may be.
pub const REACH_MS: i64 = 10 * 60_000;

/// How rows are compared with own texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// First-hand evidence decides; what lies between is compared, each own text excusing one row
    /// within ten minutes.
    #[default]
    Provenance,
    /// A row whose text equals one of the last own texts is an echo (OpenClaw 2026.9.6).
    Compat,
}

/// Where own texts come from.
pub trait OwnTexts {
    /// The last own texts of a session, newest first.
    fn recent(&self, session: &SessionKey, limit: usize) -> Result<Vec<OwnText>>;
}

/// A text that a program sent, or said it would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnText {
    /// What its source knows it by.
    pub id: i64,
    /// Keyed hash of the normalised text.
    pub hash: TextHash,
    /// When it was said.
    pub at: Timestamp,
    /// Whether it has excused a row already.
    pub used: bool,
}

/// The own texts that rows of one window are compared with.
#[derive(Debug)]
pub struct Echoes {
    mode: Mode,
    texts: Vec<OwnText>,
    used: Vec<i64>,
}

impl Echoes {
    /// Compares with these texts.
    #[must_use]
    pub const fn new(mode: Mode, texts: Vec<OwnText>) -> Self {
        Self { mode, texts, used: Vec::new() }
    }

    /// Whether a row that our rule counts is an echo; an own text that excuses it is used up.
    pub fn excuses(&mut self, evidence: Evidence, text: Option<&TextHash>, at: Timestamp) -> bool {
        let Some(text) = text else { return false };
        match self.mode {
            Mode::Compat => self.compat(text),
            Mode::Provenance if evidence == Evidence::FirstHand => false,
            Mode::Provenance => {
                let nearest = self
                    .texts
                    .iter_mut()
                    .filter(|own| !own.used && own.hash == *text)
                    .map(|own| (at.ms_since(own.at).saturating_abs(), own))
                    .filter(|(distance, _)| *distance <= REACH_MS)
                    .min_by_key(|(distance, _)| *distance);
                let Some((_, own)) = nearest else {
                    return false;
                };
                own.used = true;
                self.used.push(own.id);
                true
            }
        }
    }

    /// Whether the gateway takes a text for an echo: it equals any of the last own texts.
    #[must_use]
    pub fn compat(&self, text: &TextHash) -> bool {
        self.texts.iter().any(|own| own.hash == *text)
    }

    /// The own texts that were used up, by their row in the journal.
    #[must_use]
    pub fn into_used(self) -> Vec<i64> {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::HashKey;

    fn texts(said: &[(&str, i64)]) -> Vec<OwnText> {
        let key = HashKey::new([1; 32]);
        (1..)
            .zip(said)
            .map(|(id, (text, at))| OwnText {
                id,
                hash: key.text(text),
                at: Timestamp(*at),
                used: false,
            })
            .collect()
    }

    #[test]
    fn an_own_text_excuses_one_row_near_it_unless_a_person_is_marked() {
        let key = HashKey::new([1; 32]);
        let minute = 60_000;
        let said = texts(&[("continue", 0), ("continue", 30 * minute), ("go on", 0)]);
        for (rows, echoes) in [
            (vec![("continue", minute, Evidence::Default)], vec![true]),
            (vec![("continue", minute, Evidence::Claimed)], vec![true]),
            (vec![("continue", minute, Evidence::FirstHand)], vec![false]),
            (vec![("continue", 11 * minute, Evidence::Default)], vec![false]),
            (vec![("Continue", minute, Evidence::Default)], vec![false]),
            (
                vec![("continue", 1, Evidence::Shape), ("continue", 2, Evidence::Shape)],
                vec![true, false],
            ),
            (
                vec![
                    ("continue", 1, Evidence::Default),
                    ("continue", 31 * minute, Evidence::Default),
                ],
                vec![true, true],
            ),
        ] {
            let mut filter = Echoes::new(Mode::Provenance, said.clone());
            let found: Vec<bool> = rows
                .iter()
                .map(|(text, at, evidence)| {
                    filter.excuses(*evidence, Some(&key.text(text)), Timestamp(*at))
                })
                .collect();
            assert_eq!(found, echoes, "{rows:?}");
            let used = filter.into_used();
            assert_eq!(used.len(), echoes.iter().filter(|echo| **echo).count());
        }
    }

    #[test]
    fn in_compat_mode_an_own_text_excuses_every_equal_row() {
        let key = HashKey::new([1; 32]);
        let mut filter = Echoes::new(Mode::Compat, texts(&[("continue", 0)]));
        for at in [0, 1, 86_400_000] {
            assert!(filter.excuses(
                Evidence::FirstHand,
                Some(&key.text("continue")),
                Timestamp(at)
            ));
        }
        assert!(!filter.excuses(Evidence::Default, Some(&key.text("go on")), Timestamp(0)));
        assert!(!filter.excuses(Evidence::Default, None, Timestamp(0)));
    }
}
