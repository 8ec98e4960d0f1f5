//! The words of a written time, as V8 takes them apart.
//!
//! Answers: numbers with their length, the names of months and zones, symbols. Always holds: each
//! character is looked at once, and text without meaning is a token too. Not here: what they mean in
//! their order (`date`).

use crate::classify::text::is_js_space;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Number { value: i64, length: usize },
    Symbol(char),
    Word(Word),
    Space,
    Other,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Month(i64),
    HalfDay(i64),
    /// A zone's hours; and whether it is the single letter Z.
    Zone(i64, bool),
    TimeFollows,
    Unknown,
}

pub(super) struct Tokens<'a> {
    chars: std::str::Chars<'a>,
    peeked: Option<Token>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        // V8 marks the end of the text by a zero, and takes a zero in the text for its end.
        let text = text.split('\0').next().unwrap_or_default();
        Self { chars: text.chars(), peeked: None }
    }

    pub(super) fn next(&mut self) -> Token {
        self.peeked.take().unwrap_or_else(|| self.scan())
    }

    pub(super) fn peek(&mut self) -> Token {
        if let Some(token) = self.peeked {
            return token;
        }
        let token = self.scan();
        self.peeked = Some(token);
        token
    }

    pub(super) fn skip_symbol(&mut self, symbol: char) -> bool {
        let is_there = self.peek() == Token::Symbol(symbol);
        if is_there {
            self.peeked = None;
        }
        is_there
    }

    /// The next number if it has so many digits.
    pub(super) fn fixed(&mut self, digits: usize) -> Option<i64> {
        match self.peek() {
            Token::Number { value, length } if length == digits => Some(value),
            _ => None,
        }
    }

    fn scan(&mut self) -> Token {
        let mut ahead = self.chars.clone();
        let Some(first) = ahead.next() else {
            return Token::End;
        };
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '(' {
            self.parentheses();
            return Token::Other;
        }
        if first >= 'A' && !is_space(first) {
            return Token::Word(self.word());
        }
        self.chars = ahead;
        match first {
            ':' | '-' | '+' | '.' | ')' => Token::Symbol(first),
            _ if is_space(first) => Token::Space,
            _ => Token::Other,
        }
    }

    /// A numeral: leading zeros do not count among the nine digits that do.
    fn number(&mut self) -> Token {
        let (mut value, mut length, mut significant) = (0_i64, 0, 0);
        while let Some(digit) = self.chars.clone().next().and_then(|c| c.to_digit(10)) {
            self.chars.next();
            length += 1;
            if significant > 0 || digit > 0 {
                significant += 1;
                if significant <= 9 {
                    value = value * 10 + i64::from(digit);
                }
            }
        }
        Token::Number { value, length }
    }

    fn parentheses(&mut self) {
        let mut depth = 0_usize;
        for c in self.chars.by_ref() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn word(&mut self) -> Word {
        let (mut prefix, mut length) = (String::new(), 0);
        while let Some(c) = self.chars.clone().next() {
            if c < 'A' || is_space(c) {
                break;
            }
            self.chars.next();
            length += 1;
            if length <= 3 {
                prefix.push(c.to_ascii_lowercase());
            }
        }
        if let Some(month) = (1..).zip(MONTHS).find(|(_, name)| *name == prefix) {
            return Word::Month(month.0);
        }
        if length > 3 {
            return Word::Unknown;
        }
        match prefix.as_str() {
            "am" => Word::HalfDay(0),
            "pm" => Word::HalfDay(12),
            "z" => Word::Zone(0, true),
            "ut" | "utc" | "gmt" => Word::Zone(0, false),
            "edt" => Word::Zone(-4, false),
            "est" | "cdt" => Word::Zone(-5, false),
            "cst" | "mdt" => Word::Zone(-6, false),
            "mst" | "pdt" => Word::Zone(-7, false),
            "pst" => Word::Zone(-8, false),
            "t" => Word::TimeFollows,
            _ => Word::Unknown,
        }
    }
}

/// White space here: the two line ends of Unicode are not, other than elsewhere in JavaScript.
fn is_space(c: char) -> bool {
    is_js_space(c) && !matches!(c, '\u{2028}' | '\u{2029}')
}
