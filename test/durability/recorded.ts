import type { Message, SessionConfig, Store, TurnOutcome } from "bowline";
import type { BlobHash, EffectName } from "../../src/model/ids.ts";
import type { Json } from "../../src/model/json.ts";
import type { Entry } from "../../src/model/node.ts";
import type { Usage } from "../../src/model/usage.ts";
import type { Lease, NewInput, NewWait, Owner, PluginSnapshots } from "../../src/stores/store.ts";
import type { Opened, TurnEvent } from "../../src/turn/event.ts";
import { type Did, keyOf } from "./witness.ts";

/** A journal as a store held it just before the commit, and what it takes to put it into another store. */
export interface Recorded {
  readonly name: string;
  readonly step: number;
  readonly config: Partial<SessionConfig>;
  readonly history: readonly Entry[];
  readonly input: NewInput;
  /** Inputs that came while it ran. */
  readonly more: readonly NewInput[];
  readonly events: readonly TurnEvent[];
  /** Written with the event of this number. */
  readonly waits: readonly (NewWait & { readonly seq: number })[];
  /** Made when there were so many events. */
  readonly notes: readonly {
    readonly seq: number;
    readonly effect: EffectName;
    readonly key: string;
    readonly value: Json;
  }[];
  readonly blobs: { readonly [hash: string]: string };
  readonly did: Did;
  readonly end: {
    readonly outcome: TurnOutcome;
    readonly messages: readonly Message[];
    readonly plugins: PluginSnapshots;
    readonly usage: Usage;
  };
}

const HISTORY = "opr_history";
const GONE: Owner = { id: "gone", process: "elsewhere" };

export const openedOf = ({ events }: Recorded): Opened => events[0] as Opened;

/** Puts the first events of a journal into a store, as if their process had just let go of it. */
export async function load(
  store: Store,
  recorded: Recorded,
  { cut = recorded.events.length, events = recorded.events }: { cut?: number; events?: readonly TurnEvent[] } = {},
): Promise<Lease> {
  const { input, more, history, config, waits, notes, blobs } = recorded;
  const { sessionId, at } = input;
  await store.create({ id: sessionId, config, at });
  for (const [hash, data] of Object.entries(blobs)) await store.blobs.put(hash as BlobHash, Buffer.from(data));
  if (history.length > 0) await store.apply({ sessionId, operation: HISTORY, at, entries: history });
  const { generation: _, ...opened } = events[0] as Opened;
  const receipt = await store.accept(input, GONE, () => opened, 100);
  if (receipt.kind !== "opened") throw new Error(`The input was ${receipt.kind}.`);
  const { lease } = receipt;
  for (const each of more) await store.accept(each, GONE, undefined, 100);
  for (const { seq, effect, key, value } of notes) if (seq <= cut) await store.note(lease.turnId, effect, key, value);
  for (const [seq, event] of events.slice(0, cut).entries()) {
    if (seq === 0) continue;
    if (event.kind === "bounded" && event.inputs !== undefined) await store.inputs.claim(lease, event.effect, 64);
    // Of a wait of before, nothing is known that a store of today could keep: its turn gives it again.
    const rows = waits.flatMap(({ seq: at, ...row }) => (at === seq && "about" in row ? [row] : []));
    await store.append(lease, seq, [event], event.at, rows);
    const asked = event.kind === "resolved" ? waits.find(({ effect }) => effect === event.effect) : undefined;
    if (event.kind === "resolved" && asked !== undefined) await store.waits.resolve(asked.key, event.answer, event.at);
  }
  await store.release(lease);
  return lease;
}

/** A text without the runtime's wording of what happened, which changes between versions. What happened must not. */
export function unworded(text: string): string {
  const told = /^(.*?)(Error \((?!tool\.failed)[\w.-]+\)|Unknown|Cancelled): /s.exec(text);
  if (told !== null) return `${told[0]}…`;
  return text.replace(/"note":"[^"]*"/, '"note":"…"').replace(/^(\d+ user: )?.*\bsubmit_output\b.*$/s, "$1…");
}

