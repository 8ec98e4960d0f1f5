//! `demo`: the whole thing on a made-up session, in a temporary folder.
//!
//! Answers: what does this program do, in the first minute. Always holds: the daemon and the commands
//! are the real ones (this very program, run again), nothing of the user's is read or touched, and
//! what is said to have happened was looked up in the signal log.

mod rows;
mod stage;
mod tell;

use super::events::turns;
use super::output::Output;
use super::wait::Stop;
use crate::clock::Stopwatch;
use crate::error::{Error, Result};
use crate::ids::{Sequence, SessionKey};
use crate::link::Link;
use crate::record::{Event, EventFilter, Kind, SignalLog};
use rows::{Rows, SCREENSHOT, SESSION, WORD};
use serde_json::Value;
use stage::Stage;
use tell::{Outcome, Teller};

/// Who watches.
const WATCHER: &str = "agent:main:main";
/// Quick turns.
const MANY: u64 = 20;

pub(super) fn run(mut out: Output) -> Result<()> {
    let mut stage = Stage::new(Stop::listen()?)?;
    let mut teller = Teller::new(&mut out);
    match play(&mut teller, &mut stage) {
        Ok(()) => {}
        // Whoever reads has seen enough.
        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => {
            stage.show_daemon_log();
            return Err(error);
        }
    }
    stage.close()?;
    teller.say(
        "\nThat was the real daemon, on rows as Claude Code writes them: each turn of a person \
         counted once, nothing else counted, no word of it kept. Everything is removed again.\n\
         Next, on your own sessions: `upstreamd run` follows them, `upstreamd help` tells the rest.",
    )
}

/// The session, and how far the story has come.
struct Story {
    key: SessionKey,
    rows: Rows,
    /// The newest event that was told of.
    told: Sequence,
    /// What a person typed so far.
    typed: u64,
}

fn play(teller: &mut Teller<'_>, stage: &mut Stage) -> Result<()> {
    teller.say(
        "upstreamd demo: a made-up Claude Code session in a temporary folder. Nothing of yours is \
         read or changed.\n● recorded  ○ not recorded  KEY: the session's key\n\n",
    )?;
    let mut story =
        Story { key: SessionKey::new(""), rows: Rows::default(), told: Sequence(0), typed: 0 };
    begin(&mut story, teller, stage)?;
    tell_apart(&mut story, teller, stage)?;
    let what = "A person types while a tool runs: an attachment, and no user's row at all.";
    let rows = story.rows.during_tool_call();
    teller.step(what, stage, |stage| story.a_turn(stage, &rows))?;
    let what = format!("A person pastes a screenshot: a row of {} MB.", SCREENSHOT / 1_000_000);
    let rows = story.rows.screenshot();
    teller.step(&what, stage, |stage| story.a_turn(stage, &rows))?;
    let what = format!("A person is quick: {MANY} turns, each a write of its own.");
    let rows = (0..MANY).map(|_| story.rows.typed()).collect::<Vec<_>>();
    teller.step(&what, stage, |stage| story.turns(stage, &rows))?;
    tell_watcher(&story, teller, stage)?;
    teller.step("The transcript is deleted.", stage, |stage| story.delete(stage))?;
    let what =
        format!("The word \"{WORD}\" stood in what was written: databases and log are searched.");
    teller.step(&what, stage, |stage| match stage.holds(WORD)? {
        None => Ok(Outcome { text: "found nowhere: no text leaves".to_owned(), ..<_>::default() }),
        Some(file) => Err(Error::Failed(format!("{} holds it", file.display()))),
    })?;
    Ok(())
}

/// Adopts the session and starts the daemon.
fn begin(story: &mut Story, teller: &mut Teller<'_>, stage: &mut Stage) -> Result<()> {
    let what = format!("A session with a row is adopted, and {WATCHER} watches it.");
    teller.step(&what, stage, |stage| {
        stage.append(&story.rows.typed())?;
        let adopted = json(&stage.run(&["adopt", SESSION, "--json"])?)?;
        let key = adopted.pointer("/adopted/0/sessionKey").and_then(Value::as_str);
        story.key = SessionKey::new(key.unwrap_or_default());
        stage.run(&["watch", "add", WATCHER, SESSION])?;
        let event = json(&stage.run(&["events", "--json"])?)?;
        let (sequence, kind) = (event["sequence"].as_i64(), event["kind"].as_str());
        let (Some(sequence), Some("adopted")) = (sequence, kind) else {
            return Err(Error::Failed("it was not recorded".to_owned()));
        };
        story.told = Sequence(sequence);
        let text = format!("event {sequence}: adopted; the row that was there is history");
        Ok(Outcome { text, recorded: true, ..Outcome::default() })
    })?;
    let what = "The daemon starts: `upstreamd run`, with `cycle = \"100ms\"` so that nothing here takes \
                minutes.";
    teller.step(what, stage, |stage| {
        let watch = Stopwatch::start();
        stage.start_daemon()?;
        let took = Some(watch.elapsed());
        Ok(Outcome { text: "ready after".to_owned(), took, ..Outcome::default() })
    })?;
    Ok(())
}

