//! Notices when a person types into a Claude Code session that an agent is responsible for, records
//! it once in OpenClaw's signal log, and tells the sessions that watch it.
//!
//! # The flow
//!
//! ```text
//! link ──▶ probe ──▶ scan ──▶ classify ──▶ echo ──▶ record ──▶ notice
//! which    what is    bytes    row →        was it    one        what watchers
//! sources  new        → rows   verdict      ours      event      are told
//! ```
//!
//! [`cycle`] runs one source after the other through it, [`daemon`] says when. [`cli`] is what a
//! person sees.
//!
//! # Where is …?
//!
//! | question | place |
//! |---|---|
//! | the rule that decided on a row; where to add one | [`classify`], `classify/rules.rs` |
//! | where an event's dedupe key is made | [`record`], `record/window.rs` |
//! | what happens when a file shrinks or is replaced | [`probe`] decides, `cycle/reading.rs` reads it again, over passes by `cycle/again.rs` |
//! | what happens when a file is gone | `cycle/gone.rs`, its cause in [`probe::missing`] |
//! | when something is looked at; which file an event names | `daemon/follower.rs`, `daemon/watching.rs` |
//! | where a new session is followed from | `daemon/newcomers.rs`, `cycle/adoption.rs` |
//! | which old adoptions of a gateway get a link | `link/backfill.rs` decides, `cycle/backfill.rs` does it |
//! | how a row longer than a window is read | `classify/outline`, driven by `classify/lines.rs` |
//! | what happens when a disk hangs | [`disk::Patience`] is what is seen of it, `daemon/hung.rs` acts |
//! | what survives `kill -9` at any instruction | [`journal`], its intents; the three commits in `cycle/recording.rs`; an event that is there already is found in `record/window.rs` |
//! | where reading starts, and what is history | `cycle/first_sight.rs` |
//! | whether OpenClaw runs a turn; how a gateway is called | [`openclaw::socket`] |
//! | which signal log; when a gateway's database is only read | `record/store.rs`, `record/shape.rs` |
//! | the text of a notice | [`notice`] |
//!
//! # Who may touch what
//!
//! - The signal log is written by [`record`] alone; no other module holds SQL of its tables. The
//!   daemon and `once` record events, under a lock ([`lock`]); commands change links and watches.
//! - The journal is written by [`journal`] alone.
//! - Followed transcripts are opened by [`disk`] alone, and never written.
//! - The clock is read in [`clock`] (timers run in [`daemon`]), the environment in [`config`];
//!   decisions take both as values.
//! - A row's text is seen by [`classify`] alone, and leaves it as a keyed hash ([`ids::TextHash`]); so
//!   do OpenClaw's own texts leave [`openclaw::sessions`], whose databases nothing else opens.
//!
//! # Words
//!
//! - *gateway*: a running OpenClaw, whose words these are where they are not ours.
//! - *row*: one line of a transcript; *turn*: a row by which a person starts or steers an agent.
//! - *link*: an adopted session, with the *marker* up to which its file was read.
//! - *source*: what a link's rows are read from; *generation*: one life of a file's content.
//! - *identity*: what a row is known by; *countable*: a row that counts by our rule or the gateway's.
//! - *floor*: the time below which rows are history; *own text*: what a program itself sent; *echo*:
//!   an own text coming back.
//! - *signal log*: the durable events; *journal*: our own database; *intent*: what the journal says
//!   we are about to record.
//! - *watcher*, *target*, *notice*, *state version*: as in OpenClaw.

pub mod classify;
pub mod cli;
pub mod clock;
pub mod config;
pub mod cycle;
pub mod daemon;
pub mod disk;
pub mod echo;
pub mod engine;
pub mod error;
pub mod ids;
pub mod journal;
pub mod killpoint;
pub mod link;
pub mod lock;
pub mod notice;
pub mod observe;
pub mod openclaw;
pub mod probe;
pub mod record;
pub mod scan;
pub mod sqlite;
pub mod state;
