//! A real gateway in a home of its own, with Claude Code's folder beside it.

use crate::packages::Packages;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::cell::Cell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

/// What lets somebody in.
pub(crate) const TOKEN: &str = "interop";

/// How often what a gateway does by itself is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// The home, and what runs in it.
pub(crate) struct Place<'p> {
    packages: &'p Packages,
    home: TempDir,
    port: u16,
    gateway: Option<Child>,
    rows: Cell<u32>,
}

/// A Claude Code session.
pub(crate) struct Session {
    pub(crate) thread: String,
    pub(crate) file: PathBuf,
}

impl<'p> Place<'p> {
    /// A home with a gateway that runs.
    pub(crate) fn new(packages: &'p Packages) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let home = TempDir::new().unwrap();
        let mut place = Self { packages, home, port, gateway: None, rows: Cell::new(0) };
        for folder in [".openclaw", ".claude/projects/-home-me-proj", "tmp"] {
            fs_err::create_dir_all(place.home().join(folder)).unwrap();
        }
        let config = json!({
            "gateway": {"mode": "local", "bind": "loopback", "port": port,
                "auth": {"mode": "token", "token": TOKEN}},
            "logging": {"file": place.home().join("openclaw.log")},
        });
        fs_err::write(place.home().join(".openclaw/openclaw.json"), config.to_string()).unwrap();
        place.start();
        place
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    fn in_home(&self, name: &Path) -> Command {
        program(name, self.home())
    }

    pub(crate) fn packages(&self) -> &Packages {
        self.packages
    }

    /// Where the gateway listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Starts the gateway and waits until it is ready.
    pub(crate) fn start(&mut self) {
        let mut child = self
            .in_home(&self.packages.node)
            .arg(self.packages.openclaw.join("openclaw.mjs"))
            .args(["gateway", "run"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_ready = lines.by_ref().any(|line| line.unwrap().contains("[gateway] ready"));
        assert!(is_ready, "the gateway ended before it was ready");
        // It must not wait for somebody to read on.
        std::thread::spawn(move || lines.for_each(drop));
        self.gateway = Some(child);
    }

    /// Stops the gateway as a service manager does.
    pub(crate) fn stop(&mut self) {
        let Some(mut child) = self.gateway.take() else { return };
        let pid = child.id().to_string();
        Command::new("kill").arg(pid).status().unwrap();
        child.wait().unwrap();
    }

    /// One call.
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        let output = self
            .in_home(&self.packages.node)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/rpc.mjs"))
            .args([&format!("ws://127.0.0.1:{}", self.port), TOKEN, method, &params.to_string()])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{method}: {said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Lets the gateway run a tool.
    pub(crate) fn tool(&self, name: &str, args: &Value) -> Value {
        let answer = self.call("tools.invoke", &json!({"name": name, "args": args}));
        assert_eq!(answer["ok"], true, "{answer}");
        answer["output"]["details"].clone()
    }

    /// Adopts a session; gives its key.
    pub(crate) fn adopt(&self, session: &Session) -> String {
        let place = json!({
            "catalogId": "claude", "hostId": "gateway:local", "threadId": session.thread,
        });
        let adopted = self.call("sessions.catalog.continue", &place);
        adopted["sessionKey"].as_str().unwrap().to_owned()
    }

    /// Lets our program have a session adopted; gives its key.
    pub(crate) fn adopt_by_us(&self, session: &Session) -> String {
        let adopted: Value =
            serde_json::from_str(&self.run(&["adopt", &session.thread, "--json"])).unwrap();
        assert_eq!(adopted["adopted"][0]["created"], true, "{adopted}");
        adopted["adopted"][0]["sessionKey"].as_str().unwrap().to_owned()
    }

    /// Our program, in this home.
    pub(crate) fn upstreamd(&self, args: &[&str]) -> Command {
        let mut command = self.in_home(Path::new(env!("CARGO_BIN_EXE_upstreamd")));
        command.args(args);
        command
    }

    /// Runs one of our commands, which must end well.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.upstreamd(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Our daemon, until it is dropped.
    pub(crate) fn daemon(&self) -> Daemon {
        Daemon(
            self.upstreamd(&["run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
        )
    }

    /// Our daemon with a cycle this often.
    pub(crate) fn daemon_every(&self, cycle: Duration) -> Daemon {
        let config = self.home().join("upstreamd.toml");
        fs_err::write(&config, format!("cycle = \"{cycle:?}\"\n")).unwrap();
        let mut command = self.upstreamd(&["run", "--config"]);
        command.arg(config).stdout(Stdio::null()).stderr(Stdio::null());
        Daemon(command.spawn().unwrap())
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.home().join(".openclaw/state/openclaw.sqlite")
    }

    /// The gateway's database, for reading.
    pub(crate) fn read(&self) -> Connection {
        Connection::open_with_flags(self.database(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
    }

    /// A new session with a row in it.
    pub(crate) fn session(&self) -> Session {
        self.session_in(self.home())
    }

    /// A new session in another home.
    pub(crate) fn session_in(&self, home: &Path) -> Session {
        let thread = format!("3f6b0a52-7c1d-4e8e-9a51-{:012}", self.number());
        let file = home.join(format!(".claude/projects/-home-me-proj/{thread}.jsonl"));
        let session = Session { thread, file };
        session.append(&[&self.typed(&session)]);
        session
    }

    fn number(&self) -> u32 {
        self.rows.replace(self.rows.get() + 1)
    }

    /// A row of a session, with these members.
    pub(crate) fn row(&self, session: &Session, more: &str) -> String {
        let at = humantime::format_rfc3339_millis(SystemTime::now());
        format!(
            r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/home/me/proj","sessionId":"{}","version":"2.1.332","uuid":"00000000-0000-4000-8000-{:012}","timestamp":"{at}",{more}}}"#,
            session.thread,
            self.number(),
        )
    }

    /// What a person typed.
    pub(crate) fn typed(&self, session: &Session) -> String {
        self.row(
            session,
            r#""type":"user","entrypoint":"cli","origin":{"kind":"human"},"promptSource":"typed","turnOrigin":"human","message":{"role":"user","content":"mend the tests"}"#,
        )
    }
}

/// A program in a home, which knows of nothing else.
pub(crate) fn program(name: &Path, home: &Path) -> Command {
    let mut command = Command::new(name);
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("TMPDIR", home.join("tmp"))
        .env("CLAUDE_CONFIG_DIR", home.join(".claude"))
        .env("XDG_RUNTIME_DIR", home.join("tmp"))
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

impl Session {
    /// Writes rows behind what is there, at once.
    pub(crate) fn append(&self, rows: &[&str]) {
        let mut file =
            fs_err::OpenOptions::new().create(true).append(true).open(&self.file).unwrap();
        let mut text = rows.join("\n");
        text.push('\n');
        file.write_all(text.as_bytes()).unwrap();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Our daemon.
pub(crate) struct Daemon(Child);

impl Daemon {
    /// Ends it at whatever it does.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have been killed.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Waits until something is so that no event tells.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(150), "never: {what}");
        sleep(LOOK);
    }
}
