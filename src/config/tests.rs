//! What a person can write, and what is made of it.

use super::*;
use std::ffi::OsString;

/// A made-up home in a folder that vanishes.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn env(&self, variables: &[(&str, &str)]) -> Environment {
        let pairs = variables.iter().map(|(k, v)| (OsString::from(k), OsString::from(v)));
        Environment {
            variables: pairs.collect(),
            home: Some(PathBuf::from("/home/me")),
            working: self.root.path().to_owned(),
            uid: rustix::process::geteuid().as_raw(),
            etc: self.root.path().join("etc"),
            run_user: self.root.path().join("run"),
            temp: self.root.path().join("tmp"),
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, text).unwrap();
        path
    }

    /// What this file makes of the defaults.
    fn load_text(&self, text: &str) -> Result<Loaded> {
        let config = Some(self.write("given.toml", text));
        load(&Overrides { config, ..Overrides::default() }, &self.env(&[]))
    }
}

fn defaults() -> Settings {
    defaults::settings(vec![PathBuf::from("/home/me/.claude")])
}

/// Name and text of each file of a folder of fixtures, and its first line without the `# `.
fn fixtures(folder: &str) -> Vec<(String, String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/config").join(folder);
    let mut all: Vec<_> = fs_err::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let text = fs_err::read_to_string(entry.path()).unwrap();
            let wanted = text.lines().next().and_then(|line| line.strip_prefix("# "));
            let wanted = wanted.unwrap_or_else(|| panic!("{name}: say in the first line"));
            assert!(Path::new(&name).extension().is_some_and(|e| e == "toml"), "{name}: no TOML");
            (name, wanted.to_owned(), text)
        })
        .collect();
    all.sort();
    assert!(!all.is_empty());
    all
}

