// The demo model: splits a message into clauses, finds a skill for each by patterns, and answers with calls, a code cell
// or text. It keeps nothing between calls: all its data is in the request.
import { setTimeout as sleep } from "node:timers/promises";
import { asCallId } from "../model/ids.ts";
import type { JsonObject } from "../model/json.ts";
import { requireKnown } from "../model/known.ts";
import { callsOf, type Message, textOf } from "../model/message.ts";
import { type ModelPart, type ModelRequest, ProviderFailure } from "../model/request.ts";
import { NO_USAGE, type Usage } from "../model/usage.ts";
import { calleesIn, cellEndIn, cellOf, isInCode, type Outcome } from "./demo/cell.ts";
import type { Provider } from "./provider.ts";

/**
 * A small rule-based program instead of a language model, so that a first run needs no key and no network. It
 * understands a few phrases, and uses these tools if they are offered: calculator { expression }, clock { timeZone? },
 * wait { seconds }, notes_add { text }, notes_list {}, notes_remove { number }. In code mode it writes a cell that
 * calls them. Equal requests get equal replies. `delayMs` is the pause before each part.
 */
export function demo(options: { readonly delayMs?: number | undefined } = {}): Provider {
  requireKnown("demo", options, { delayMs: true });
  const { delayMs = 0 } = options;
  return {
    id: "demo",
    modelId: "offline",
    capabilities: { attachments: [], isParallelCalls: true },
    async *stream(request, { signal }) {
      for (const part of partsOf(replyTo(request), request)) {
        if (delayMs > 0) await sleep(delayMs, undefined, { signal }).catch(() => {});
        if (signal.aborted) throw new ProviderFailure({ class: "cancelled", message: "The call was cancelled." });
        yield part;
      }
    },
  };
}

interface Call {
  readonly kind: "call";
  readonly tool: string;
  readonly input: JsonObject;
}
/** The request of one clause of the user's message. */
type Wish =
  | Call
  | { readonly kind: "say"; readonly text: string }
  | { readonly kind: "unknown"; readonly text: string };

type Reply = { readonly calls: readonly Call[] } | { readonly text: string };

function replyTo(request: ModelRequest): Reply {
  const { messages } = request;
  const asked = messages.findLastIndex(isSaidByUser);
  const words = textOf(messages[asked]?.parts ?? []);
  if (words.length > WORDS_MAX) return { text: `${WHO} That is too long for me.` };
  const wishes = understand(words, nameOf(messages.slice(0, asked + 1)));
  const calls = wishes.filter((wish) => wish.kind === "call");
  const since = messages.slice(asked + 1);
  const { next, sentences, isOffered } = isInCode(request)
    ? byCode(request, calls, since)
    : byCalls(request, calls, since);
  if (next !== undefined) return next;
  const said = [
    ...wishes.flatMap((wish) => (wish.kind === "say" ? [wish.text] : [])),
    ...sentences,
    ...calls.filter(({ tool }) => !isOffered(tool)).map(({ tool }) => withoutTool(tool)),
  ];
  if (said.length === 0) return { text: NOT_UNDERSTOOD };
  if (said.length === 1 && said[0] === HELLO) said.push(SKILLS);
  const leftOut = wishes.flatMap((wish) => (wish.kind === "unknown" && QUESTION.test(wish.text) ? [wish.text] : []));
  return { text: [...new Set([...said, ...leftOut.map(beyond)])].join(" ") };
}

/** The progress of a message's calls: the next calls, or the results of all. */
interface Acted {
  readonly next?: Reply | undefined;
  readonly sentences: readonly string[];
  isOffered(tool: string): boolean;
}

function byCalls({ tools, toolChoice }: ModelRequest, calls: readonly Call[], since: readonly Message[]): Acted {
  const offered = new Set(toolChoice === "none" ? [] : tools.map(({ name }) => name));
  const isOffered = (tool: string): boolean => offered.has(tool);
  const results = resultsIn(since);
  const next = together(calls.filter(({ tool }) => isOffered(tool)).slice(results.length));
  return { next: next.length === 0 ? undefined : { calls: next }, sentences: results.map(tell), isOffered };
}

