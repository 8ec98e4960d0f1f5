//! What the journal keeps, and what it forgets.

use super::*;
use crate::echo::{OwnTextId, OwnTexts as _};
use crate::ids::{
    AgentId, CatalogId, Generation, Identity, Sequence, SessionKey, SourceKey, Timestamp,
};
use crate::link::LinkId;

fn key() -> HashKey {
    HashKey::new([5; 32])
}

fn link(session: &str) -> LinkId {
    LinkId { session_key: SessionKey::new(session), agent_id: AgentId::new("main") }
}

fn cursor(position: u64) -> SourceCursor {
    let unseen = SourceCursor::unseen(Generation::new("0a0a0a0a"), Timestamp(1));
    SourceCursor { position, ..unseen }
}

fn identity(n: u8) -> Identity {
    Identity::of_row(&key(), None, &[n])
}

fn intent(rows: &[u8], excused: Vec<OwnTextId>) -> Intent {
    let row = |n: &u8| CountableRow {
        identity: identity(*n),
        aliases: Vec::new(),
        start: 0,
        end: 10,
        at: Timestamp(1),
        ours: true,
        gateway: true,
    };
    Intent {
        session_key: SessionKey::new("agent:main:a"),
        agent_id: AgentId::new("main"),
        catalog_id: CatalogId::new("claude"),
        source_key: SourceKey::new("0123456789abcdef"),
        is_fork: false,
        node: None,
        generation: Generation::new("0a0a0a0a"),
        from: 0,
        to: 10,
        seen: Sequence(3),
        rows: rows.iter().map(row).collect(),
        excused,
        after: cursor(10),
    }
}

#[test]
fn an_intent_stays_open_until_it_is_applied_with_all_that_belongs_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("upstreamd.sqlite");
    let source_key = SourceKey::new("0123456789abcdef");
    let session = SessionKey::new("agent:main:a");
    let mut journal = Journal::open(&path, &key()).unwrap();
    let source = journal.add_source(&link("agent:main:a"), &source_key, &cursor(0)).unwrap();
    journal.add_own_text(&session, &key().text("go on"), Timestamp(1)).unwrap();
    let told =
        |journal: &Journal| journal.recent(&link("agent:main:a"), 10).unwrap().texts.remove(0);
    let stored = OwnTextId::Stored("s/e".to_owned());
    let intent = intent(&[1, 2], vec![told(&journal).id, stored]);
    journal.intend(source, &intent).unwrap();

    // Another life finds it as it was.
    drop(journal);
    let mut journal = Journal::open(&path, &key()).unwrap();
    let open = journal.open_intents().unwrap();
    assert_eq!((open.len(), &open[0].intent), (1, &intent));
    assert!(!journal.knows(source.link, &identity(1)).unwrap());
    assert!(journal.used_texts(source.link).unwrap().is_empty());

    journal.apply(open[0].source, &intent, Sequence(7), Some(Sequence(6))).unwrap();
    assert!(journal.open_intents().unwrap().is_empty());
    let (_, after) = journal.source(&link("agent:main:a"), &source_key).unwrap().unwrap();
    assert_eq!((after.position, after.seen, after.last_event), (10, Sequence(7), Sequence(6)));
    for (row, known) in [(1, true), (2, true), (3, false)] {
        assert_eq!(journal.knows(source.link, &identity(row)).unwrap(), known, "{row}");
    }
    assert!(told(&journal).used);
    let used = journal.used_texts(source.link).unwrap();
    assert_eq!(used.into_iter().collect::<Vec<_>>(), ["s/e"]);
}

#[test]
fn a_link_that_is_forgotten_takes_everything_with_it_and_leaves_others() {
    let mut journal = Journal::in_memory(&key());
    let source_key = SourceKey::new("0123456789abcdef");
    let mut rows = Vec::new();
    for session in ["agent:main:a", "agent:main:b"] {
        let source = journal.add_source(&link(session), &source_key, &cursor(0)).unwrap();
        journal.learn(source.link, &[identity(1)]).unwrap();
        journal.intend(source, &intent(&[2], Vec::new())).unwrap();
        rows.push(source);
    }
    journal.forget_link(rows[0].link).unwrap();
    assert_eq!(journal.links().unwrap(), [(rows[1].link, link("agent:main:b"))]);
    assert_eq!(journal.open_intents().unwrap().len(), 1);
    assert!(!journal.knows(rows[0].link, &identity(1)).unwrap());
    assert!(journal.knows(rows[1].link, &identity(1)).unwrap());
}

