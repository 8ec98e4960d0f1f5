//! The packages from npm: OpenClaw, and the Node that it runs on.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The release whose rules this program knows.
const OPENCLAW: &str = "openclaw@2026.9.6";
const NODE: &str = "node@24";

/// Where they are.
pub(crate) struct Packages {
    /// The program `node`.
    pub(crate) node: PathBuf,
    /// The folder of the package.
    pub(crate) openclaw: PathBuf,
}

impl Packages {
    /// Installs what is missing; why not, where there is no npm.
    pub(crate) fn install() -> Result<Self, String> {
        let folder = std::env::var_os("UPSTREAMD_INTEROP_DIR")
            .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop"), PathBuf::from);
        let node = package(&folder.join("node-24"), NODE, &[])?;
        // The gateway runs without what its dependencies would build.
        let gateway = package(&folder.join("openclaw-2026.9.6"), OPENCLAW, &["--ignore-scripts"])?;
        Ok(Self {
            node: node.join("node_modules/.bin/node"),
            openclaw: gateway.join("node_modules/openclaw"),
        })
    }
}

/// A folder with a package; its mark is written last, so that half an installation is none.
fn package(folder: &Path, name: &str, options: &[&str]) -> Result<PathBuf, String> {
    let mark = folder.join("installed");
    if mark.exists() {
        return Ok(folder.to_owned());
    }
    if folder.exists() {
        fs_err::remove_dir_all(folder).unwrap();
    }
    fs_err::create_dir_all(folder).unwrap();
    fs_err::write(folder.join("package.json"), "{\"private\":true}").unwrap();
    let npm = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error", name])
        .args(options)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm does not start ({error})"))?;
    assert!(
        npm.status.success(),
        "npm does not install {name}: {}",
        String::from_utf8_lossy(&npm.stderr).trim()
    );
    fs_err::write(mark, "").unwrap();
    Ok(folder.to_owned())
}
