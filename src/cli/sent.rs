//! `sent`: a program says what it is about to send.

use super::Context;
use super::links::{is_known, resolve, unknown};
use crate::classify::text::normalise;
use crate::clock::{Clock as _, SystemClock};
use crate::error::{Error, Result};
use crate::journal::Journal;
use clap::Args;
use std::io::Read as _;

/// The longest text that is taken.
const LIMIT: u64 = 1 << 20;

#[derive(Debug, Args)]
pub(super) struct SentArgs {
    /// The session that the text is for: its key, or its session id
    #[arg(value_name = "KEY")]
    session: String,
}

pub(super) fn run(args: &SentArgs, mut context: Context) -> Result<()> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(Error::Usage(format!("the text is longer than {LIMIT} bytes")));
    }
    let text = normalise(&String::from_utf8_lossy(&bytes));
    if text.is_empty() {
        return Err(Error::Usage("the text is empty: give it on standard input".to_owned()));
    }
    let log = context.read_log()?.ok_or_else(|| unknown(&args.session))?;
    let session = resolve(&log, &args.session)?;
    if !is_known(&log, &session)? {
        return Err(unknown(&args.session));
    }
    let key = context.state.hash_key()?;
    let mut journal = Journal::open(&context.state.journal(), &key)?;
    journal.add_own_text(&session, &key.text(&text), SystemClock.now())?;
    if context.out.json {
        return context.out.json_line(&serde_json::json!({ "sessionKey": session, "kept": true }));
    }
    Ok(())
}