#[test]
fn a_source_that_moved_keeps_its_cursor_and_one_in_its_place_does_not() {
    let mut journal = Journal::in_memory(&key());
    let id = link("agent:main:a");
    let [old, new] = ["0000000000000001", "0000000000000002"].map(SourceKey::new);
    let source = journal.add_source(&id, &old, &cursor(7)).unwrap();
    journal.learn(source.link, &[identity(1)]).unwrap();
    journal.rename_source(&id, &new).unwrap();
    assert!(journal.source(&id, &old).unwrap().is_none());
    assert_eq!(journal.source(&id, &new).unwrap().unwrap().1.position, 7);
    let source = journal.add_source(&id, &old, &cursor(0)).unwrap();
    assert!(journal.source(&id, &new).unwrap().is_none());
    assert!(journal.knows(source.link, &identity(1)).unwrap());
}

#[test]
fn the_newest_own_texts_of_a_session_are_kept() {
    let mut journal = Journal::in_memory(&key());
    let [one, other] = ["agent:main:a", "agent:main:b"].map(SessionKey::new);
    journal.add_own_text(&other, &key().text("x"), Timestamp(0)).unwrap();
    for at in 0..1_005 {
        journal.add_own_text(&one, &key().text(&at.to_string()), Timestamp(at)).unwrap();
    }
    let recent = |session: &SessionKey, limit| {
        let id = link(session.as_str());
        journal.recent(&id, limit).unwrap().texts
    };
    let texts = recent(&one, 10_000);
    assert_eq!((texts.len(), texts[0].at), (1_000, Timestamp(1_004)));
    assert_eq!(recent(&one, 10), texts[..10]);
    assert_eq!(recent(&other, 10).len(), 1);
}

#[test]
fn used_texts_of_a_transcript_are_remembered_for_a_day_and_with_their_link() {
    let mut journal = Journal::in_memory(&key());
    let source_key = SourceKey::new("0123456789abcdef");
    let hour = 3_600_000;
    let sources = ["agent:main:a", "agent:main:b"]
        .map(|session| journal.add_source(&link(session), &source_key, &cursor(0)).unwrap());
    let use_up = |journal: &mut Journal, source: SourceRow, text: &str, at: i64| {
        let mut intent = intent(&[], vec![OwnTextId::Stored(text.to_owned())]);
        intent.after.sighted_at = Some(Timestamp(at));
        journal.intend(source, &intent).unwrap();
        journal.apply(source, &intent, Sequence(1), None).unwrap();
    };
    let used = |journal: &Journal, source: SourceRow| {
        let mut used: Vec<String> = journal.used_texts(source.link).unwrap().into_iter().collect();
        used.sort();
        used
    };
    use_up(&mut journal, sources[0], "s/1", 0);
    use_up(&mut journal, sources[0], "s/2", 23 * hour);
    use_up(&mut journal, sources[0], "s/2", 23 * hour);
    assert_eq!(used(&journal, sources[0]), ["s/1", "s/2"]);
    assert!(used(&journal, sources[1]).is_empty());
    use_up(&mut journal, sources[1], "s/1", 25 * hour);
    assert_eq!(used(&journal, sources[0]), ["s/2"]);
    journal.forget_link(sources[0].link).unwrap();
    assert!(used(&journal, sources[0]).is_empty());
    assert_eq!(used(&journal, sources[1]), ["s/1"]);
}

#[test]
fn an_intent_of_an_older_version_names_told_texts_by_number() {
    let old: Vec<OwnTextId> = serde_json::from_str("[7]").unwrap();
    assert_eq!(old, [OwnTextId::Told(7)]);
    let both = vec![OwnTextId::Told(7), OwnTextId::Stored("7/8".to_owned())];
    let json = serde_json::to_string(&both).unwrap();
    assert_eq!(json, r#"[7,"7/8"]"#);
    assert_eq!(serde_json::from_str::<Vec<OwnTextId>>(&json).unwrap(), both);
}

#[test]
fn hashes_of_another_key_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("upstreamd.sqlite");
    drop(Journal::open(&path, &key()).unwrap());
    let error = Journal::open(&path, &HashKey::new([6; 32])).unwrap_err();
    assert_eq!(error.exit_code(), 4);
    assert!(error.to_string().contains("hash.key"), "{error}");
}

#[test]
fn a_copy_in_memory_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("upstreamd.sqlite");
    drop(Journal::copy_in_memory(&path, &key()).unwrap());
    assert!(!path.exists());
    let mut journal = Journal::open(&path, &key()).unwrap();
    journal.add_source(&link("agent:main:a"), &SourceKey::new("k"), &cursor(1)).unwrap();
    let copy = Journal::copy_in_memory(&path, &key()).unwrap();
    let (row, _) = copy.links().unwrap().remove(0);
    copy.forget_link(row).unwrap();
    assert_eq!(journal.links().unwrap().len(), 1);
}
