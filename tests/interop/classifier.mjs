// Judges rows by the gateway's own classifier.
// node classifier.mjs PACKAGE ROWS ANSWERS: writes a JSON line for each line of the file of rows:
// [counts, time, text], or null where the classifier throws.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const NAME = "classifyClaudeCliHistoryLine";
const [folder, rows, written] = process.argv.slice(2);

// The bundle gives its functions short names; the export list of the file that defines one tells.
async function find(dist) {
  for (const name of fs.readdirSync(dist).filter((name) => /\.m?js$/.test(name))) {
    const source = fs.readFileSync(path.join(dist, name), "utf8");
    if (!source.includes(`function ${NAME}(`)) continue;
    const exported = new RegExp(`\\b${NAME}(?: as ([\\w$]+))?`);
    for (const list of source.matchAll(/export\s*\{([^}]*)\}/g)) {
      const found = exported.exec(list[1]);
      if (!found) continue;
      const module = await import(pathToFileURL(path.join(dist, name)).href);
      return module[found[1] ?? NAME];
    }
  }
  throw new Error(`nothing in ${dist} exports ${NAME}`);
}

const judge = await find(path.join(folder, "dist"));
const bytes = fs.readFileSync(rows);
let answers = [];
let from = 0;
for (let number = 1; from < bytes.length; number += 1) {
  const end = bytes.indexOf(10, from);
  const line = bytes.toString("utf8", from, end).replace(/\r$/, "");
  from = end + 1;
  let answer = null;
  try {
    const judged = judge({ line, cliSessionId: "session", sourceLineNumber: number });
    const counts = judged.humanTurn === true;
    answer = [counts, counts ? judged.occurredAt ?? null : null, counts ? judged.userText.toWellFormed() : null];
  } catch {
    // The gateway gives up on such a row.
  }
  answers.push(JSON.stringify(answer));
  if (answers.length === 10000) {
    fs.appendFileSync(written, answers.join("\n") + "\n");
    answers = [];
  }
}
if (answers.length > 0) fs.appendFileSync(written, answers.join("\n") + "\n");
process.exit(0);
