//! The gateway's own check over the same files, where an installed openclaw is named.

use crate::home::Home;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/gateway.mjs");

pub(crate) struct Gateway {
    folder: PathBuf,
}

impl Gateway {
    /// The folder that `UPSTREAMD_BENCH_GATEWAY` names.
    pub(crate) fn from_environment() -> Option<Self> {
        let folder = std::env::var_os("UPSTREAMD_BENCH_GATEWAY").filter(|name| !name.is_empty())?;
        Some(Self { folder: std::path::absolute(folder).unwrap() })
    }

    /// One check of each file below a home, none of which has anything new; time on a core.
    pub(crate) fn idle(&self, home: &Home) -> Duration {
        self.drive(home, "idle", &home.path().join(".claude/projects"))
    }

    /// Reading a file from its start, in as many checks as it takes; on the clock.
    pub(crate) fn scan(&self, home: &Home, file: &Path) -> Duration {
        self.drive(home, "scan", file)
    }

    /// Start-up is not measured: the driver prints what the check itself took.
    fn drive(&self, home: &Home, what: &str, target: &Path) -> Duration {
        let output = Command::new("node")
            .arg(DRIVER)
            .arg(&self.folder)
            .arg(what)
            .arg(target)
            .env("HOME", home.path())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the gateway's check: {error}");
        let seconds: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        Duration::try_from_secs_f64(seconds).unwrap()
    }
}
