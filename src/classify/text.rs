//! The form in which texts are compared.

/// Trims, and turns every run of JavaScript white space into one space (OpenClaw 2026.9.6).
#[must_use]
pub fn normalise(text: &str) -> String {
    text.split(is_js_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// White space as JavaScript's `\s` has it: with U+FEFF, without U+0085.
#[must_use]
pub fn is_js_space(c: char) -> bool {
    matches!(c, '\u{9}'..='\u{d}' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn white_space_is_javascripts() {
        assert_eq!(normalise("\u{feff} Echo\t\u{a0}me\u{2028}\nplease. "), "Echo me please.");
        assert_eq!(normalise("a\u{85}b"), "a\u{85}b");
        assert_eq!(normalise(" \u{3000}"), "");
    }
}
