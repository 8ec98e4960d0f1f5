//! Was it ours? Own texts, and what they excuse.
//!
//! Answers: is this human-looking row a text that OpenClaw, or a program that said so, had sent.
//! Always holds: in `provenance` mode a person's own mark on a row beats any likeness of texts, and
//! one own text excuses one row, so that the same word typed twice still counts. Deliberately
//! elsewhere: who typed (`classify`), where own texts come from (whoever implements `OwnTexts`), which
//! of them were used up earlier (`journal`).

use crate::classify::Evidence;
use crate::ids::{TextHash, Timestamp};
use crate::link::LinkId;
use serde::{Deserialize, Serialize};

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

/// Of how many own texts the gateway knows (OpenClaw 2026.9.6).
pub const GATEWAY_TEXTS: usize = 10;

/// Where own texts come from.
pub trait OwnTexts {
    /// Why there may be no answer.
    type Error;

    /// The last own texts of a link's session.
    fn recent(&self, link: &LinkId, limit: usize) -> Result<Recent, Self::Error>;
}

/// The last own texts of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recent {
    /// The texts, newest first.
    pub texts: Vec<OwnText>,
    /// Entries that could not be read, and may have been own texts.
    pub skipped: usize,
}

/// A text that a program sent, or said it would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnText {
    /// What its source knows it by.
    pub id: OwnTextId,
    /// Keyed hash of the normalised text.
    pub hash: TextHash,
    /// When it was said.
    pub at: Timestamp,
    /// Whether it has excused a row already.
    pub used: bool,
}

/// What an own text is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OwnTextId {
    /// By its row in the journal: a program told us.
    Told(i64),
    /// By session and event in OpenClaw's transcript.
    Stored(String),
}

/// The own texts that rows of one window are compared with.
#[derive(Debug, Default)]
pub struct Echoes {
    mode: Mode,
    texts: Vec<OwnText>,
    gateway: Vec<TextHash>,
    used: Vec<OwnTextId>,
}

impl Echoes {
    /// Compares with the texts that programs told us of; there is no gateway that knows others.
    #[must_use]
    pub fn alone(mode: Mode, told: Vec<OwnText>) -> Self {
        let gateway = told.iter().map(|text| text.hash.clone()).collect();
        Self { mode, texts: told, gateway, used: Vec::new() }
    }

    /// Compares with the texts that programs told us of, and with those in OpenClaw's transcript,
    /// newest first: up to `limit` of each, whatever the gateway itself would take.
    #[must_use]
    pub fn beside(mode: Mode, told: Vec<OwnText>, stored: Vec<OwnText>, limit: usize) -> Self {
        let gateway = stored.iter().take(GATEWAY_TEXTS).map(|text| text.hash.clone()).collect();
        let mut texts = told;
        texts.extend(stored.into_iter().take(limit));
        Self { mode, texts, gateway, used: Vec::new() }
    }

    /// Takes texts as used up that earlier rows of the same windows used.
    pub fn have_used(&mut self, used: Vec<OwnTextId>) {
        for text in &mut self.texts {
            text.used |= used.contains(&text.id);
        }
        self.used.extend(used);
    }

    /// Whether a row that our rule counts is an echo; an own text that excuses it is used up.
    pub fn excuses(&mut self, evidence: Evidence, text: Option<&TextHash>, at: Timestamp) -> bool {
        let Some(text) = text else { return false };
        match self.mode {
            Mode::Compat => self.texts.iter().any(|own| own.hash == *text),
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
                self.used.push(own.id.clone());
                true
            }
        }
    }

    /// Whether the gateway takes a text for an echo: it equals any of those that it knows.
    #[must_use]
    pub fn excuses_to_gateway(&self, text: &TextHash) -> bool {
        self.gateway.contains(text)
    }

    /// The own texts that were used up.
    #[must_use]
    pub fn into_used(self) -> Vec<OwnTextId> {
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
                id: OwnTextId::Told(id),
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
            let mut filter = Echoes::alone(Mode::Provenance, said.clone());
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
        let mut filter = Echoes::alone(Mode::Compat, texts(&[("continue", 0)]));
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

    #[test]
    fn told_and_stored_texts_excuse_rows_and_the_gateway_knows_its_last_ten() {
        let key = HashKey::new([1; 32]);
        let said: Vec<(String, i64)> = (0..12).map(|n| (format!("text {n}"), n)).collect();
        let said: Vec<(&str, i64)> = said.iter().map(|(text, at)| (text.as_str(), *at)).collect();
        let stored = texts(&said)
            .into_iter()
            .map(|text| OwnText { id: OwnTextId::Stored(format!("s/{}", text.at.0)), ..text });
        let told = texts(&[("told", 0)]);
        let mut echoes = Echoes::beside(Mode::Provenance, told, stored.collect(), 3);
        for (text, ours, gateways) in [
            ("told", true, false),
            ("told", false, false),
            ("text 0", true, true),
            ("text 2", true, true),
            ("text 3", false, true),
            ("text 9", false, true),
            ("text 10", false, false),
        ] {
            let text = key.text(text);
            let found = echoes.excuses(Evidence::Default, Some(&text), Timestamp(0));
            assert_eq!((found, echoes.excuses_to_gateway(&text)), (ours, gateways));
        }
        let used = echoes.into_used();
        let stored = |at: i64| OwnTextId::Stored(format!("s/{at}"));
        assert_eq!(used, [OwnTextId::Told(1), stored(0), stored(2)]);

        // Looked for anew, they stay used.
        let mut echoes = Echoes::alone(Mode::Provenance, texts(&[("told", 0), ("told", 1)]));
        echoes.have_used(used.clone());
        let mut excuses =
            || echoes.excuses(Evidence::Default, Some(&key.text("told")), Timestamp(0));
        assert_eq!([excuses(), excuses()], [true, false]);
        assert_eq!(echoes.into_used(), [&used[..], &[OwnTextId::Told(2)]].concat());
    }
}
