// Notes of one session: stores, shows and recalls them.
// Not its job: notes that sessions share.
//
// notes-1: An id is never used twice, so that a model cannot delete a wrong note.
// notes-2: The same note is stored only once, because a call can run again and a model can repeat itself.
// notes-3: The shown and recalled text is limited in bytes, however many notes there are.
import {
  definePlugin,
  described,
  type Fields,
  hasCode,
  jsonSchema,
  optionsSchema,
  type StateCell,
  ToolError,
} from "../plugin.ts";
import { RECALLED_MAX, TEXTS, TOPIC_CHARS_MAX } from "./memory/texts.ts";

export interface MemoryOptions {
  /** How many notes a session can have. Default 200. */
  readonly notesMax?: number | undefined;
  /** The maximum length of a note, in bytes. Default 2000. */
  readonly noteBytesMax?: number | undefined;
  /**
   * The maximum length of all notes in the prompt, in bytes. Default 4000. With 0 the prompt has no notes, and the
   * model must call `recall`.
   */
  readonly promptBytesMax?: number | undefined;
}

export interface MemoryNote {
  /** `m1`, `m2`, …: never used again in this session, even after the note is deleted. */
  readonly id: string;
  readonly note: string;
  readonly topic?: string;
  /** When the note was made, in milliseconds since 1970. */
  readonly at: number;
  /** Pinned notes get their place in the prompt first. */
  readonly isPinned?: true;
}
export interface MemoryInput {
  readonly note: string;
  readonly topic?: string | undefined;
  readonly isPinned?: boolean | undefined;
}
interface RecalledNote {
  readonly id: string;
  readonly topic?: string;
  readonly note: string;
  readonly at: string;
}
export interface MemoryRecalled {
  /** The best match first. */
  readonly notes: readonly RecalledNote[];
  readonly hint?: string;
}

const RECALLED_BYTES_MAX = 16_384;

/**
 * Lets the model store notes that stay after a compaction. The prompt shows the newest, within a limit. `recall` finds
 * all of them by their words.
 */
export const memory = definePlugin({
  id: "bowline/memory",
  options: optionsSchema<MemoryOptions, Settings>(settingsOf),
  state: optionsSchema<unknown, MemoryState>(stateOf),
  setup: ({ options, tool, query, command }) => ({
    prompt: ({ state }) => [
      { slot: "guidance", text: TEXTS.guidance, tools: ["remember"] },
      // Volatile, although notes rarely change, because a change of the system prompt would void the provider's cache
      // of the whole conversation.
      { slot: "context", title: "Memory", text: shown(state.get().notes, options.promptBytesMax), isVolatile: true },
    ],
    tools: [
      tool({
        name: "remember",
        path: "memory.remember",
        description: TEXTS.remember,
        input: rememberInput(options.noteBytesMax),
        writes: true,
        execute: async (given, { state, once }) => {
          const note = worded(given, options);
          // `once` keeps the time after a crash, so that a second run does not change the date of the note.
          const at = await once("at", () => Date.now());
          const { id, isNew } = keep(state, note, at, options);
          return isNew ? TEXTS.saved(id) : TEXTS.savedBefore(id);
        },
      }),
      tool({
        name: "forget",
        path: "memory.forget",
        description: TEXTS.forget,
        input: FORGET,
        writes: true,
        execute: ({ id }, { state }) => {
          if (drop(state, id)) return TEXTS.forgotten(id);
          throw new ToolError("memory.unknown", `${TEXTS.unknownNote(id)} ${idsOf(state.get().notes)}`, {
            class: "arguments",
          });
        },
      }),
      tool({
        name: "recall",
        path: "memory.recall",
        description: TEXTS.recall,
        input: RECALL,
        execute: (asked, { state }): MemoryRecalled => recall(state.get().notes, asked),
      }),
    ],
    operations: {
      list: query({
        description: "All notes, oldest first.",
        run: ({ state }): readonly MemoryNote[] => state.get().notes,
      }),
      add: command({
        description: "Keeps a note. One that is there already is not kept twice.",
        input: ADD,
        run: ({ input, state }): { readonly id: string; readonly isNew: boolean } =>
          keep(state, worded(input, options), Date.now(), options),
      }),
      remove: command({
        description: "Drops a note by its id.",
        input: REMOVE,
        run: ({ input: { id }, state }): { readonly isRemoved: boolean } => ({ isRemoved: drop(state, id) }),
      }),
    },
  }),
});

// ── Keeping ─────────────────────────────────────────────────────────────────────────────────────────────────────────

interface MemoryState {
  /** Oldest first. */
  readonly notes: readonly MemoryNote[];
  /** How many notes were ever made, deleted ones included, so that no id is used twice. */
  readonly made: number;
}
type Worded = Omit<MemoryNote, "id" | "at">;