/**
 * One cell makes all calls. After any result there is no second cell, because the same code would give the same result.
 */
function byCode({ system, toolChoice }: ModelRequest, calls: readonly Call[], since: readonly Message[]): Acted {
  const callees = calleesIn(toolChoice === "none" ? "" : system);
  const isOffered = (tool: string): boolean => callees.has(tool);
  const made = calls.filter(({ tool }) => isOffered(tool));
  const end = cellEndIn(since);
  if (end === undefined) {
    const groups = inOrder(made).map((group) =>
      group.map(({ tool, input }) => ({ callee: callees.get(tool) as string, input })),
    );
    return { next: groups.length === 0 ? undefined : { text: cellOf(groups) }, sentences: [], isOffered };
  }
  if ("problem" in end) return { sentences: [didNotWork(end.problem)], isOffered };
  const sentences = end.outcomes.flatMap((outcome, index) => {
    const call = made[index];
    return call === undefined ? [] : [tell({ ...call, ...outcome })];
  });
  return { sentences: sentences, isOffered };
}

/** The calls that can be made at once. A wait is made alone, and later calls come after it. */
function together(calls: readonly Call[]): readonly Call[] {
  const wait = calls.findIndex(({ tool }) => tool === "wait");
  return wait < 0 ? calls : calls.slice(0, Math.max(wait, 1));
}

/** All calls, in groups that are made one after the other. */
function inOrder(calls: readonly Call[]): readonly (readonly Call[])[] {
  const first = together(calls);
  return first.length === 0 ? [] : [first, ...inOrder(calls.slice(first.length))];
}

/** In characters. Longer texts are refused, because the patterns below may scan a text many times. */
const WORDS_MAX = 2_000;

const isSaidByUser = ({ role, origin }: Message): boolean =>
  role === "user" && origin?.kind !== "plugin" && origin?.kind !== "runtime";

// ── Replies ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const SKILLS =
  "I can do sums (“what is 21*2?”), tell the time (“what time is it in Tokyo?”), wait (“wait 20 seconds”) and keep notes (“remember to buy milk”, “what do you remember?”, “forget note 1”).";
const REAL_MODEL =
  "For a real model, set BOWLINE_MODEL to one such as anthropic/claude-sonnet-4-5 or openai/gpt-5-mini, and its key in ANTHROPIC_API_KEY or OPENAI_API_KEY.";
const WHO = "I am Bowline's offline demonstration: a handful of rules, not a language model.";
const HELLO = "Hello!";
const NOT_UNDERSTOOD = `${WHO} I did not understand that. ${SKILLS} ${REAL_MODEL}`;

const QUESTION = /^(?:who|what|when|where|which|why|how|can|could|do|does|is|are|tell|write|explain)\b/i;
const beyond = (words: string): string => `The rest (“${words}”) is beyond this offline demonstration.`;
const withoutTool = (tool: string): string => `For that I need the tool ${tool}, and it is not offered here.`;

interface CallResult extends Outcome {
  readonly tool: string;
  readonly input: JsonObject;
}

/** Results with the inputs of their calls. They are paired by order, because ids may repeat. */
function resultsIn(messages: readonly Message[]): readonly CallResult[] {
  const calls = messages.flatMap(({ parts }) => callsOf(parts));
  const results = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "toolResult"));
  return results.map(({ name, status, parts }, index) => {
    return { tool: name, status, words: textOf(parts), input: objectOf(calls[index]?.input) };
  });
}

function tell({ tool, status, words, input }: CallResult): string {
  switch (status) {
    case "ok":
      return TELL[tool]?.(words, input) ?? `${tool} says: ${words}`;
    case "denied":
      return `I was not allowed to use ${tool}: ${reasonIn(words)}`;
    case "cancelled":
      return `The call of ${tool} was cancelled.`;
    case "unknown":
      return `The call of ${tool} was interrupted; whether it took effect is not known.`;
    case "failed":
      return didNotWork(words);
  }
}
const didNotWork = (words: string): string => `That did not work: ${reasonIn(words)}`;

