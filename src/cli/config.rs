//! `config check`, `config show`, `config default`.

use super::table::{Align, Table, sanitise};
use crate::config::{DEFAULT_FILE, Environment, KEYS, Loaded, Origin, Overrides, load};
use crate::error::Result;
use clap::Subcommand;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What to do with the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(super) enum ConfigCommand {
    /// Say whether the configuration can be followed; exit code 2 if not
    Check,
    /// Show each key, its value, and who set it
    Show,
    /// Print a configuration file that holds every default, with explanations
    Default,
}

/// What `config` prints, each line ended.
pub(super) fn run(
    command: ConfigCommand,
    is_json: bool,
    overrides: &Overrides,
    env: &Environment,
) -> Result<String> {
    Ok(match (command, is_json) {
        (ConfigCommand::Default, _) => DEFAULT_FILE.to_owned(),
        (ConfigCommand::Check, false) => check(&load(overrides, env)?),
        (ConfigCommand::Check, true) => format!("{}\n", places(&load(overrides, env)?)),
        (ConfigCommand::Show, false) => show(&load(overrides, env)?),
        (ConfigCommand::Show, true) => {
            let loaded = load(overrides, env)?;
            format!("{}\n", json!({ "config": values(&loaded), "places": places(&loaded) }))
        }
    })
}

/// Says in words that all is well.
fn check(loaded: &Loaded) -> String {
    let mut text = "The configuration is good.\n".to_owned();
    let mut line = |what: &str, name: &str| {
        let written = writeln!(text, "  {what}{}", sanitise(name));
        debug_assert!(written.is_ok(), "writing to a String does not fail");
    };
    if loaded.files.is_empty() {
        line("no configuration file", "");
    }
    for file in &loaded.files {
        line("read ", &file.to_string_lossy());
    }
    for variable in &loaded.ignored_variables {
        line("ignored a variable that is no key: ", variable);
    }
    line("state folder ", &loaded.state_dir.to_string_lossy());
    let of = if loaded.store.is_gateway() { "the gateway's" } else { "our own" };
    line("signal log ", &format!("{} ({of})", loaded.store.path().to_string_lossy()));
    text
}

/// The table of keys for people.
fn show(loaded: &Loaded) -> String {
    let mut table =
        Table::new(&[("KEY", Align::Left), ("VALUE", Align::Left), ("SET BY", Align::Left)]);
    for key in KEYS {
        let origin = match loaded.origins.get(key.name) {
            None | Some(Origin::Default) => "default".to_owned(),
            Some(Origin::File(path)) => path.display().to_string(),
            Some(Origin::Variable(name)) => format!("${name}"),
            Some(Origin::Flag(flag)) => (*flag).to_owned(),
        };
        table.row(vec![key.name.to_owned(), key.show(&loaded.settings).to_string(), origin]);
    }
    table.render()
}

/// The same for machines; a value has the form that it has in a file.
fn values(loaded: &Loaded) -> Vec<Value> {
    let keys = KEYS.iter().map(|key| {
        let (origin, from) = match loaded.origins.get(key.name) {
            None | Some(Origin::Default) => ("default", None),
            Some(Origin::File(path)) => ("file", Some(path.to_string_lossy())),
            Some(Origin::Variable(name)) => ("variable", Some(name.into())),
            Some(Origin::Flag(flag)) => ("flag", Some((*flag).into())),
        };
        let value = key.show(&loaded.settings);
        json!({ "key": key.name, "value": value, "origin": origin, "from": from })
    });
    keys.collect()
}

/// What was read, what was not, and where our folders are.
fn places(loaded: &Loaded) -> Value {
    let files: Vec<_> = loaded.files.iter().map(|file| file.to_string_lossy()).collect();
    json!({
        "files": files,
        "ignoredVariables": loaded.ignored_variables,
        "stateDir": loaded.state_dir.to_string_lossy(),
        "runtimeDir": loaded.runtime_dir.to_string_lossy(),
        "openclawDir": loaded.openclaw.as_ref().map(|folder| folder.path().to_string_lossy()),
        "store": loaded.store.word(),
        "signalLog": loaded.store.path().to_string_lossy(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A made-up machine on which there is no file but the one of fixtures.
    fn print(command: ConfigCommand, is_json: bool, config: Option<&str>) -> Result<String> {
        let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/config");
        let variables = [("UPSTREAMD_MISSES", "5"), ("UPSTREAMD_PORT", "tcp://10.0.0.1:80")];
        let env = Environment {
            variables: variables.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
            home: Some("/home/me".into()),
            working: fixtures.clone(),
            uid: 1000,
            etc: "/nowhere".into(),
            run_user: "/nowhere".into(),
            temp: "/tmp".into(),
        };
        let overrides = Overrides {
            config: config.map(PathBuf::from),
            claude_dirs: vec!["/srv/claude".into(), "/srv/\u{7}x".into()],
            ..Overrides::default()
        };
        let text = run(command, is_json, &overrides, &env)?;
        let text = text.replace(&format!("{}/", fixtures.display()), "");
        Ok(anstream::adapter::strip_str(&text).to_string())
    }

    #[test]
    fn show_tells_each_value_and_its_origin() {
        let text = print(ConfigCommand::Show, false, Some("valid/durations.toml")).unwrap();
        insta::assert_snapshot!("show", text);
        let json = print(ConfigCommand::Show, true, Some("valid/durations.toml")).unwrap();
        insta::assert_snapshot!("show_json", json);
    }

    #[test]
    fn check_tells_what_was_read() {
        let text = print(ConfigCommand::Check, false, Some("valid/durations.toml")).unwrap();
        let wanted = "The configuration is good.\n  read valid/durations.toml\n  ignored a variable \
                      that is no key: UPSTREAMD_PORT\n  state folder \
                      /home/me/.local/state/upstreamd\n  signal log \
                      /home/me/.local/state/upstreamd/signal.sqlite (our own)\n";
        assert_eq!(text, wanted);
        let json = print(ConfigCommand::Check, true, None).unwrap();
        let wanted = r#"{"files":[],"ignoredVariables":["UPSTREAMD_PORT"],"stateDir":"/home/me/.local/state/upstreamd","runtimeDir":"/tmp/upstreamd-1000","openclawDir":"/home/me/.openclaw","store":"embedded","signalLog":"/home/me/.local/state/upstreamd/signal.sqlite"}"#;
        assert_eq!(json.trim_end(), wanted);
        let error =
            print(ConfigCommand::Check, false, Some("invalid/unknown-key.toml")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn default_is_the_commented_file() {
        let text = print(ConfigCommand::Default, true, None).unwrap();
        assert_eq!(text, include_str!("../../config/upstreamd.toml"));
    }
}
