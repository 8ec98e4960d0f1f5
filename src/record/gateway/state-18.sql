-- What OpenClaw 2026.9.6 has in its state database of what we touch (user_version 18); for tests.
CREATE TABLE session_state_events (sequence INTEGER PRIMARY KEY AUTOINCREMENT, dedupe_key TEXT UNIQUE, session_key TEXT NOT NULL, session_id TEXT, agent_id TEXT NOT NULL, kind TEXT NOT NULL, actor_type TEXT NOT NULL, actor_id TEXT, run_id TEXT, occurred_at INTEGER NOT NULL, summary TEXT NOT NULL, payload_json TEXT) STRICT;
CREATE INDEX idx_session_state_events_session_sequence ON session_state_events(session_key, sequence DESC);
CREATE INDEX idx_session_state_events_time ON session_state_events(occurred_at DESC, sequence DESC);
CREATE TABLE session_state_heads (session_key TEXT NOT NULL, agent_id TEXT NOT NULL, last_sequence INTEGER NOT NULL, pruned_max_sequence INTEGER NOT NULL DEFAULT 0, updated_at INTEGER NOT NULL, PRIMARY KEY (session_key, agent_id)) STRICT;
CREATE TABLE session_watch_cursors (watcher_session_key TEXT NOT NULL, watcher_store_path TEXT, target_session_key TEXT NOT NULL, last_seen_sequence INTEGER NOT NULL DEFAULT 0, notified_sequence INTEGER NOT NULL DEFAULT 0, material_sequence INTEGER NOT NULL DEFAULT 0, provenance TEXT NOT NULL DEFAULT 'explicit' CHECK (provenance IN ('explicit','ambient-group')), updated_at INTEGER NOT NULL, PRIMARY KEY (watcher_session_key, target_session_key)) STRICT;
CREATE INDEX idx_session_watch_cursors_target ON session_watch_cursors(target_session_key);
CREATE TABLE session_upstream_links (session_key TEXT NOT NULL, agent_id TEXT NOT NULL, catalog_id TEXT NOT NULL, host_id TEXT NOT NULL, thread_id TEXT NOT NULL, upstream_kind TEXT NOT NULL, upstream_ref_json TEXT, last_marker_json TEXT, last_scanned_at INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (session_key, agent_id)) STRICT;
CREATE INDEX idx_session_upstream_links_catalog_id ON session_upstream_links(catalog_id);
CREATE TABLE schema_meta (meta_key TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, schema_version INTEGER NOT NULL, agent_id TEXT, app_version TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE config_machine_state (state_key TEXT NOT NULL PRIMARY KEY, value_json TEXT NOT NULL, updated_at_ms INTEGER NOT NULL) STRICT;
CREATE TABLE state_leases (scope TEXT NOT NULL, lease_key TEXT NOT NULL, owner TEXT NOT NULL, expires_at INTEGER, heartbeat_at INTEGER, payload_json TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (scope, lease_key)) STRICT;
CREATE TABLE agent_databases (agent_id TEXT NOT NULL, path TEXT NOT NULL, schema_version INTEGER NOT NULL, last_seen_at INTEGER NOT NULL, size_bytes INTEGER, PRIMARY KEY (agent_id, path)) STRICT;
INSERT INTO schema_meta VALUES ('primary', 'global', 18, NULL, '2026.9.6', 0, 0);
INSERT INTO config_machine_state VALUES ('plugins.installedIndex', '{"revision":1}', 0);
PRAGMA user_version = 18;