function worded({ note, topic, isPinned }: MemoryInput, { noteBytesMax }: Settings): Worded {
  const words = note.trim();
  if (words === "") throw new ToolError("memory.note", TEXTS.noNote, { class: "arguments" });
  const bytes = Buffer.byteLength(words);
  if (bytes > noteBytesMax)
    throw new ToolError("memory.too-long", TEXTS.noteTooLong(bytes, noteBytesMax), { class: "arguments" });
  const about = topic?.replace(/\s+/gu, " ").trim() ?? "";
  return { note: words, ...(about === "" ? {} : { topic: about }), ...(isPinned === true ? { isPinned } : {}) };
}

function keep(
  state: StateCell<MemoryState>,
  given: Worded,
  at: number,
  { notesMax }: Settings,
): { readonly id: string; readonly isNew: boolean } {
  const { notes, made } = state.get();
  const same = notes.find(({ note, topic }) => note === given.note && topic === given.topic);
  if (same !== undefined) {
    if (given.isPinned === true && same.isPinned !== true)
      update(state, { made, notes: notes.map((each) => (each === same ? { ...same, isPinned: true } : each)) });
    return { id: same.id, isNew: false };
  }
  if (notes.length >= notesMax) throw full(notes.length);
  const id = `m${made + 1}`;
  update(state, { notes: [...notes, { id, ...given, at }], made: made + 1 });
  return { id, isNew: true };
}

/** The runtime limits states by `limits.stateBytesMax`. The model reads that there are too many notes. */
function update(state: StateCell<MemoryState>, next: MemoryState): void {
  try {
    state.update(() => next);
  } catch (error) {
    throw hasCode(error, "state.too-large") ? full(state.get().notes.length) : error;
  }
}

const full = (count: number): ToolError => new ToolError("memory.full", TEXTS.full(count), { class: "limit" });

function drop(state: StateCell<MemoryState>, id: string): boolean {
  const { notes, made } = state.get();
  const left = notes.filter((note) => note.id !== id);
  if (left.length === notes.length) return false;
  state.update(() => ({ notes: left, made }));
  return true;
}

function idsOf(notes: readonly MemoryNote[]): string {
  if (notes.length === 0) return TEXTS.noNotes;
  const last = notes.slice(-20).map(({ id }) => id);
  return notes.length > last.length ? TEXTS.newestNotes(last.join(", ")) : TEXTS.allNotes(last.join(", "));
}

// ── Showing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const REST_BYTES = 64;

/** Pinned notes get room first, then the newest. The selected notes are shown oldest first. */
function shown(notes: readonly MemoryNote[], bytesMax: number): string {
  const lines = new Map<MemoryNote, string>();
  let room = bytesMax - REST_BYTES;
  for (const note of notes.toReversed().sort((a, b) => Number(b.isPinned ?? false) - Number(a.isPinned ?? false))) {
    const line = lineOf(note);
    const bytes = Buffer.byteLength(line) + 1;
    if (bytes > room) continue; // Not `break`: a shorter note may still fit.
    room -= bytes;
    lines.set(note, line);
  }
  const rest = notes.length - lines.size;
  return [
    ...notes.flatMap((note) => lines.get(note) ?? []),
    ...(rest > 0 && bytesMax >= REST_BYTES ? [TEXTS.moreNotes(rest)] : []),
  ].join("\n");
}

/** The later lines of a note are indented, so that no line looks like another note. */
const lineOf = ({ id, topic, note }: MemoryNote): string =>
  `- ${id}${topic === undefined ? "" : ` (${topic})`}: ${note.replace(/\r\n|[\n\r\u2028\u2029]/gu, "\n  ")}`;

// ── Recalling ───────────────────────────────────────────────────────────────────────────────────────────────────────

function recall(notes: readonly MemoryNote[], { query = "", topic }: RecallInput): MemoryRecalled {
  const about = topic === undefined ? "" : plain(topic.replace(/\s+/gu, " ").trim());
  const asked = wordsOf(query);
  const ranked = notes
    .toReversed()
    .filter((each) => about === "" || plain(each.topic ?? "") === about)
    .map((note) => ({ note, score: scoreOf(note, asked) }))
    .filter(({ score }) => score > 0 || asked.size === 0)
    .sort((a, b) => b.score - a.score);
  const picked: RecalledNote[] = [];
  let room = RECALLED_BYTES_MAX;
  for (const { note } of ranked.slice(0, RECALLED_MAX)) {
    const each = recalled(note);
    room -= Buffer.byteLength(JSON.stringify(each));
    if (room < 0 && picked.length > 0) break;
    picked.push(each);
  }
  const hint = hintOf(notes, picked.length, ranked.length);
  return { notes: picked, ...(hint === undefined ? {} : { hint }) };
}

