// Drives the gateway's own check of Claude Code's transcripts, and prints the seconds that it took.
// usage: node gateway.mjs OPENCLAW_FOLDER idle FOLDER   every transcript below it once, nothing new
//        node gateway.mjs OPENCLAW_FOLDER scan FILE     from its start, window after window
import { closeSync, openSync, readFileSync, readSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const NAME = "checkClaudeUpstreamActivity";
const [folder, what, target] = process.argv.slice(2);

// The bundle exports functions under short names, which the file that defines one lists at its end.
async function load() {
  const dist = path.join(folder, "dist");
  for (const file of readdirSync(dist)) {
    if (!/\.m?js$/.test(file)) continue;
    const text = readFileSync(path.join(dist, file), "utf8");
    if (!text.includes(`function ${NAME}(`)) continue;
    const names = /export \{([^}]*)\};?\s*$/.exec(text)?.[1].split(",").map((s) => s.trim());
    const found = names?.find((s) => s === NAME || s.startsWith(`${NAME} as `));
    if (!found) continue;
    const module = await import(pathToFileURL(path.join(dist, file)).href);
    const check = module[found.split(" as ").at(-1)];
    if (typeof check === "function") return check;
  }
  throw new Error(`nothing below ${dist} exports ${NAME}`);
}

const probe = (filePath, offset, n = 0) => ({
  sessionKey: `agent:main:k${n}`,
  agentId: "main",
  threadId: `t${n}`,
  hostId: "gateway:local",
  upstreamKind: "claude-cli",
  upstreamRef: { filePath },
  marker: { offset },
  ownRecentUserTexts: Array.from({ length: 10 }, (_, i) => `own text ${i}`),
});

// Where the next row begins; the end of the file where there is none.
function rowAfter(file, offset) {
  const handle = openSync(file, "r");
  const buffer = Buffer.alloc(1 << 20);
  for (let read; (read = readSync(handle, buffer, 0, buffer.length, offset)) > 0; offset += read) {
    const at = buffer.subarray(0, read).indexOf(10);
    if (at >= 0) {
      offset += at + 1;
      break;
    }
  }
  closeSync(handle);
  return offset;
}

async function scan(check) {
  const size = statSync(target).size;
  const began = performance.now();
  let offset = 0;
  while (offset < size) {
    const [outcome] = await check([probe(target, offset)]);
    const next = outcome?.nextMarker?.offset;
    // At a row over 1 MiB the gateway stays for ever: it is helped over.
    offset = next > offset ? next : rowAfter(target, offset);
  }
  return (performance.now() - began) / 1000;
}

async function idle(check) {
  const files = readdirSync(target, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
  const paths = files.map((name) => path.join(target, name));
  const probes = paths.map((file, n) => probe(file, statSync(file).size, n));
  await check(probes);
  const began = process.cpuUsage();
  await check(probes);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}

const check = await load();
process.stdout.write(`${await (what === "scan" ? scan : idle)(check)}\n`, () => process.exit(0));