#[test]
fn valid_files_change_what_their_first_line_says() {
    let place = Place::new();
    for (name, wanted, text) in fixtures("valid") {
        let loaded = place.load_text(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let defaults = defaults();
        let changed: Vec<_> = KEYS
            .iter()
            .filter(|key| key.show(&loaded.settings) != key.show(&defaults))
            .map(|key| format!("{} {}", key.name, key.show(&loaded.settings)))
            .collect();
        let changed =
            if changed.is_empty() { "nothing changes".to_owned() } else { changed.join("; ") };
        assert_eq!(changed, wanted, "{name}");
    }
}

#[test]
fn invalid_files_fail_with_what_their_first_line_says() {
    let place = Place::new();
    for (name, wanted, text) in fixtures("invalid") {
        let error = place.load_text(&text).expect_err(&name);
        assert_eq!(error.exit_code(), 2, "{name}");
        let message = error.to_string();
        let place = format!("{}:", place.root.path().join("given.toml").display());
        let rest = message.strip_prefix(&place).unwrap_or_else(|| panic!("{name}: {message}"));
        assert_eq!(rest, wanted, "{name}");
    }
}

/// The default file with the `#` taken from every line that holds a key.
fn uncommented() -> String {
    let lines = DEFAULT_FILE.lines().map(|line| match line.strip_prefix('#') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase()) => rest,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_default_file_is_the_defaults() {
    let place = Place::new();
    for text in [DEFAULT_FILE.to_owned(), uncommented()] {
        assert_eq!(place.load_text(&text).unwrap().settings, defaults());
    }
    let loaded = place.load_text(&uncommented()).unwrap();
    for key in KEYS {
        assert!(
            matches!(loaded.origins.get(key.name), Some(Origin::File(_))),
            "config/upstreamd.toml lacks {}",
            key.name
        );
    }
}

#[test]
fn what_is_shown_can_be_written() {
    let place = Place::new();
    let lines = KEYS.iter().map(|key| {
        let value = serde_json::to_string(&key.show(&defaults())).unwrap();
        format!("{} = {value}\n", key.name)
    });
    assert_eq!(place.load_text(&lines.collect::<String>()).unwrap().settings, defaults());
}

#[test]
fn later_sources_win_and_each_value_knows_its_own() {
    let place = Place::new();
    let etc = place.write(
        "etc/upstreamd/config.toml",
        "cycle = \"1min\"\nmisses = 4\nown_texts = 1\necho = \"compat\"",
    );
    let user = place
        .write("xdg/upstreamd/config.toml", "misses = 5\nown_texts = 2\nscan_window = \"1KiB\"");
    let given = place.write("given.toml", "own_texts = 3\nclaude_dirs = [\"/a\"]\ncycle = \"2s\"");
    let xdg = place.root.path().join("xdg");
    let variables =
        [("XDG_CONFIG_HOME", xdg.to_str().unwrap()), ("UPSTREAMD_CYCLE", "5s"), ("OTHER", "x")];
    let overrides = Overrides {
        config: Some("given.toml".into()),
        claude_dirs: vec!["/b".into(), "c".into(), "/b".into()],
        ..Overrides::default()
    };
    let loaded = load(&overrides, &place.env(&variables)).unwrap();
    assert_eq!(loaded.files, [etc.clone(), user.clone(), given.clone()]);
    let expected = Settings {
        claude_dirs: vec!["/b".into(), place.root.path().join("c")],
        cycle: Duration::from_secs(5),
        scan_window: 1024,
        misses: 5,
        echo: EchoMode::Compat,
        own_texts: 3,
        ..defaults()
    };
    assert_eq!(loaded.settings, expected);
    for (key, origin) in [
        ("claude_dirs", Origin::Flag("--claude-dir")),
        ("cycle", Origin::Variable("UPSTREAMD_CYCLE".to_owned())),
        ("scan_window", Origin::File(user.clone())),
        ("misses", Origin::File(user)),
        ("echo", Origin::File(etc)),
        ("own_texts", Origin::File(given)),
        ("retention", Origin::Default),
    ] {
        assert_eq!(loaded.origins[key], origin, "{key}");
    }
    assert_eq!(loaded.origins.len(), KEYS.len());
}

#[test]
fn variables_are_read_as_their_key_wants_them() {
    let place = Place::new();
    let env = place.env(&[
        ("UPSTREAMD_CLAUDE_DIRS", "~/.claude:/srv/claude"),
        ("UPSTREAMD_SCAN_WINDOW", "4096"),
        ("UPSTREAMD_MISSES", "7"),
        ("UPSTREAMD_RECORD_UNWATCHED", "false"),
        ("UPSTREAMD_CATCH_UP", "next_cycle"),
        ("UPSTREAMD_CYCLE", ""),
        ("UPSTREAMD_SERVICE_HOST", "10.0.0.1"),
        ("upstreamd_cycle", "1s"),
    ]);
    let loaded = load(&Overrides::default(), &env).unwrap();
    let expected = Settings {
        claude_dirs: vec!["/home/me/.claude".into(), "/srv/claude".into()],
        scan_window: 4096,
        misses: 7,
        record_unwatched: false,
        catch_up: CatchUp::NextCycle,
        ..defaults()
    };
    assert_eq!(loaded.settings, expected);
    assert_eq!(loaded.ignored_variables, ["UPSTREAMD_SERVICE_HOST"]);
}

#[test]
fn a_wrong_variable_is_an_error_that_names_it() {
    let place = Place::new();
    for (variable, value, wanted) in [
        (
            "UPSTREAMD_MISSES",
            "three",
            "$UPSTREAMD_MISSES: `misses` cannot be \"three\"; allowed: a whole number from 1 to 1000",
        ),
        (
            "UPSTREAMD_CYCEL",
            "5s",
            "$UPSTREAMD_CYCEL: there is no key `cycel`; did you mean UPSTREAMD_CYCLE?",
        ),
        (
            "UPSTREAMD_Cycle",
            "5s",
            "$UPSTREAMD_Cycle: there is no key `cycle`; did you mean UPSTREAMD_CYCLE?",
        ),
        (
            "UPSTREAMD_CLAUDE_DIRS",
            "here",
            "$UPSTREAMD_CLAUDE_DIRS: `claude_dirs` cannot be \"here\"; allowed: a list of one or \
             more folders, each absolute or beginning with \"~/\"",
        ),
    ] {
        let error = load(&Overrides::default(), &place.env(&[(variable, value)])).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.exit_code()), (wanted, 2));
    }
}

#[test]
fn the_file_that_is_asked_for_must_exist() {
    let place = Place::new();
    let overrides = Overrides { config: Some("none.toml".into()), ..Overrides::default() };
    let error = load(&overrides, &place.env(&[])).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("none.toml: no such file"), "{error}");
    let folder = Overrides { config: Some(".".into()), ..Overrides::default() };
    assert_eq!(load(&folder, &place.env(&[])).unwrap_err().exit_code(), 2);
}