const recalled = ({ id, topic, note, at }: MemoryNote): RecalledNote => ({
  id,
  ...(topic === undefined ? {} : { topic }),
  note,
  at: new Date(at).toISOString(),
});

function hintOf(notes: readonly MemoryNote[], shown: number, fit: number): string | undefined {
  if (shown < fit) return TEXTS.moreFit(fit - shown);
  if (fit > 0) return undefined;
  if (notes.length === 0) return TEXTS.nothingSaved;
  const topics = [...new Set(notes.toReversed().flatMap(({ topic }) => topic ?? []))];
  const none = TEXTS.noMatch(notes.length);
  return topics.length === 0 ? none : `${none} ${TEXTS.topics(topics.slice(0, 20).join(", "))}`;
}

function scoreOf({ note, topic = "" }: MemoryNote, asked: ReadonlySet<string>): number {
  if (asked.size === 0) return 0;
  const words = wordsOf(`${topic} ${note}`);
  return [...asked].filter((word) => words.has(word)).length;
}

const plain = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();

let segmenter: Intl.Segmenter | undefined;
/** A segmenter, because Chinese, Japanese and Thai have no spaces between words. */
function wordsOf(text: string): ReadonlySet<string> {
  segmenter ??= new Intl.Segmenter("en", { granularity: "word" });
  const words = new Set<string>();
  for (const { segment, isWordLike } of segmenter.segment(plain(text))) if (isWordLike === true) words.add(segment);
  return words;
}

// ── Inputs, options and state ───────────────────────────────────────────────────────────────────────────────────────

interface RecallInput {
  readonly query?: string;
  readonly topic?: string;
}
const TOPIC = { type: "string", maxLength: TOPIC_CHARS_MAX };
const rememberInput = (noteBytesMax: number) =>
  jsonSchema<Omit<MemoryInput, "isPinned">>({
    type: "object",
    properties: {
      note: { type: "string", minLength: 1, description: TEXTS.note(noteBytesMax) },
      topic: { ...TOPIC, description: TEXTS.topic },
    },
    required: ["note"],
    additionalProperties: false,
  });
const ID = {
  type: "object",
  properties: { id: { type: "string", maxLength: 64, description: TEXTS.id } },
  required: ["id"],
  additionalProperties: false,
};
const FORGET = jsonSchema<{ readonly id: string }>(ID);
const RECALL = jsonSchema<RecallInput>({
  type: "object",
  properties: {
    query: { type: "string", maxLength: 1_000, description: TEXTS.query },
    topic: { ...TOPIC, description: TEXTS.onlyTopic },
  },
  additionalProperties: false,
});

// `optionsSchema` and not `jsonSchema`, because operations need a synchronous schema.
const ADD = described(optionsSchema<MemoryInput>(addedOf), {
  type: "object",
  properties: { note: { type: "string", minLength: 1 }, topic: TOPIC, isPinned: { type: "boolean" } },
  required: ["note"],
  additionalProperties: false,
});
const REMOVE = described(
  optionsSchema<{ readonly id: string }>((given) => {
    given.only("id");
    return { id: given.text("id") };
  }),
  ID,
);

interface Settings {
  readonly notesMax: number;
  readonly noteBytesMax: number;
  readonly promptBytesMax: number;
}

function settingsOf(given: Fields): Settings {
  given.only("notesMax", "noteBytesMax", "promptBytesMax");
  return {
    notesMax: given.whole("notesMax", { min: 1, max: 10_000 }, 200),
    noteBytesMax: given.whole("noteBytesMax", { min: 1, max: 65_536 }, 2_000),
    promptBytesMax: given.whole("promptBytesMax", { max: 65_536 }, 4_000),
  };
}

function addedOf(given: Fields): MemoryInput {
  given.only("note", "topic", "isPinned");
  const topic = given.text("topic", undefined);
  if (topic !== undefined && [...topic].length > TOPIC_CHARS_MAX)
    throw given.wrong(`must have at most ${TOPIC_CHARS_MAX} characters`, "topic");
  return {
    note: given.text("note"),
    ...(topic === undefined ? {} : { topic }),
    isPinned: given.flag("isPinned", false),
  };
}

function stateOf(given: Fields): MemoryState {
  return { notes: given.objects("notes", noteOf, []), made: given.whole("made", {}, 0) };
}

function noteOf(given: Fields): MemoryNote {
  const topic = given.text("topic", undefined);
  return {
    id: given.text("id"),
    note: given.text("note"),
    ...(topic === undefined ? {} : { topic }),
    ...(given.flag("isPinned", false) ? { isPinned: true } : {}),
    at: given.whole("at"),
  };
}
