//! Our daemon and the gateway's own monitor on the same sessions.

use crate::gateway::{Place, Session, wait_until};
use crate::packages::Packages;
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A session that watches others.
pub(crate) const WATCHER: &str = "agent:main:main";

/// An event as it stands in the log, without what names its session and window.
pub(crate) fn events(place: &Place<'_>, key: &str) -> Vec<Value> {
    let log = place.read();
    let mut rows = log
        .prepare(
            "SELECT session_id, agent_id, kind, actor_type, actor_id, run_id, summary, payload_json,
                 dedupe_key, sequence, occurred_at
             FROM session_state_events WHERE session_key = ? AND kind = 'human_direct_message'
             ORDER BY sequence",
        )
        .unwrap();
    rows.query_map([key], |row| {
        let text = |column| row.get::<_, Option<String>>(column);
        let payload: Option<Value> =
            text(7)?.map(|payload| serde_json::from_str(&payload).unwrap());
        Ok(json!({
            "common": [text(0)?, text(1)?, text(2)?, text(3)?, text(4)?, text(5)?, text(6)?],
            "payload": payload,
            "dedupe": text(8)?,
            "sequence": row.get::<_, i64>(9)?,
            "at": row.get::<_, i64>(10)?,
        }))
    })
    .unwrap()
    .map(Result::unwrap)
    .collect()
}

/// How many turns they count.
pub(crate) fn turns(events: &[Value]) -> u64 {
    events.iter().map(|event| event["payload"]["turns"].as_u64().unwrap_or(1)).sum()
}

/// Cursor and marker of a session.
fn marks(place: &Place<'_>, key: &str) -> (i64, i64, i64, String, Option<String>) {
    place
        .read()
        .query_row(
            "SELECT last_seen_sequence, notified_sequence, material_sequence, last_marker_json,
                 watcher_store_path
             FROM session_watch_cursors JOIN session_upstream_links ON session_key = target_session_key
             WHERE target_session_key = ?",
            [key],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )
        .unwrap()
}

/// What we record is what the gateway's monitor records, but for our two fields in the payload.
pub(crate) fn same_events(packages: &Packages) -> String {
    let place = Place::new(packages);
    let (theirs, ours) = (place.session(), place.session());
    let (their_key, our_key) = (place.adopt(&theirs), place.adopt_by_us(&ours));
    // One is the gateway's alone: nobody of ours is there yet.
    place.run(&["watch", "add", WATCHER, &their_key]);
    let rows = |session: &Session| [place.typed(session), place.typed(session)];
    let write = |session: &Session, rows: &[String; 2]| session.append(&[&rows[0], &rows[1]]);
    write(&theirs, &rows(&theirs));
    wait_until("the gateway's event", || !events(&place, &their_key).is_empty());
    let (their_event, their_marks) = (events(&place, &their_key), marks(&place, &their_key));
    let daemon = place.daemon();
    place.run(&["watch", "add", WATCHER, &our_key]);
    let written = rows(&ours);
    let began = Instant::now();
    write(&ours, &written);
    wait_until("our event", || !events(&place, &our_key).is_empty());
    let took = began.elapsed();
    let (our_event, our_marks) = (events(&place, &our_key), marks(&place, &our_key));
    drop(daemon);

    assert_eq!((their_event.len(), our_event.len()), (1, 1));
    assert_eq!(our_event[0]["common"], their_event[0]["common"]);
    let mut payload = our_event[0]["payload"].clone();
    let own: Vec<_> = ["from", "generation"]
        .iter()
        .map(|name| payload.as_object_mut().unwrap().remove(*name).is_some())
        .collect();
    assert_eq!((own, &payload), (vec![true, true], &their_event[0]["payload"]));
    // The time of the last row, the end of the file in dedupe key and marker.
    for (session, key, event) in
        [(&theirs, &their_key, &their_event[0]), (&ours, &our_key, &our_event[0])]
    {
        let size = fs_err::metadata(&session.file).unwrap().len();
        let dedupe = event["dedupe"].as_str().unwrap();
        assert!(dedupe.starts_with(&format!("upstream:{key}:")), "{dedupe}");
        assert!(dedupe.ends_with(&format!(":{size}")), "{dedupe}");
        assert_eq!(marks(&place, key).3, format!("{{\"offset\":{size}}}"));
    }
    let at = humantime::parse_rfc3339(
        written[1].split('"').skip_while(|t| *t != "timestamp").nth(2).unwrap(),
    );
    let at = at.unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    assert_eq!(our_event[0]["at"], json!(u64::try_from(at).unwrap()));
    // The cursor: seen as before, notified and changed up to the event; the same watcher's store.
    let sequence = our_event[0]["sequence"].as_i64().unwrap();
    assert_eq!((our_marks.1, our_marks.2), (sequence, sequence));
    assert!(our_marks.0 < sequence);
    assert_eq!(our_marks.4, their_marks.4);
    // The gateway serves it.
    let status =
        place.tool("session_status", &json!({"sessionKey": our_key, "changesSince": our_marks.0}));
    assert_eq!(status["stateVersion"], json!(sequence));
    assert_eq!(status["stateChanges"]["events"][0]["summary"], "human message via claude");
    let listed = place.tool("sessions_list", &json!({}));
    let row = listed["sessions"].as_array().unwrap().iter().find(|row| row["key"] == *our_key);
    assert_eq!(row.unwrap()["stateVersion"], json!(sequence), "{listed}");
    format!("one event each, ours after {:.1} ms", took.as_secs_f64() * 1000.0)
}

