#!/usr/bin/env bash
# The whole job on a made-up session in a temporary home: adopt it, type into it, see the one event,
# be told as a watcher, delete it. Touches nothing else.
# usage: docs/tour.sh            builds upstreamd with cargo
#        UPSTREAMD=PATH docs/tour.sh   takes a program that is there
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${UPSTREAMD:-}" ]; then
  cargo build --quiet --locked
  target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
  UPSTREAMD=$target/debug/upstreamd
fi
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
project=$home/.claude/projects/-home-me-tour
session=8d5c1f6e-2b7a-4c55-9a30-5e2f4f0a7c01
mkdir -p "$project"

# Appends a user row as Claude Code writes it; the arguments are its number and its other fields.
row() {
  printf '{"type":"user","uuid":"00000000-0000-4000-8000-%012d","sessionId":"%s","timestamp":"%s","version":"2.1.332",%s}\n' \
    "$1" "$session" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" "$2" >>"$project/$session.jsonl"
}
typed='"origin":{"kind":"human"},"promptSource":"typed","message":{"role":"user","content":"Use the other branch."}'
notice='"origin":{"kind":"task-notification"},"message":{"role":"user","content":"<task-notification>done</task-notification>"}'
result='"toolUseResult":{},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}'

run() {
  printf '$ upstreamd %s\n' "$*"
  env -i HOME="$home" PATH="$PATH" XDG_RUNTIME_DIR="$home/run" "$UPSTREAMD" "$@"
  printf '\n'
}
say() { printf '# %s\n' "$*"; }

say "A session with one typed row. Adopting it makes that row history."
row 1 "$typed"
run adopt "$session"
run watch add agent:main:main "$session"
say "A program writes, a person types, a tool answers, the person types again."
row 2 "$notice"
row 3 "$typed"
row 4 "$result"
row 5 "$typed"
run once
say "Nothing is recorded twice."
run once
say "The watcher is told once, and asks what changed."
run notices agent:main:main --ack
run notices agent:main:main
run status "$session" --changes-since 1
say "The transcript is deleted; three looks in a row make sure."
rm "$project/$session.jsonl"
run once >/dev/null
run once >/dev/null
run once
run events
