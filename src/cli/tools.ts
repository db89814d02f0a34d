import { setTimeout as sleep } from "node:timers/promises";
import { definePlugin, defineTool, jsonSchema, optionsSchema } from "../plugin.ts";
import { calculate } from "./calculate.ts";

const object = (properties: { readonly [name: string]: object }, ...required: readonly string[]) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const calculator = defineTool({
  name: "calculator",
  description: "Works out an expression of numbers, + - * / % (remainder), ^ (power) and parentheses.",
  input: jsonSchema<{ readonly expression: string }>(
    object({ expression: { type: "string", description: "Such as (3 + 4)^2 / 7" } }, "expression"),
  ),
  execute: ({ expression }) => calculate(expression),
});

const clock = defineTool({
  name: "clock",
  description: "The date and time now, in the user's time zone or in another one.",
  input: jsonSchema<{ readonly timeZone?: string }>(
    object({
      timeZone: { type: "string", description: "An IANA name such as Europe/Paris; leave out for the user's" },
    }),
  ),
  execute: ({ timeZone }) => timeIn(timeZone, new Date()),
});

const WAIT_MAX_S = 3_600;
const wait = defineTool({
  name: "wait",
  description: `Waits some seconds, at most ${WAIT_MAX_S}, before anything else is done.`,
  input: jsonSchema<{ readonly seconds: number }>(
    object({ seconds: { type: "number", minimum: 0, maximum: WAIT_MAX_S } }, "seconds"),
  ),
  timeoutMs: (WAIT_MAX_S + 60) * 1_000,
  execute: async ({ seconds }, { once, signal }) => {
    // `once` keeps the time after a crash, so that a second run does not wait from the beginning.
    const until = await once("until", () => Date.now() + seconds * 1_000);
    await sleep(Math.min(seconds * 1_000, Math.max(0, until - Date.now())), undefined, { signal }); // The clock may be set back.
    return `${seconds} seconds have passed.`;
  },
});

export function timeIn(timeZone: string | undefined, now: Date) {
  const format = formatFor(timeZone);
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
  const { year, month, day, weekday, hour, minute, second, timeZoneName } = parts;
  return {
    time: `${hour}:${minute}:${second}`,
    weekday,
    date: `${day} ${month} ${year}`,
    timeZone: timeZone ?? format.resolvedOptions().timeZone,
    offset: timeZoneName,
  };
}

function formatFor(timeZone: string | undefined): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-GB", {
      weekday: "long",
      day: "numeric",
      month: "long",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
      timeZoneName: "longOffset",
      ...(timeZone === undefined ? {} : { timeZone }),
    });
  } catch {
    throw new Error(`There is no time zone “${timeZone}”. Use an IANA name, such as Europe/Paris.`);
  }
}

interface Note {
  readonly number: number;
  readonly text: string;
}
interface Notes {
  /** The number of the latest note, so that no number is used twice. */
  readonly last: number;
  readonly notes: readonly Note[];
}

const NOTES = {
  add: { name: "notes_add", description: "Keeps a note in this session and gives its number." },
  list: { name: "notes_list", description: "All notes of this session, with their numbers." },
  remove: { name: "notes_remove", description: "Deletes the note with this number and gives its text." },
};

/** Stores notes as state of the session. The commit of a turn writes its changes. */
const notes = definePlugin({
  id: "bowline/notes",
  state: optionsSchema<unknown, Notes>((given) => ({
    last: given.whole("last", {}, 0),
    notes: given.objects("notes", (note): Note => ({ number: note.whole("number"), text: note.text("text") }), []),
  })),
  setup: ({ tool }) => ({
    tools: [
      tool({
        ...NOTES.add,
        writes: true,
        input: jsonSchema<{ readonly text: string }>(object({ text: { type: "string", minLength: 1 } }, "text")),
        execute: ({ text }, { state }) => {
          const note: Note = { number: state.get().last + 1, text };
          state.update(({ notes }) => ({ last: note.number, notes: [...notes, note] }));
          return note;
        },
      }),
      tool({ ...NOTES.list, input: object({}), execute: (_, { state }) => state.get().notes }),
      tool({
        ...NOTES.remove,
        writes: true,
        input: jsonSchema<{ readonly number: number }>(object({ number: { type: "integer" } }, "number")),
        execute: ({ number }, { state }) => {
          const note = state.get().notes.find((each) => each.number === number);
          if (note === undefined) throw new Error(`There is no note ${number}.`);
          state.update(({ last, notes }) => ({ last, notes: notes.filter((each) => each.number !== number) }));
          return note;
        },
      }),
    ],
  }),
});

export const tools = [calculator, clock, wait];
export const plugins = [notes];
