//! A real paired node, with a Claude Code folder of its own.

use crate::gateway::{Place, Session, TOKEN, program, wait_until};
use crate::monitors::{WATCHER, events, turns};
use crate::packages::Packages;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How often our daemon looks at it.
const CYCLE: Duration = Duration::from_secs(1);

/// The node: a home, and what runs in it.
struct Node<'p> {
    place: &'p Place<'p>,
    home: TempDir,
    child: Option<Child>,
}

impl<'p> Node<'p> {
    /// A node that is paired, connected and may be read.
    fn new(place: &'p Place<'p>) -> Self {
        let mut node = Self { place, home: TempDir::new().unwrap(), child: None };
        for folder in [".openclaw", ".claude/projects/-home-me-proj", "tmp", "bin"] {
            fs_err::create_dir_all(node.home.path().join(folder)).unwrap();
        }
        let config = json!({
            "plugins": {"entries": {"anthropic": {"config": {"sessionCatalog": {"enabled": true}}}}},
            "nodeHost": {"agentRuns": {"claude": {"enabled": true}}},
        });
        let path = node.home.path().join(".openclaw/openclaw.json");
        fs_err::write(path, config.to_string()).unwrap();
        // Only a node that could go on with a session has its sessions adopted.
        let claude = node.home.path().join("bin/claude");
        fs_err::write(&claude, "#!/bin/sh\nexit 1\n").unwrap();
        fs_err::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
        node.start();
        wait_until("the node asks to be let in", || {
            let pairing = place.call("node.pair.list", &json!({}));
            let Some(request) = pairing["pending"][0]["requestId"].as_str() else { return false };
            place.call("node.pair.approve", &json!({ "requestId": request }));
            true
        });
        node.wait_until_connected();
        node
    }

