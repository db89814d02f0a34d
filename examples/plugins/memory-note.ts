// Notes that outlive the context window. The model writes them, the prompt shows them, and a task merges them.
import assert from "node:assert/strict";
import { createRuntime, definePlugin, type Plugin } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, type Scripted, says, scripted } from "bowline/testing";
import { z } from "zod";

const Note = z.object({ about: z.string(), text: z.string().max(500) });

export const notes = definePlugin({
  id: "example/notes",
  version: "2",
  state: z.object({ notes: z.array(Note).default([]) }),
  // Version 1 stored a list of texts.
  migrate: (state) => ({ notes: (state as { notes: string[] }).notes.map((text) => ({ about: "user", text })) }),
  setup: ({ tool, task }) => ({
    tools: [
      tool({
        name: "remember",
        description: "Keeps a note for later turns.",
        input: Note,
        writes: true,
        execute: (note, { state }) => state.update((s) => ({ notes: [...s.notes, note] })),
      }),
    ],
    prompt: ({ state }) => state.get().notes.map(({ about, text }) => ({ slot: "context", text: `${about}: ${text}` })),
    operations: {
      condense: task({
        description: "Has the model put all notes into one.",
        run: async ({ state, complete, signal }) => {
          const all = state.get().notes.map(({ text }) => text);
          const text = await complete.text(`In one line:\n${all.join("\n")}`, { label: "notes", signal });
          state.update(() => ({ notes: [{ about: "user", text }] }));
          return all.length;
        },
      }),
    },
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

const old = definePlugin({
  id: "example/notes",
  state: z.object({ notes: z.array(z.string()).default([]) }),
  setup: () => ({ beforeTurn: ({ state }) => state.update(() => ({ notes: ["Is vegan."] })) }),
});
const store = memory();
const open = async (plugin: Plugin, model: Scripted) =>
  (await createRuntime({ store, model, plugins: [plugin] })).session("ann");
await (await open(old, scripted(says("Noted.")))).turn("I am vegan.").result();

const keeps = calls("remember", { about: "user", text: "Likes soup." });
const model = scripted(keeps, says("Kept."), says("Vegan, likes soup."), says("Soup!"));
const session = await open(notes, model);
await session.turn("I like soup.").result();
assert.equal((await session.task(notes, "condense")).output, 2); // One note of version 1, and one new note.
await (await session.fork()).turn("What shall I eat?").result(); // A fork has the notes. A new session does not.
assert.equal(model.requests.at(-1)?.system, "user: Vegan, likes soup.");
