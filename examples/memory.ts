// Notes that outlive a conversation. The app adds the first note. The model adds, finds and deletes notes. A new
// process still has them.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "bowline";
import { memory } from "bowline/plugins/memory";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, scripted } from "bowline/testing";

const folder = await mkdtemp(join(tmpdir(), "bowline-"));
const model = scripted(
  both(
    calls("remember", { note: "Is vegan.", topic: "food" }),
    calls("remember", { note: "Likes soup.", topic: "food" }),
  ),
  says("Noted."),
  calls("recall", { query: "vegan" }),
  calls("forget", { id: "m2" }),
  says("Then bread is fine."),
);
const open = () => createRuntime({ store: sqlite(join(folder, "agent.db")), model, plugins: [memory] });

const first = await open();
const ann = await first.session("ann");
await ann.command(memory, "add", { note: "Is called Ann.", isPinned: true });
await ann.turn("I am vegan and like soup.").result();
await first.close();

const later = await open();
const session = await later.session("ann");
await session.turn("I am not vegan any more. Is bread fine?").result();
const texts = model.requests.map(({ messages }) => messages.at(-1)?.parts[0]);
console.log(texts.at(-1));
assert.deepEqual(texts[2], {
  kind: "text",
  text: "## Memory\n\n- m1: Is called Ann.\n- m2 (food): Is vegan.\n- m3 (food): Likes soup.",
});
const notes = await session.query(memory, "list");
assert.deepEqual(
  notes.map(({ id, note }) => [id, note]),
  [
    ["m1", "Is called Ann."],
    ["m3", "Likes soup."],
  ],
);
await later.close();
await rm(folder, { recursive: true });
