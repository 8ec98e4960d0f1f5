//! Commands around the daemon: what there is, and what a shell needs.

use crate::world::World;
use std::process::{Command, Stdio};

#[test]
fn completions_are_printed_for_each_shell_whatever_the_configuration() {
    let world = World::new();
    std::fs::create_dir_all(world.path().join(".config/upstreamd")).unwrap();
    std::fs::write(world.path().join(".config/upstreamd/config.toml"), "broken").unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.run(&["completions", shell]);
        assert!(script.contains("classify") && script.contains("--follow"), "{shell}");
    }
    let script = world.run(&["completions", "bash"]);
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut bash.stdin.take().unwrap(), script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
    assert_eq!(world.fail(&["completions", "cmd"]).0, 2);
}