/** Only the reason, without the code, the tool's name and the advice that the runtime adds. */
const reasonIn = (words: string): string =>
  words
    .replace(/^Error \([^)]*\): /, "")
    .replace(/^[\w-]+ (?:failed|was not allowed): /, "")
    .replace(/ Do not try the same call again.*$/s, "");

const TELL: { readonly [tool: string]: (words: string, input: JsonObject) => string } = {
  calculator: (words, { expression }) => `${expression} = ${words}.`,
  clock: (words) => {
    const { time, weekday, date, timeZone } = parsed(words);
    return time === undefined ? `The clock says ${words}.` : `It is ${time} on ${weekday}, ${date} (${timeZone}).`;
  },
  wait: (_, { seconds }) => `I waited ${seconds} second${seconds === 1 ? "" : "s"}.`,
  notes_add: (words, { text }) => `I noted that as number ${parsed(words).number ?? "?"}: ${text}.`,
  notes_remove: (words, { number }) => `I forgot note ${number}: ${parsed(words).text ?? words}.`,
  notes_list: (words) => {
    const notes = Object.values(parsed(words)).map(objectOf);
    if (notes.length === 0) return "I have no notes.";
    return `I remember:\n${notes.map(({ number, text }) => `${number}. ${text}`).join("\n")}`;
  },
};

function parsed(words: string): JsonObject {
  try {
    return objectOf(JSON.parse(words));
  } catch {
    return {};
  }
}
const objectOf = (json: unknown): JsonObject => (typeof json === "object" && json !== null ? (json as JsonObject) : {});

// ── What it understands ─────────────────────────────────────────────────────────────────────────────────────────────

function understand(words: string, name: string | undefined): readonly Wish[] {
  const wishes: Wish[] = [];
  for (const { text, before } of clausesOf(words)) {
    const last = wishes.at(-1);
    const found = skillFor(text, name) ?? (last?.kind === "call" ? goesOn(last, text) : undefined);
    if (found !== undefined) wishes.push(...found);
    else if (last?.kind === "call" && last.tool === "notes_add" && /^[\s,]/.test(before)) {
      wishes[wishes.length - 1] = call("notes_add", { text: `${last.input.text}${before}${text}` });
    } else wishes.push({ kind: "unknown", text });
  }
  return wishes;
}

const BREAK = /[?!;\n]+\s*|\.\s+|\.$|,?\s+(?:and|then|also)\s+(?:then\s+|also\s+)?|,\s+/giu;
/** “the sum of 2 and 3” is one clause. */
const PAIR = /\b(?:sum|product|difference|add|multiply)\b\D*[\d.,]+$/i;

/** Splits a message into clauses, each with the text between it and the one before. */
function clausesOf(words: string): readonly { readonly text: string; readonly before: string }[] {
  const clauses: { text: string; before: string }[] = [];
  let start = 0;
  let before = "";
  for (const { 0: between, index } of [...words.matchAll(BREAK), { 0: "", index: words.length }]) {
    const text = words.slice(start, index);
    if (PAIR.test(text) && /and/i.test(between)) continue;
    if (text.trim() !== "") clauses.push({ text: text.trim(), before });
    before = between;
    start = index + between.length;
  }
  return clauses;
}

const call = (tool: string, input: JsonObject): Call => ({ kind: "call", tool, input });
const say = (text: string): readonly Wish[] => [{ kind: "say", text }];

