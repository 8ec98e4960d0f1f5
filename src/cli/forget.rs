//! `forget`: a session goes from the signal log, as when a gateway deletes one.

use super::Context;
use super::links::{is_known, resolve, unknown};
use super::table::sanitise;
use crate::error::Result;
use crate::journal::Journal;
use crate::link::LinkId;
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
#[command(
    after_help = "Removes the session's events, its state version, its link, and the watches by \
                        and of it. Its transcript is not touched. It stays out until it is adopted \
                        again; `unlink` keeps the events."
)]
pub(super) struct ForgetArgs {
    /// The session: its key, or its session id
    #[arg(value_name = "KEY")]
    session: String,
}

pub(super) fn run(args: &ForgetArgs, mut context: Context) -> Result<()> {
    context.require_alone(
        "forget",
        "delete the session in OpenClaw, which removes its events, its link and its watches with it",
    )?;
    let Some(reading) = context.read_log()? else {
        return Err(unknown(&args.session));
    };
    let key = resolve(&reading, &args.session)?;
    if !is_known(&reading, &key)? {
        return Err(unknown(&args.session));
    }
    drop(reading);
    let mut log = context.write_log()?;
    let linked = log.links_of(&key)?.into_iter().map(|link| link.id);
    // Events may be left of a session that is linked no more.
    let own = key.agent().map(|agent_id| LinkId { session_key: key.clone(), agent_id });
    let mut ids: Vec<LinkId> = linked.chain(own).collect();
    ids.dedup();
    let journal = Journal::open(&context.state.journal(), &context.state.hash_key()?)?;
    for id in &ids {
        // So that automatic following does not bring it back.
        journal.bury(id)?;
        log.forget(id)?;
    }
    if context.out.json {
        return context.out.json_line(&json!({ "forgotten": [key] }));
    }
    context.out.line(&format!("forgotten: {}", sanitise(key.as_str())))
}