#[test]
fn the_root_is_found_as_claude_code_finds_it() {
    let place = Place::new();
    let found = |variables: &[(&str, &str)]| {
        let loaded = load(&Overrides::default(), &place.env(variables)).unwrap();
        (loaded.settings.claude_dirs, loaded.origins["claude_dirs"].clone())
    };
    let variable = Origin::Variable("CLAUDE_CONFIG_DIR".to_owned());
    assert_eq!(found(&[]), (vec!["/home/me/.claude".into()], Origin::Default));
    assert_eq!(
        found(&[("CLAUDE_CONFIG_DIR", "")]),
        (vec!["/home/me/.claude".into()], Origin::Default)
    );
    assert_eq!(found(&[("CLAUDE_CONFIG_DIR", "/x")]), (vec!["/x".into()], variable.clone()));
    let literal = place.root.path().join("~/x");
    assert_eq!(found(&[("CLAUDE_CONFIG_DIR", "~/x")]), (vec![literal], variable));
}

#[test]
fn settings_without_a_home_need_folders() {
    let place = Place::new();
    let env = Environment { home: None, ..place.env(&[]) };
    let error = load(&Overrides::default(), &env).unwrap_err();
    assert!(error.to_string().contains("--state-dir"), "{error}");
    let overrides = Overrides { state_dir: Some("/s".into()), ..Overrides::default() };
    let loaded = load(&overrides, &env).unwrap();
    assert_eq!(loaded.settings.claude_dirs, Vec::<PathBuf>::new());
}

/// Which log holds, with `adopt` and `record_unwatched`.
fn chosen(loaded: &Loaded) -> (&str, PathBuf, Adopt, bool) {
    let Settings { adopt, record_unwatched, .. } = loaded.settings;
    (loaded.store.word(), loaded.store.path().to_owned(), adopt, record_unwatched)
}

#[test]
fn the_gateways_log_is_taken_where_there_is_one() {
    let place = Place::new();
    let folder = place.root.path().join("oc");
    let variables = [("OPENCLAW_STATE_DIR", folder.to_str().unwrap())];
    let own = PathBuf::from("/home/me/.local/state/upstreamd/signal.sqlite");
    let load_with = |store, variables: &[(&str, &str)]| {
        load(&Overrides { store, ..Overrides::default() }, &place.env(variables)).unwrap()
    };
    let alone = ("embedded", own, Adopt::Auto, true);
    assert_eq!(chosen(&load_with(None, &variables)), alone);
    // Forced, it need not be there yet.
    let database = folder.join("state/openclaw.sqlite");
    let beside = ("gateway", database.clone(), Adopt::Off, false);
    assert_eq!(chosen(&load_with(Some(StoreChoice::Gateway), &variables)), beside);
    fs_err::create_dir_all(database.parent().unwrap()).unwrap();
    fs_err::write(&database, "").unwrap();
    let loaded = load_with(None, &variables);
    assert_eq!(chosen(&loaded), beside);
    assert_eq!(loaded.origins["adopt"], Origin::Default);
    assert_eq!(chosen(&load_with(None, &[])), alone);
    let embedded = load_with(Some(StoreChoice::Embedded), &variables);
    assert_eq!(chosen(&embedded), alone);
    assert_eq!(embedded.origins["store"], Origin::Flag("--store"));
    // What somebody set holds, wherever the log is; so does what is accepted.
    let set = [
        variables[0],
        ("UPSTREAMD_RECORD_UNWATCHED", "true"),
        ("UPSTREAMD_ADOPT", "auto"),
        ("UPSTREAMD_ACCEPT_SCHEMA", "19"),
    ];
    let loaded = load_with(None, &set);
    assert_eq!(chosen(&loaded), ("gateway", database.clone(), Adopt::Auto, true));
    let store = GatewayStore { folder, database, accept: Some(19) };
    assert_eq!(loaded.store, Store::Gateway(store));
}

#[test]
fn a_gateway_that_is_named_and_not_there_is_an_error() {
    let place = Place::new();
    let named = |store, env: &Environment| {
        load(&Overrides { openclaw_dir: Some("oc".into()), store, ..Overrides::default() }, env)
    };
    let env = place.env(&[]);
    let error = named(None, &env).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("oc/state/openclaw.sqlite: no such file"), "{error}");
    assert!(named(Some(StoreChoice::Embedded), &env).is_ok());
    assert!(named(Some(StoreChoice::Gateway), &env).is_ok());
    let homeless = Environment { home: None, ..env };
    let overrides = Overrides {
        state_dir: Some("/s".into()),
        store: Some(StoreChoice::Gateway),
        ..Overrides::default()
    };
    let error = load(&overrides, &homeless).unwrap_err();
    assert!(error.to_string().contains("--openclaw-dir"), "{error}");
}
