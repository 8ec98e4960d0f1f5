//! Rows as Claude Code 2.1.332 writes them, of a session that never was.

use crate::cli::when::iso;
use crate::clock::{Clock as _, SystemClock};
use serde_json::{Value, json};

/// The session's id.
pub(super) const SESSION: &str = "5e55104e-de30-4000-8000-000000000001";

/// A word that stands in the texts, and so must stand nowhere else.
pub(super) const WORD: &str = "marmalade";

/// Bytes of the screenshot.
pub(super) const SCREENSHOT: usize = 5_000_000;

/// Writes rows, one after the other.
#[derive(Debug, Default)]
pub(super) struct Rows {
    written: u64,
}

impl Rows {
    /// A person types.
    pub(super) fn typed(&mut self) -> Vec<u8> {
        let content = json!(format!("Use the {WORD} branch instead."));
        self.one(&by_person(&content))
    }

    /// A person pastes a picture.
    pub(super) fn screenshot(&mut self) -> Vec<u8> {
        let data = "iVBORw0KGgo".to_owned() + &"A".repeat(SCREENSHOT);
        let source = json!({ "type": "base64", "media_type": "image/png", "data": data });
        let content = json!([
            { "type": "text", "text": format!("Why is the {WORD} in [Image #1] blurred?") },
            { "type": "image", "source": source },
        ]);
        let mut fields = by_person(&content);
        fields["imagePasteIds"] = json!([1]);
        self.one(&fields)
    }

    /// A task in the background is done.
    pub(super) fn task_notification(&mut self) -> Vec<u8> {
        let text = format!(
            "<task-notification>\n<task-id>a1b2</task-id>\n<status>completed</status>\n\
             <summary>{WORD}</summary>\n</task-notification>"
        );
        self.one(&json!({
            "message": { "role": "user", "content": text },
            "origin": { "kind": "task-notification", "producer": "session-task" },
            "promptSource": "system",
            "turnOrigin": "task_notification",
            "rowSource": "recorded",
        }))
    }

    /// What a slash command leaves in the transcript.
    pub(super) fn slash_command(&mut self) -> Vec<u8> {
        let text = format!("<command-name>/{WORD}</command-name>");
        self.one(&json!({
            "message": { "role": "user", "content": text },
            "rowSource": "local",
        }))
    }

    /// A person presses Esc.
    pub(super) fn interrupt(&mut self) -> Vec<u8> {
        let text = "[Request interrupted by user]";
        self.one(&json!({
            "message": { "role": "user", "content": [{ "type": "text", "text": text }] },
            "interruptedMessageId": "msg_1",
            "rowSource": "harness",
        }))
    }

    /// A program that uses the SDK sends a prompt of its own.
    pub(super) fn program_prompt(&mut self) -> Vec<u8> {
        self.one(&json!({
            "message": { "role": "user", "content": format!("Summarise the {WORD}.") },
            "entrypoint": "sdk-cli",
            "promptSource": "sdk",
            "turnOrigin": "sdk",
            "rowSource": "local",
            "permissionMode": "default",
        }))
    }

    /// A person types while a tool runs: the rows around it, and the one that counts, which is no
    /// user's row at all.
    pub(super) fn during_tool_call(&mut self) -> Vec<u8> {
        let text = format!("Stop after ten jars of {WORD}.");
        let uuid = "81b8a03f-97e8-487c-83fe-1a86bda042b6";
        let call = json!({
            "type": "assistant",
            "message": {
                "role": "assistant",
                "model": "claude-x",
                "content": [{ "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {} }],
            },
        });
        let result = json!({
            "message": {
                "role": "user",
                "content": [{ "tool_use_id": "toolu_1", "type": "tool_result", "content": "ok" }],
            },
            "toolUseResult": { "stdout": "ok" },
        });
        let delivered = json!({
            "type": "attachment",
            "attachment": {
                "type": "queued_command",
                "prompt": text,
                "commandMode": "prompt",
                "source_uuid": uuid,
                "origin": { "kind": "human" },
                "humanTurn": true,
            },
        });
        let enqueued = json!({ "operation": "enqueue", "content": text });
        let removed = json!({
            "operation": "remove",
            "content": text,
            "reason": "absorbed_mid_turn",
            "commandUuid": uuid,
        });
        let mut rows = self.one(&call);
        rows.extend(queue_operation(&enqueued));
        rows.extend(queue_operation(&removed));
        rows.extend(self.one(&result));
        rows.extend(self.one(&delivered));
        rows
    }

    /// A row with the fields that all rows have, and these.
    fn one(&mut self, fields: &Value) -> Vec<u8> {
        let uuid = |n: u64| format!("5e55104e-0000-4000-8000-{n:012}");
        let parent = (self.written > 0).then(|| uuid(self.written));
        self.written += 1;
        let mut row = json!({
            "parentUuid": parent,
            "isSidechain": false,
            "type": "user",
            "uuid": uuid(self.written),
            "timestamp": iso(SystemClock.now()),
            "userType": "external",
            "cwd": "/made-up/project",
            "sessionId": SESSION,
            "version": "2.1.332",
            "gitBranch": "main",
            "entrypoint": "cli",
        });
        put(&mut row, fields);
        line(&row)
    }
}

fn by_person(content: &Value) -> Value {
    json!({
        "message": { "role": "user", "content": content },
        "origin": { "kind": "human" },
        "promptSource": "typed",
        "turnOrigin": "human",
        "turnPosition": { "promptIndex": 1, "turnIndex": 1 },
        "permissionMode": "default",
    })
}

/// A row without name, of a message that waits.
fn queue_operation(fields: &Value) -> Vec<u8> {
    let mut row = json!({
        "type": "queue-operation",
        "timestamp": iso(SystemClock.now()),
        "sessionId": SESSION,
    });
    put(&mut row, fields);
    line(&row)
}

fn put(row: &mut Value, fields: &Value) {
    for (name, value) in fields.as_object().into_iter().flatten() {
        row[name.as_str()] = value.clone();
    }
}

fn line(row: &Value) -> Vec<u8> {
    let mut line = row.to_string().into_bytes();
    line.push(b'\n');
    line
}
