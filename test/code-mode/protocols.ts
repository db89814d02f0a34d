/** The two protocols, and how a model acts in each: for stories that must come to the same in both. */
import type { Json, Plugin, SessionEvent } from "bowline";
import { codeMode } from "bowline/protocols/code";
import type { ModelPart, ModelRequest } from "bowline/provider";
import { both, calls, says, scripted } from "bowline/testing";
import { only, textIn } from "../kit/reading.ts";
import { sharedCode } from "../kit/sandbox.ts";
import { open } from "../kit/worlds.ts";

type Act = string | readonly [tool: string, input: Json];

interface Spoken {
  readonly name: string;
  /** Installed before those of the story. */
  readonly plugins: readonly Plugin[];
  /** One reply that calls these tools beside each other; the model is then shown what came of each. */
  acts(...asked: readonly Act[]): readonly ModelPart[];
  /** The same, with words for the user before it. */
  saysAndActs(words: string, ...asked: readonly Act[]): readonly ModelPart[];
  /** One reply that calls a tool and is of no use without its result. */
  insists(asked: Act): readonly ModelPart[];
  /** One reply that hands in a typed result, an object. */
  submits(value: Json): readonly ModelPart[];
}

const named = (asked: Act): readonly [string, Json] => (typeof asked === "string" ? [asked, {}] : asked);

// ── Natively ────────────────────────────────────────────────────────────────────────────────────────────────────────

const called = (asked: readonly Act[]) => asked.map((each) => calls(...named(each)));

const native: Spoken = {
  name: "by calls",
  plugins: [],
  acts: (...asked) => both(...called(asked)),
  saysAndActs: (words, ...asked) => both(says(words), ...called(asked)),
  insists: (asked) => both(...called([asked])),
  submits: (value) => calls("submit_output", value),
};

// ── In code ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One reply with one cell. */
export const writes = (source: string, words = ""): readonly ModelPart[] =>
  says(`${words === "" ? "" : `${words}\n`}<typescript>\n${source}\n</typescript>`);

const callIn = (asked: Act): string => {
  const [tool, input] = named(asked);
  return `tools.${tool}(${JSON.stringify(input)})`;
};
const beside = (asked: readonly Act[]): string => `
const asked = await Promise.allSettled([${asked.map(callIn).join(", ")}]);
for (const { value, reason } of asked) print(reason === undefined ? JSON.stringify(value) : \`\${reason.code}: \${reason.message}\`);`;

/** Runs a cell, so that no story is played while the threads start. */
export async function openSandbox(): Promise<void> {
  await using world = await open(scripted(writes("1"), says("Ready.")), { plugins: inCode.plugins });
  await world.session.turn("Go.").result();
}
export { closeSandbox } from "../kit/sandbox.ts";

export const inCode: Spoken = {
  name: "in code",
  plugins: [codeMode, sharedCode],
  acts: (...asked) => writes(beside(asked)),
  saysAndActs: (words, ...asked) => writes(beside(asked), words),
  insists: (asked) => writes(`print(await ${callIn(asked)});`),
  submits: (value) => writes(`finish(${JSON.stringify(value)});`),
};

/** `describe.each(PROTOCOLS)("$name", ({ plugins, acts, submits }) => …)` */
export const PROTOCOLS: readonly Spoken[] = [native, inCode];

// ── What came of it ─────────────────────────────────────────────────────────────────────────────────────────────────

/** All that a model reads of its conversation, whatever it stands in. */
export const heard = (request: Pick<ModelRequest, "messages"> | undefined): string =>
  (request?.messages ?? [])
    .flatMap(({ parts }) => parts.map((part) => (part.kind === "toolResult" ? textIn(part.parts) : textIn([part]))))
    .join("\n");

/** How the calls of a turn ended, by name: `pay ok`. */
export const endsIn = (events: readonly SessionEvent[]): readonly string[] =>
  only(events, "toolEnded")
    .filter(({ name }) => name !== "submit_output")
    .map(({ name, status }) => `${name} ${status}`)
    .sort();

export const startsIn = (events: readonly SessionEvent[]): readonly string[] =>
  only(events, "toolStarted")
    .map(({ call }) => call.name)
    .filter((name) => name !== "submit_output")
    .sort();