    fn start(&mut self) {
        let path =
            format!("{}:/usr/local/bin:/usr/bin:/bin", self.home.path().join("bin").display());
        let port = self.place.port().to_string();
        let child = program(&self.place.packages().node, self.home.path())
            .env("PATH", path)
            .env("OPENCLAW_GATEWAY_TOKEN", TOKEN)
            .arg(self.place.packages().openclaw.join("openclaw.mjs"))
            .args(["node", "run", "--host", "127.0.0.1", "--port", &port])
            .args(["--display-name", "interop"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // It starts the node as a process of its own.
            .process_group(0)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    fn kill(&mut self) {
        if self.child.is_some() {
            self.signal("-KILL");
        }
        if let Some(mut child) = self.child.take() {
            child.wait().unwrap();
        }
    }

    /// Ends it, lets it hang, or go on.
    fn signal(&self, signal: &str) {
        let group = format!("-{}", self.child.as_ref().unwrap().id());
        let kill = Command::new("kill").args([signal, "--", &group]).status();
        assert!(kill.unwrap().success());
    }

    fn listed(&self) -> Option<Value> {
        let list = self.place.call("node.list", &json!({}));
        let node = list["nodes"].as_array()?.first()?.clone();
        let commands = node["commands"].as_array()?;
        let is_read = commands.iter().any(|command| command == "anthropic.claude.sessions.read.v1");
        (node["connected"] == true && is_read).then_some(node)
    }

    fn wait_until_connected(&self) {
        wait_until("the node is connected", || self.listed().is_some());
    }

    fn host(&self) -> String {
        format!("node:{}", self.listed().unwrap()["nodeId"].as_str().unwrap())
    }

    /// A new session there, with a row in it.
    fn session(&self) -> Session {
        self.place.session_in(self.home.path())
    }
}

impl Drop for Node<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

/// One cycle of ours; gives what became of the link.
fn once(place: &Place<'_>, key: &str) -> Value {
    let report: Value = serde_json::from_str(&place.run(&["once", "--json"])).unwrap();
    let links = report["links"].as_array().unwrap();
    links.iter().find(|link| link["sessionKey"] == key).unwrap().clone()
}

/// Writes turns one by one for a few cycles; gives how long the slowest took to its event, and the
/// usual one.
fn latencies(place: &Place<'_>, session: &Session, key: &str) -> (Duration, Duration) {
    let (mut times, start) = (Vec::new(), Instant::now());
    while start.elapsed() < CYCLE * 4 {
        let before = events(place, key).len();
        let row = place.typed(session);
        let began = Instant::now();
        session.append(&[&row]);
        wait_until("our event", || events(place, key).len() > before);
        times.push(began.elapsed());
    }
    times.sort();
    (times[times.len() - 1], times[times.len() / 2])
}

/// The sessions of a node are followed through the gateway, and the node holds up nobody.
pub(crate) fn paired_node(packages: &Packages) -> String {
    const BURST: usize = 300;
    let place = Place::new(packages);
    let mut node = Node::new(&place);
    let (far, near) = (node.session(), place.session());
    let host = node.host();
    let adopted: Value =
        serde_json::from_str(&place.run(&["adopt", &far.thread, "--host", &host, "--json"]))
            .unwrap();
    let far_key = adopted["adopted"][0]["sessionKey"].as_str().unwrap().to_owned();
    let near_key = place.adopt(&near);
    for key in [&far_key, &near_key] {
        place.run(&["watch", "add", WATCHER, key]);
    }
    let far_turns = || turns(&events(&place, &far_key));

    // More than the gateway looks at, within a cycle.
    let rows: Vec<String> = (0..BURST).map(|_| place.typed(&far)).collect();
    far.append(&rows.iter().map(String::as_str).collect::<Vec<_>>());
    once(&place, &far_key);
    assert_eq!(far_turns(), BURST as u64);
    let windows = events(&place, &far_key);
    assert!(windows.iter().any(|event| event["payload"].get("generation").is_some()));
    // The gateway's monitor finds nothing left to say.
    let newest = rows[BURST - 1].split('"').skip_while(|part| *part != "uuid").nth(2).unwrap();
    assert!(windows[0]["dedupe"].as_str().unwrap().ends_with(newest), "{windows:?}");

    // It hangs: the others do not notice.
    let daemon = place.daemon_every(CYCLE);
    let (slowest, usual) = latencies(&place, &near, &near_key);
    node.signal("-STOP");
    far.append(&[&place.typed(&far)]);
    let (slowest_beside, usual_beside) = latencies(&place, &near, &near_key);
    assert!(slowest_beside < Duration::from_secs(1), "{slowest_beside:?}");
    assert_eq!(far_turns(), BURST as u64);
    node.signal("-CONT");
    wait_until("the node's turn", || far_turns() == BURST as u64 + 1);
    drop(daemon);

    // It is away: that says nothing of its sessions.
    node.kill();
    far.append(&[&place.typed(&far)]);
    for _ in 0..4 {
        assert_eq!(once(&place, &far_key)["outcome"], "unreadable");
    }
    assert_eq!(far_turns(), BURST as u64 + 1);
    node.start();
    node.wait_until_connected();
    assert_eq!(once(&place, &far_key)["outcome"], "read");
    assert_eq!(far_turns(), BURST as u64 + 2);

    // Its own word that it has none, three times.
    fs_err::remove_file(&far.file).unwrap();
    for outcome in ["missing", "missing", "deleted"] {
        assert_eq!(once(&place, &far_key)["outcome"], outcome);
    }
    let missing: i64 = place
        .read()
        .query_row(
            "SELECT count(*) FROM session_state_events
             WHERE session_key = ? AND kind = 'upstream_missing'",
            [&far_key],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(missing, 1);
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    format!(
        "a burst of {BURST} in one window; beside a hung node {:.1} ms (slowest {:.1}), else {:.1} ({:.1})",
        ms(usual_beside),
        ms(slowest_beside),
        ms(usual),
        ms(slowest),
    )
}