/// What is written to a session by chance: the row, and whether a person wrote it.
fn chance(place: &Place<'_>, session: &Session, random: u32) -> (String, bool) {
    let user = |more: &str, content: &str| {
        place.row(
            session,
            &format!(r#""type":"user"{more},"message":{{"role":"user","content":{content}}}"#),
        )
    };
    let person = r#","entrypoint":"cli","origin":{"kind":"human"},"promptSource":"typed","turnOrigin":"human""#;
    match random % 10 {
        0..=3 => (place.typed(session), true),
        4 => (user(r#","entrypoint":"cli","permissionMode":"default""#, r#""no mark""#).replace("2.1.332", "2.1.90"), true),
        5 => (user(person, r#"[{"type":"image","source":{"data":"AAAA"}}]"#), true),
        6 => (
            place.row(
                session,
                r#""type":"attachment","attachment":{"type":"queued_command","prompt":"wait","commandMode":"prompt","origin":{"kind":"human"},"humanTurn":true}"#,
            ),
            true,
        ),
        7 => (
            user(
                r#","entrypoint":"cli","origin":{"kind":"task-notification"},"promptSource":"system","turnOrigin":"task_notification""#,
                r#""<task-notification><summary>done</summary></task-notification>""#,
            ),
            false,
        ),
        8 => (
            user(r#","entrypoint":"sdk-cli","promptSource":"sdk","turnOrigin":"sdk""#, r#""a program's""#),
            false,
        ),
        _ => (user(r#","entrypoint":"cli""#, r#""<local-command-stdout>out</local-command-stdout>""#), false),
    }
}

/// Both at work, and ours killed again and again: every turn is counted once, by one of the two.
pub(crate) fn side_by_side(packages: &Packages) -> String {
    const FOR: Duration = Duration::from_secs(75);
    let place = Place::new(packages);
    let sessions: Vec<Session> = (0..5).map(|_| place.session()).collect();
    let keys: Vec<String> = sessions.iter().map(|session| place.adopt(session)).collect();
    let mut daemon = place.daemon();
    for key in &keys {
        place.run(&["watch", "add", WATCHER, key]);
    }
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut written = vec![0_u64; keys.len()];
    let (mut machine, mut kills, began) = (0, 0, Instant::now());
    while began.elapsed() < FOR {
        let index = random.next_u32() as usize % sessions.len();
        let (row, is_turn) = chance(&place, &sessions[index], random.next_u32());
        sessions[index].append(&[&row]);
        written[index] += u64::from(is_turn);
        machine += u64::from(!is_turn);
        if random.next_u32().is_multiple_of(20) {
            daemon.kill();
            daemon = place.daemon();
            kills += 1;
        }
        std::thread::sleep(Duration::from_millis(u64::from(random.next_u32() % 150)));
    }
    let sum = |key: &String, ours: bool| {
        let mut events = events(&place, key);
        events.retain(|event| event["payload"].get("generation").is_some() == ours);
        (events.len(), turns(&events))
    };
    let read = |session: &Session, key: &str| {
        let size = fs_err::metadata(&session.file).unwrap().len();
        marks(&place, key).3 == format!("{{\"offset\":{size}}}")
    };
    wait_until("all read", || sessions.iter().zip(&keys).all(|(session, key)| read(session, key)));
    let (mut windows, mut foreign) = (0, 0);
    for (key, written) in keys.iter().zip(&written) {
        let ((our_windows, ours), (their_windows, theirs)) = (sum(key, true), sum(key, false));
        windows += our_windows;
        foreign += their_windows;
        // Where the gateway was first, its window stands as it counts: false turns too.
        assert!(ours + theirs >= *written, "{key}: {ours} and {theirs} of {written}");
        assert!(their_windows > 0 || ours == *written, "{key}: {ours} of {written}");
    }
    let turns: u64 = written.iter().sum();
    format!(
        "{turns} turns and {machine} rows of programs, {kills} kills: {windows} windows of ours, {foreign} of the gateway's"
    )
}

/// Without its gateway we go on, and when it comes back it tells its watchers.
pub(crate) fn gateway_away(packages: &Packages) -> String {
    let mut place = Place::new(packages);
    let session = place.session();
    let key = place.adopt(&session);
    place.run(&["watch", "add", WATCHER, &key]);
    // A watcher is told only if it is a session; its first turn is over, as far as it gets without a
    // model.
    let hello = json!({"sessionKey": WATCHER, "message": "hello", "idempotencyKey": "1"});
    place.call("chat.send", &hello);
    wait_until("the watcher is an idle session", || {
        let listed = place.call("sessions.list", &json!({}));
        let sessions = listed["sessions"].as_array().unwrap();
        sessions.iter().any(|row| row["key"] == WATCHER && row["hasActiveRun"] != true)
    });
    place.stop();
    // What is adopted is its own business.
    let output = place.upstreamd(&["adopt", &session.thread]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(75) && said.contains("does not run"), "{said}");
    let daemon = place.daemon();
    session.append(&[&place.typed(&session)]);
    wait_until("our event", || events(&place, &key).len() == 1);
    let sequence = events(&place, &key)[0]["sequence"].as_i64().unwrap();
    assert!(marks(&place, &key).0 < sequence);
    place.start();
    wait_until("the watcher has read it", || marks(&place, &key).0 == sequence);
    drop(daemon);
    assert_eq!(events(&place, &key).len(), 1);
    "recorded while it was away, acknowledged by its watcher after its start".to_owned()
}

/// What we do not know we leave alone.
pub(crate) fn unknown_schema(packages: &Packages) -> String {
    let mut place = Place::new(packages);
    let session = place.session();
    let key = place.adopt(&session);
    place.stop();
    let changes = [
        ("PRAGMA user_version = 19", "PRAGMA user_version = 18"),
        (
            "ALTER TABLE session_state_events RENAME COLUMN run_id TO run",
            "ALTER TABLE session_state_events RENAME COLUMN run TO run_id",
        ),
        (
            "ALTER TABLE session_upstream_links RENAME TO links",
            "ALTER TABLE links RENAME TO session_upstream_links",
        ),
    ];
    let sql = |sql: &str| {
        rusqlite::Connection::open(place.database()).unwrap().execute_batch(sql).unwrap();
    };
    for (change, back) in changes {
        sql(change);
        let before = fs_err::read(place.database()).unwrap();
        for args in [&["run"][..], &["once"], &["watch", "add", WATCHER, &key]] {
            let output = place.upstreamd(args).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(4), "{change}: {args:?}: {said}");
            assert!(said.contains("nothing was written"), "{said}");
        }
        assert_eq!(fs_err::read(place.database()).unwrap(), before, "{change}");
        sql(back);
    }
    place.run(&["watch", "add", WATCHER, &key]);
    format!("{} changes refused", changes.len())
}