const POLITE = /^(?:(?:please|hey|ok|okay|so|now|and|can you|could you|would you|will you|i want you to)\b[\s,]*)+/i;
const NOTE =
  /^(?:remember|note(?: down)?|make a note|take a note|add a note|write down|keep in mind|don['’]t forget)\b[\s:,-]*(?:(?:of|that|this|to)\b[\s:]*)?(.+)$/is;
const LIST =
  /\bnotes\b.*\bhave\b|\b(?:list|show|read|what are|tell me)\b.*\bnotes\b|\bwhat\b.*\byou\b.*\b(?:remember|noted?)\b|\bdo you remember (?:any|some)thing\b|^(?:my )?notes$/i;
const FORGET = /\b(?:forget|delete|remove|erase|drop)\b(?:.*\bnotes?)?\s*(?:number\s*|no\.?\s*|#\s*)?(\d+)$/i;
const CLOCK =
  /\bwhat time is it\b|\b(?:what|tell|give|show|know)\b.*\b(?:the|current|local|today['’]s) (?:current |local |exact )?(?:time|date)\b(?! (?:complexity|limit|line|machine|of|for|to|that|when)\b)|\bwhat (?:day|date|year|month) is (?:it|today)\b|^(?:the )?(?:current )?(?:time|date)(?: now)?\b(?: in\b.*)?$|\btime is it (?:now )?in\b/i;
const WAIT =
  /^(?:wait|pause|sleep|hold on)(?: for)? (?:(\d+(?:\.\d+)?) ?|an? )(?:(s|secs?|seconds?)|(?:m|mins?|minutes?))$/i;
const OWN_NAME = /\bmy name(?:['’]s| is)\s+(\p{L}[\p{L}'’-]*)|^call me (\p{L}[\p{L}'’-]*)/iu;
const ASKS_NAME = /\bwhat(?:['’]s| is) my name\b|\bwho am i\b|\byou (?:know|remember) my name\b/i;

function skillFor(clause: string, name: string | undefined): readonly Wish[] | undefined {
  const words = clause.replace(POLITE, "").replace(/\s+(?:please|for me)$/i, "");
  if (ASKS_NAME.test(words)) return say(name === undefined ? "You have not told me your name." : `You are ${name}.`);
  const note = NOTE.exec(words)?.[1];
  if (note !== undefined) return [call("notes_add", { text: note })];
  const number = FORGET.exec(numbersIn(words))?.[1];
  if (number !== undefined) return [call("notes_remove", { number: Number(number) })];
  if (LIST.test(words)) return [call("notes_list", {})];
  if (CLOCK.test(words)) return [call("clock", zoneIn(words))];
  const wait = WAIT.exec(numbersIn(words));
  if (wait !== null) return [call("wait", { seconds: Number(wait[1] ?? 1) * (wait[2] === undefined ? 60 : 1) })];
  const expression = expressionIn(words);
  if (expression !== undefined) return [call("calculator", { expression })];
  const own = OWN_NAME.exec(words);
  if (own !== null) return say(`Nice to meet you, ${own[1] ?? own[2]}.`);
  const talk = SMALL_TALK.find(([pattern]) => pattern.test(words));
  return talk === undefined ? undefined : say(talk[1]);
}

/** A clause that only continues the previous call: “… in Tokyo and London”, “forget notes 1 and 2”. */
function goesOn({ tool }: Call, clause: string): readonly Wish[] | undefined {
  const number = /^(?:note )?#?(\d+)$/i.exec(clause)?.[1];
  if (tool === "notes_remove" && number !== undefined) return [call(tool, { number: Number(number) })];
  const zone = tool === "clock" ? zoneOf(clause.replace(/^in /i, "")) : undefined;
  return zone === undefined ? undefined : [call(tool, { timeZone: zone })];
}

const SMALL_TALK: readonly (readonly [RegExp, string])[] = [
  [/^(?:hello|hi|hey|good (?:morning|afternoon|evening|day)|greetings)\b/i, HELLO],
  [/^how are you\b/i, "All is well, thank you."],
  [/^(?:many )?(?:thanks|thank you|thx|cheers)\b/i, "You are welcome."],
  [/^(?:bye|goodbye|good night|see you)\b/i, "Goodbye."],
  [/^forget\b.*\b(?:all|everything|notes)\b/i, "I forget notes one by one: say “forget note 1”."],
  [/^help\b|\bwhat can (?:you|i) do\b|\bhow do (?:you|i) (?:work|use)\b/i, `${SKILLS} ${REAL_MODEL}`],
  [/\b(?:who|what) are you\b|\bare you (?:an?|real|human|chatgpt|claude)\b|^your name\b/i, `${WHO} ${REAL_MODEL}`],
  [/\bwhat(?:['’]s| is) your name\b/i, WHO],
];

function nameOf(messages: readonly Message[]): string | undefined {
  const said = messages.filter(isSaidByUser).map(({ parts }) => OWN_NAME.exec(textOf(parts)));
  const last = said.findLast((found) => found !== null);
  return last?.[1] ?? last?.[2];
}

// ── Time zones ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** An unknown place is passed on unchanged. The clock then returns an error for it. */
function zoneIn(clause: string): JsonObject {
  const place = /\bin (?:the )?(.+?)(?: (?:right )?now| today| time(?: ?zone)?| please)*$/i.exec(clause)?.[1];
  if (place !== undefined) return { timeZone: zoneOf(place) ?? place };
  return /\b(?:UTC|GMT)\b/i.test(clause) ? { timeZone: "UTC" } : {};
}

function zoneOf(place: string): string | undefined {
  const key = place.trim().toLowerCase().replaceAll(" ", "_");
  const known = PLACES[key];
  if (known !== undefined) return known;
  const zones = Intl.supportedValuesOf("timeZone");
  return zones.find((zone) => zone.toLowerCase() === key || zone.toLowerCase().endsWith(`/${key}`));
}

const PLACES: { readonly [place: string]: string } = {
  utc: "UTC",
  gmt: "UTC",
  japan: "Asia/Tokyo",
  china: "Asia/Shanghai",
  beijing: "Asia/Shanghai",
  india: "Asia/Kolkata",
  kolkata: "Asia/Kolkata",
  mumbai: "Asia/Kolkata",
  delhi: "Asia/Kolkata",
  germany: "Europe/Berlin",
  munich: "Europe/Berlin",
  france: "Europe/Paris",
  spain: "Europe/Madrid",
  italy: "Europe/Rome",
  england: "Europe/London",
  uk: "Europe/London",
  kyiv: "Europe/Kyiv",
  nyc: "America/New_York",
  boston: "America/New_York",
  washington: "America/New_York",
  california: "America/Los_Angeles",
  san_francisco: "America/Los_Angeles",
  seattle: "America/Los_Angeles",
};

// ── Sums in words ───────────────────────────────────────────────────────────────────────────────────────────────────

const UNITS =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const IN_WORDS = new RegExp(
  `\\b(?:(${TENS.join("|")})(?:[- ](${UNITS.slice(1, 10).join("|")}))?|(${UNITS.join("|")}))\\b`,
  "gi",
);

/** Writes “twenty-one” as 21, and 1,000 as 1000. */
function numbersIn(words: string): string {
  const digits = (_: string, tens?: string, unit?: string, small?: string): string => {
    const at = (list: readonly string[], word: string | undefined): number => list.indexOf(word?.toLowerCase() ?? "");
    if (small !== undefined) return String(at(UNITS, small));
    return String((at(TENS, tens) + 2) * 10 + Math.max(0, at(UNITS, unit)));
  };
  return words.replace(IN_WORDS, digits).replace(/(?<=\d),(?=\d{3}\b)/g, "");
}

const N = String.raw`(-?\d+(?:\.\d+)?)`;
const REWRITES: readonly (readonly [RegExp, string])[] = [
  [/[×·]/g, "*"],
  [/÷/g, "/"],
  [/[−–]/g, "-"],
  [/\*\*/g, "^"],
  [/²/g, "^2"],
  [/³/g, "^3"],
  [/\s*\bsquared\b/gi, "^2"],
  [/\s*\bcubed\b/gi, "^3"],
  [new RegExp(`(?:the )?square root of ${N}`, "gi"), "$1 ^ 0.5"],
  [/(?:√|\bsqrt)\s*\(?\s*(\d+(?:\.\d+)?)\s*\)?/gi, "$1 ^ 0.5"],
  [new RegExp(`(?:the )?(?:sum of|add) ${N} (?:and|to) ${N}`, "gi"), "$1 + $2"],
  [new RegExp(`(?:the )?(?:product of|multiply) ${N} (?:and|by|with) ${N}`, "gi"), "$1 * $2"],
  [new RegExp(`(?:the )?difference (?:of|between) ${N} and ${N}`, "gi"), "$1 - $2"],
  [new RegExp(`subtract ${N} from ${N}`, "gi"), "$2 - $1"],
  [new RegExp(`divide ${N} by ${N}`, "gi"), "$1 / $2"],
  [/(?<=[\d)]\s*)(?:times|multiplied by|x)(?=\s*[\d(.-])/gi, "*"],
  [/\bdivided by\b|(?<=\d )over(?= \d)/gi, "/"],
  [/\bplus\b/gi, "+"],
  [/\bminus\b/gi, "-"],
  [/\b(?:raised )?to the power(?: of)?\b/gi, "^"],
  [/\bmod(?:ulo)?\b/gi, "%"],
  [/(?<=\d)\s*percent\b/gi, "%"],
  [/(\d+(?:\.\d+)?)\s*%\s*of\s+/gi, "$1 / 100 * "],
  // As on a pocket calculator, 80 + 15% is 15% more than 80. Any other % that no number follows divides by 100.
  [/(\d+(?:\.\d+)?)\s*([+-])\s*(\d+(?:\.\d+)?)\s*%(?=\s*(?:$|=|[a-z]))/gi, "$1 * (1 $2 $3 / 100)"],
  [/(\d+(?:\.\d+)?)\s*%(?=\s*(?:[-+*/^)=a-z]|$))/gi, "($1 / 100)"],
];

const ASKS = /\b(?:what|how much|calculate|compute|evaluate|solve|work out|result|value|answer|equals?)\b|=/i;
const SUM = /(?<![\w.])[\d(.-][\d\s.+\-*/%^()]*[\d)](?![\w])/g;
const DATE = /\b\d{4}-\d\d-\d\d\b/;

/** The sum in a clause, if the clause is nothing else or asks for its value. */
function expressionIn(clause: string): string | undefined {
  let words = numbersIn(clause);
  for (const [pattern, by] of REWRITES) words = words.replace(pattern, by);
  if (DATE.test(words)) return undefined;
  const sums = [...words.matchAll(SUM)].map(([sum]) => sum.trim()).filter(isSum);
  const longest = sums.reduce((a, b) => (b.length > a.length ? b : a), "");
  if (longest === "") return undefined;
  return ASKS.test(words) || words.trim() === longest ? longest : undefined;
}

const isSum = (words: string): boolean => /[\d)]\s*[+\-*/%^]\s*[-(.\d]/.test(words);

// ── Streaming of replies ────────────────────────────────────────────────────────────────────────────────────────────

function* partsOf(reply: Reply, request: ModelRequest): Generator<ModelPart> {
  if ("calls" in reply) {
    for (const [index, { tool, input }] of reply.calls.entries()) {
      yield { kind: "call", callId: asCallId(`demo_${request.messages.length}_${index}`), name: tool, input };
    }
    yield { kind: "finish", reason: "calls", usage: usageOf(request, JSON.stringify(reply.calls)) };
  } else {
    for (const delta of reply.text.match(/\s*\S+/g) ?? []) yield { kind: "text", delta };
    yield { kind: "finish", reason: "stop", usage: usageOf(request, reply.text) };
  }
}

/** Counts words as tokens. This is only a rough number, but of the real request. */
function usageOf({ system, messages, tools }: ModelRequest, output: string): Usage {
  const sent = [system, JSON.stringify(messages.map(({ parts }) => parts)), JSON.stringify(tools)];
  return { ...NO_USAGE, input: sent.reduce((sum, words) => sum + countWords(words), 0), output: countWords(output) };
}
const countWords = (words: string): number => words.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
