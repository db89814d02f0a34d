import { definePlugin, type Fields, jsonSchema, optionsSchema } from "../../plugin.ts";
import { fit, isSmall, MARKER, plainly } from "./fit.ts";
import { READ, TEXTS } from "./texts.ts";
import { characterAt, headEnd, type Keep, linesIn, type Room, startOfLine, textOf } from "./window.ts";

export interface OutputBudgetOptions {
  /** How many bytes of one text of a result are shown. Default 16384. */
  readonly bytesMax?: number | undefined;
  /** How many lines of one text of a result are shown. Default 400. */
  readonly linesMax?: number | undefined;
  /** Which end of a long text is shown, for all tools or by tool name. Default `head`, and `tail` for `shell`. */
  readonly keep?: Keep | { readonly [tool: string]: Keep } | undefined;
  /** How many texts and attachments of one result are shown. One line names the others. Default 32. */
  readonly partsMax?: number | undefined;
  /** How many long texts a session keeps for `read_output`. Above that number it drops the oldest. Default 100. */
  readonly keptMax?: number | undefined;
}

/**
 * Cuts long tool results, adds a line about the omitted part, and lets the model read the whole text page by page with
 * `read_output`.
 *
 * The whole text is a named blob of this plugin's state. So it is committed, restored and forked with the session, and
 * the store's garbage collection keeps it. A session can read only the texts of its results.
 */
export const outputBudget = definePlugin({
  id: "bowline/output-budget",
  options: optionsSchema<OutputBudgetOptions, Settings>(settingsOf),
  state: optionsSchema<unknown, BudgetState>((given) => ({ kept: given.texts("kept", []) })),
  setup: ({ options: budget, tool }) => ({
    // Texts are stored here, because `projectResult` cannot change state. The order is late, so that the result
    // includes the changes of other plugins.
    afterToolCall: {
      order: "late",
      run: ({ call, output, state, blobs }) => {
        const parts = plainly(output);
        if (isSmall(parts, budget)) return;
        return (async () => {
          try {
            const { keptMax } = budget;
            const { cut } = await fit(parts, budget, {
              keep: budget.keepOf(call.name),
              value: output.kind === "value" ? output.value : undefined,
              load: (hash) => blobs.get(hash),
              isKept: () => true,
            });
            for (const [id, data] of cut) await state.blobs.put(id, data);
            const keptIds = [...state.get().kept.filter((id) => !cut.has(id)), ...cut.keys()];
            for (const id of keptIds.slice(0, -keptMax)) state.blobs.remove(id);
            state.update(() => ({ kept: keptIds.slice(-keptMax) }));
          } catch {
            // If the full text cannot be stored, the call must not fail: `projectResult` then shows that the rest is
            // lost.
          }
        })();
      },
    },
    projectResult: ({ call, output, parts, state, blobs }) => {
      if (isSmall(parts, budget)) return parts;
      const names = new Set(state.blobs.names());
      const fitted = fit(parts, budget, {
        keep: budget.keepOf(call.name),
        value: output.kind === "value" ? output.value : undefined,
        load: (hash) => blobs.get(hash),
        isKept: (id) => names.has(id),
      });
      return fitted.then((found) => found.parts);
    },
    tools: [
      tool({
        name: READ,
        description: TEXTS.read,
        input: INPUT,
        retry: "safe",
        execute: async ({ id, ...where }, { state }) => {
          const data = await state.blobs.get(id);
          if (data === undefined) throw new Error(TEXTS.unknownId);
          return pageOf(data, where, budget);
        },
      }),
    ],
  }),
});

interface ReadInput {
  readonly id: string;
  readonly offset?: number;
  readonly byte?: number;
  readonly lines?: number;
}
const INPUT = jsonSchema<ReadInput>({
  type: "object",
  properties: {
    id: { type: "string", description: TEXTS.id, maxLength: 128 },
    offset: { type: "integer", minimum: 1, description: TEXTS.offset },
    byte: { type: "integer", minimum: 0, description: TEXTS.byte },
    lines: { type: "integer", minimum: 1, description: TEXTS.lines },
  },
  required: ["id"],
  additionalProperties: false,
});

/** One window of the text, and a last line in brackets with its position and how to read the next one. */
function pageOf(data: Uint8Array, { offset = 1, byte, lines }: Omit<ReadInput, "id">, room: Room): string {
  const from = byte === undefined ? startOfLine(data, offset) : characterAt(data, Math.min(byte, data.length));
  if (from >= data.length && data.length > 0) throw new Error(TEXTS.pastEnd(data.length, linesIn(data)));
  const linesMax = room.linesMax - MARKER.linesMax;
  const end = headEnd(data, from, {
    bytesMax: room.bytesMax - MARKER.bytesMax,
    linesMax: Math.min(lines ?? linesMax, linesMax),
  });
  const shown = textOf(data, from, end);
  const isWhole = shown === "" || shown.endsWith("\n");
  const first = linesIn(data, 0, from) + (from === 0 || data[from - 1] === 10 ? 1 : 0);
  const last = first + Math.max(0, linesIn(data, from, end) - 1);
  const next = end === data.length ? TEXTS.end : TEXTS.nextPage(isWhole ? `offset ${last + 1}` : `byte ${end}`);
  return `${shown}${isWhole ? "" : "\n"}${TEXTS.page(first, last, from, end, data.length, linesIn(data), next)}`;
}

// ── Options and state ───────────────────────────────────────────────────────────────────────────────────────────────

interface Settings extends Room {
  readonly partsMax: number;
  readonly keptMax: number;
  keepOf(tool: string): Keep;
}
interface BudgetState {
  /** Ids of the texts that can be read, oldest first. */
  readonly kept: readonly string[];
}

function settingsOf(given: Fields): Settings {
  given.only("bytesMax", "linesMax", "keep", "partsMax", "keptMax");
  return {
    bytesMax: given.whole("bytesMax", { min: 1_024, max: 16_777_216 }, 16_384),
    linesMax: given.whole("linesMax", { min: 2, max: 1_000_000 }, 400),
    partsMax: given.whole("partsMax", { min: 2, max: 1_000 }, 32),
    keptMax: given.whole("keptMax", { min: 1, max: 1_000 }, 100),
    keepOf: keepOf(given.checked("keep", isKeeping, "head or tail, for all tools or by the tool's name", {})),
  };
}

type Keeping = NonNullable<OutputBudgetOptions["keep"]>;
const isKeep = (given: unknown): given is Keep => given === "head" || given === "tail";
const isKeeping = (given: unknown): given is Keeping =>
  isKeep(given) || (typeof given === "object" && given !== null && Object.values(given).every(isKeep));

function keepOf(keep: Keeping): (tool: string) => Keep {
  if (isKeep(keep)) return () => keep;
  const byName = new Map<string, Keep>([["shell", "tail"], ...Object.entries(keep)]);
  return (tool) => byName.get(tool) ?? "head";
}
