use super::testing::{page, row};
use super::*;

fn at(second: usize) -> String {
    format!("2026-12-01T00:{:02}:{:02}.000Z", second / 60, second % 60)
}

/// So many rows, one a second, each a hundred bytes long; each third is a user's.
fn transcript(rows: usize) -> Vec<Value> {
    (1..=rows)
        .map(|n| {
            let kind = if n % 3 == 0 { "userMessage" } else { "agentMessage" };
            row(kind, &format!("u{n}"), &at(n), n as u64 * 100, &json!(format!("words {n}")))
        })
        .collect()
}

/// Reads back to a goal; gives the walk, its end, and how many pages that took.
fn walk(transcript: &[Value], goal: Goal) -> (Walk, Result<End, BadPage>, usize) {
    let mut walk = Walk::new(goal);
    let mut cursor = None;
    for pages in 1.. {
        match walk.take(&page(transcript, cursor.as_deref(), PAGE)) {
            Ok(Step::Page(next)) => cursor = Some(next),
            Ok(Step::Done(end)) => return (walk, Ok(end), pages),
            Err(error) => return (walk, Err(error), pages),
        }
    }
    unreachable!("pages have no end")
}

fn goal(uuid: Option<&str>, end: Option<u64>, floor: Option<usize>) -> Goal {
    let floor = floor.map(|second| time(&at(second)).unwrap());
    Goal { uuid: uuid.map(str::to_owned), end, floor, further: false, asked_at: Timestamp(0) }
}

#[test]
fn a_reading_goes_back_to_the_row_that_is_known_and_no_further() {
    let transcript = transcript(170);
    for (wanted, end, index, pages) in [
        (goal(Some("u170"), Some(17_000), None), 0, 0, 1),
        (goal(Some("u169"), Some(16_900), None), 1, 1, 1),
        (goal(Some("u121"), Some(12_100), None), 49, 49, 1),
        (goal(Some("u120"), None, None), 50, 50, 2),
        (goal(Some("u1"), Some(100), None), 169, 169, 4),
        // Old times prove nothing while the place of the row is not reached.
        (goal(Some("u60"), Some(6_000), Some(3_000)), 110, 110, 3),
    ] {
        let (walk, found, took) = walk(&transcript, wanted.clone());
        assert_eq!((found, took), (Ok(End::Found(index)), pages), "{wanted:?}");
        assert!(walk.items.len() > end);
    }
}

#[test]
fn a_page_before_the_row_is_read_where_it_is_wanted_and_there_is_one() {
    let transcript = transcript(170);
    for (uuid, rows, pages) in [("u121", 100, 2), ("u5", 170, 4)] {
        let wanted = Goal { further: true, ..goal(Some(uuid), None, None) };
        let (walk, found, took) = walk(&transcript, wanted);
        assert!(matches!(found, Ok(End::Found(_))), "{found:?}");
        assert_eq!((walk.items.len(), took), (rows, pages), "{uuid}");
    }
}

#[test]
fn where_the_row_is_gone_a_reading_ends_at_the_start_or_at_a_page_of_history() {
    let transcript = transcript(170);
    for (wanted, pages) in [
        (goal(None, None, None), 4),
        (goal(Some("gone"), None, None), 4),
        (goal(Some("gone"), None, Some(110)), 3),
        // Its uuid is there, but elsewhere: the file is another one.
        (goal(Some("u160"), Some(16_050), None), 4),
        (goal(Some("u160"), Some(16_050), Some(125)), 2),
        (goal(Some("gone"), Some(50_000), Some(1_000)), 1),
    ] {
        let (_, found, took) = walk(&transcript, wanted.clone());
        assert_eq!((found, took), (Ok(End::NotFound), pages), "{wanted:?}");
    }
    assert_eq!(walk(&[], goal(Some("u1"), Some(100), None)).1, Ok(End::NotFound));
}

#[test]
fn a_user_message_becomes_a_row_and_others_keep_only_name_place_and_time() {
    let picture = json!([{"type": "image", "source": {"data": "AAAA"}}]);
    let cut = |text: &str| {
        let mut row = row("userMessage", "u5", &at(5), 500, &Value::Null);
        let members = row.as_object_mut().unwrap();
        members.remove("content");
        members.insert("truncated".to_owned(), json!(true));
        members.insert("text".to_owned(), json!(text));
        row
    };
    for (value, content) in [
        (row("userMessage", "u1", &at(1), 100, &json!("words")), Some(json!("words"))),
        (row("userMessage", "u2", &at(2), 200, &picture), Some(picture.clone())),
        (cut("look\n\n[oversized Claude item truncated]"), Some(json!("look"))),
        (cut("\n\n[oversized Claude item truncated]"), Some(json!([{"type": "image"}]))),
        (row("agentMessage", "u3", &at(3), 300, &json!("words")), None),
        (row("toolResult", "u4", &at(4), 400, &json!("words")), None),
    ] {
        let item = item(&value).unwrap();
        assert_eq!(item.uuid.as_deref(), value["uuid"].as_str());
        assert_eq!(item.at, time(value["timestamp"].as_str().unwrap()));
        let row: Option<Value> = item.row.map(|row| serde_json::from_slice(&row).unwrap());
        assert_eq!(row.as_ref().map(|row| row["message"]["content"].clone()), content);
        if let Some(row) = row {
            assert_eq!((&row["type"], &row["uuid"]), (&json!("user"), &value["uuid"]));
        }
    }
}

#[test]
fn what_is_no_page_or_does_not_go_on_ends_the_reading() {
    let ordered = transcript(3);
    let page = |items: &[&Value]| json!({ "items": items });
    for (value, expected) in [
        (json!({}), BadPage::Form),
        (json!({"items": [{"type": "userMessage"}]}), BadPage::Form),
        (json!({"items": [{"type": "x", "resumeCursor": "%"}]}), BadPage::Form),
        (json!({"items": [{"type": "x", "resumeCursor": "e30"}]}), BadPage::Form),
        (page(&[&ordered[0], &ordered[1]]), BadPage::Order),
        (page(&[&ordered[1], &ordered[1]]), BadPage::Order),
    ] {
        assert_eq!(Walk::new(goal(None, None, None)).take(&value), Err(expected), "{value}");
    }
}

#[test]
fn a_transcript_without_end_does_not_keep_a_reading_for_ever() {
    let mut walk = Walk::new(goal(None, None, None));
    let mut taken = 0;
    let end = loop {
        let end = 1_000_000 - taken;
        let row = row("agentMessage", "u", &at(1), end, &json!(""));
        taken += 1;
        match walk.take(&json!({"items": [row], "nextCursor": "next"})) {
            Ok(Step::Page(_)) => {}
            other => break other,
        }
    };
    assert_eq!((end, taken), (Err(BadPage::Pages), MOST_PAGES as u64));
}