/// Writes what people type and what only looks like it.
fn tell_apart(story: &mut Story, teller: &mut Teller<'_>, stage: &mut Stage) -> Result<()> {
    let row = story.rows.typed();
    teller.step("A person types.", stage, |stage| story.a_turn(stage, &row))?;
    for (what, row) in [
        (
            "A background task reports that it is done, as if a user had.",
            story.rows.task_notification(),
        ),
        ("A slash command leaves its echo.", story.rows.slash_command()),
        ("The agent is interrupted with Esc.", story.rows.interrupt()),
        ("A program sends a prompt of its own, by the SDK.", story.rows.program_prompt()),
    ] {
        teller.step(what, stage, |stage| story.no_turn(stage, &row))?;
    }
    let row = story.rows.typed();
    let what =
        "A person types again, and this turn alone is counted: the four rows before it are not.";
    teller.step(what, stage, |stage| story.a_turn(stage, &row))?;
    Ok(())
}

/// Shows what a watcher is told, and what it learns then.
fn tell_watcher(story: &Story, teller: &mut Teller<'_>, stage: &mut Stage) -> Result<()> {
    let what = format!("The watcher is told: `upstreamd notices {WATCHER}`.");
    let mut since = 0;
    teller.step(&what, stage, |stage| {
        let notices = json(&stage.run(&["notices", WATCHER, "--json"])?)?;
        let notices = notices["notices"].as_array().cloned().unwrap_or_default();
        let [notice] = notices.as_slice() else {
            return Err(Error::Failed(format!("{} notices wait, not one", notices.len())));
        };
        since = notice["lastSeen"].as_i64().unwrap_or_default();
        let text = notice["text"].as_str().unwrap_or_default();
        Ok(Outcome {
            text: format!("one notice, for {} turns", story.typed),
            block: text.replace(story.key.as_str(), "KEY"),
            ..Outcome::default()
        })
    })?;
    let what = format!("It asks what changed: `upstreamd status KEY --changes-since {since}`.");
    teller.step(&what, stage, |stage| {
        let since = since.to_string();
        let said = stage.run(&["status", story.key.as_str(), "--changes-since", &since])?;
        Ok(Outcome {
            text: "everything since it looked last".to_owned(),
            block: said.replace(story.key.as_str(), "KEY"),
            ..Outcome::default()
        })
    })?;
    Ok(())
}

impl Story {
    /// One write, which one event counts as one turn.
    fn a_turn(&mut self, stage: &mut Stage, row: &[u8]) -> Result<Outcome> {
        let outcome = self.turns(stage, &[row.to_vec()])?;
        let text = format!("event {}: 1 turn, after", self.told);
        Ok(Outcome { text, ..outcome })
    }

    /// Writes, each of which holds a turn, until as many are recorded.
    fn turns(&mut self, stage: &mut Stage, writes: &[Vec<u8>]) -> Result<Outcome> {
        let watch = Stopwatch::start();
        for rows in writes {
            stage.append(rows)?;
        }
        let wanted = writes.len() as u64;
        let found = stage.wait_for("its turns were not recorded", |log| {
            let events = self.new_turns(log)?;
            Ok((turns_of(&events) >= wanted).then_some(events))
        })?;
        let took = Some(watch.elapsed());
        let turns = turns_of(&found);
        if turns != wanted {
            return Err(Error::Failed(format!("{turns} turns were recorded, not {wanted}")));
        }
        self.typed += turns;
        if let Some(last) = found.last() {
            self.told = last.sequence;
        }
        let events =
            if found.len() == 1 { "1 event".to_owned() } else { format!("{} events", found.len()) };
        let text = format!("{events}, {turns} turns in sum, after");
        Ok(Outcome { text, recorded: true, turns, took, ..Outcome::default() })
    }

    /// One write that is read and counts nothing.
    fn no_turn(&self, stage: &mut Stage, row: &[u8]) -> Result<Outcome> {
        let watch = Stopwatch::start();
        let size = stage.append(row)?;
        stage.wait_for("the row was not read", |log| {
            let links = log.links_of(&self.key)?;
            let read = links.first().and_then(Link::marker);
            Ok((read >= Some(size)).then_some(()))
        })?;
        let took = Some(watch.elapsed());
        if stage.log()?.newest_sequence()? > self.told {
            return Err(Error::Failed("an event was recorded".to_owned()));
        }
        Ok(Outcome { text: "not counted; read after".to_owned(), took, ..Outcome::default() })
    }

    /// The transcript goes.
    fn delete(&mut self, stage: &mut Stage) -> Result<Outcome> {
        let watch = Stopwatch::start();
        fs_err::remove_file(stage.transcript())?;
        let event = stage.wait_for("it was not recorded", |log| {
            Ok(self.untold(log, Kind::UpstreamMissing)?.into_iter().next())
        })?;
        self.told = event.sequence;
        let text = format!(
            "event {}: {}, after three looks that found no file, after",
            event.sequence, event.kind
        );
        Ok(Outcome { text, recorded: true, took: Some(watch.elapsed()), ..Outcome::default() })
    }

    fn new_turns(&self, log: &SignalLog) -> Result<Vec<Event>> {
        self.untold(log, Kind::HumanDirectMessage)
    }

    /// The events of a kind that were not told of yet.
    fn untold(&self, log: &SignalLog, kind: Kind) -> Result<Vec<Event>> {
        let filter = EventFilter {
            since: self.told,
            kind: Some(kind.as_str().to_owned()),
            session_key: Some(self.key.clone()),
        };
        Ok(log.events(&filter, usize::MAX)?.events)
    }
}

fn turns_of(events: &[Event]) -> u64 {
    events.iter().map(|event| turns(event).unwrap_or(1)).sum()
}

fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::Failed(format!("a command printed no JSON: {error}")))
}