/** Messages whose texts are `unworded`, at no time; without trails of calls, if `isBefore` the version that has them. */
export const unwordedIn = (messages: readonly Message[], isBefore = false): readonly Message[] =>
  JSON.parse(JSON.stringify(messages), (key, value) => {
    if (isBefore && key === "trail") return undefined;
    if (key === "at" && typeof value === "number") return 0;
    return key === "text" && typeof value === "string" ? unworded(value) : value;
  });
/** Whether the machine of the recording kept no trails of calls. */
export const hasNoTrails = ({ step }: Recorded): boolean => step < 3;

/** What the recorded calls are called in the ledger of those who would perform them. */
export const callsIn = ({ input: { turnId } }: Recorded, events: readonly TurnEvent[]): readonly string[] =>
  events.flatMap((event) => {
    if (event.kind !== "returned" && event.kind !== "deferred") return [];
    const [, position = "", attempt = "1"] = /^(.*?)(?:\.a(\d+))?$/.exec(event.effect) ?? [];
    return [`#${attempt} ${keyOf(turnId, position)}`];
  });

export const asksIn = (events: readonly TurnEvent[]): number =>
  events.filter((event) => event.kind === "replied" || (event.kind === "failed" && event.effect.endsWith(".ask")))
    .length;

/** Watches a store and writes down all that would be needed to go on with its one turn. */
export function recorder(store: Store): { readonly store: Store; recorded(): Promise<Omit<Recorded, "name" | "did">> } {
  const inputs: NewInput[] = [];
  const waits: (NewWait & { seq: number })[] = [];
  const notes: { seq: number; effect: EffectName; key: string; value: Json }[] = [];
  const blobs: { [hash: string]: string } = {};
  let events: readonly TurnEvent[] = [];
  let plugins: PluginSnapshots = {};
  let opened: Opened | undefined;
  const watched: Partial<Store> = {
    accept: async (...given) => {
      const receipt = await store.accept(...given);
      inputs.push(given[0]);
      if (receipt.kind === "opened") {
        opened = receipt.opened;
        events = [opened];
      }
      return receipt;
    },
    append: async (lease, seq, more, now, rows) => {
      const mail = await store.append(lease, seq, more, now, rows);
      events = [...events, ...more];
      for (const row of rows ?? []) waits.push({ ...row, seq: seq + more.length - 1 });
      return mail;
    },
    note: async (turn, effect, key, value) => {
      const kept = await store.note(turn, effect, key, value);
      if (value !== undefined) notes.push({ seq: events.length, effect, key, value });
      return kept;
    },
    commit: async (lease, ended) => {
      plugins = ended.plugins;
      return store.commit(lease, ended);
    },
    blobs: {
      get: (hash) => store.blobs.get(hash),
      put: (hash, data) => {
        blobs[hash] = Buffer.from(data).toString();
        return store.blobs.put(hash, data);
      },
    },
  };
  const proxy = new Proxy(store, {
    get(target, key) {
      if (Object.hasOwn(watched, key)) return Reflect.get(watched, key);
      const found: unknown = Reflect.get(target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
  return {
    store: proxy,
    async recorded() {
      const [input, ...more] = inputs;
      if (input === undefined || opened === undefined) throw new Error("No turn was opened.");
      const terminal = await store.terminal(input.turnId);
      if (terminal === undefined) throw new Error("The turn has not ended.");
      const segments = [...(await store.view(input.sessionId))].reverse();
      const entries = (which: (commit: string) => boolean) =>
        segments.flatMap(({ commit, entries: found }) => (which(commit) ? found : []));
      return {
        step: opened.step,
        config: {},
        history: entries((commit) => commit !== input.turnId),
        input,
        more,
        events,
        waits,
        notes,
        blobs,
        end: {
          outcome: terminal.outcome,
          usage: terminal.usage,
          plugins,
          messages: entries((commit) => commit === input.turnId).flatMap((entry) =>
            entry.kind === "message" ? [entry.message] : [],
          ),
        },
      };
    },
  };
}

/** What a turn added, as a store keeps it. */
export async function messagesOf(
  store: Store,
  { input: { sessionId, turnId } }: Recorded,
): Promise<readonly Message[]> {
  const segment = (await store.view(sessionId)).find(({ commit }) => commit === turnId);
  return (segment?.entries ?? []).flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));
}
