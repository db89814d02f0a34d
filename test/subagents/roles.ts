/** A model with several roles, and runtimes whose sessions have agents. */
import {
  createRuntime,
  defineTool,
  type Json,
  type Message,
  type Plugin,
  type Runtime,
  type RuntimeOptions,
  type SessionEvent,
  type Tool,
} from "bowline";
import { type SubagentsOptions, subagents } from "bowline/plugins/subagents";
import { type ModelPart, type ModelRequest, type Provider, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { eventually as comes, within as endsWithin, textIn } from "../kit/reading.ts";

type Parts = readonly ModelPart[] | ProviderFailure;
export type Line = Parts | ((request: ModelRequest, signal: AbortSignal) => Parts | Promise<Parts>);
export interface Cast extends Provider {
  /** Who was asked, and what. */
  readonly asked: readonly { readonly who: string; readonly request: ModelRequest }[];
  /** What this one was asked, oldest first. */
  of(who: string): readonly ModelRequest[];
}

/**
 * Several roles of one model: each is known by the words that its session began with, and finds its place by how often it
 * has replied there. So any number may speak at once, and all go on after a restart.
 */
export function cast(roles: { readonly [opening: string]: readonly Line[] }): Cast {
  const asked: { who: string; request: ModelRequest }[] = [];
  return {
    id: "cast",
    modelId: "test",
    asked,
    of: (who) => asked.filter((each) => each.who === who).map(({ request }) => request),
    async *stream(request, { signal }) {
      const who = request.messages.map(({ parts }) => textIn(parts)).find((words) => Object.hasOwn(roles, words)) ?? "";
      asked.push({ who, request: { ...request, messages: [...request.messages] } });
      const place = request.messages.filter(({ role }) => role === "assistant").length;
      const line = roles[who]?.[place];
      const parts = typeof line === "function" ? await line(request, signal) : line;
      if (parts === undefined)
        throw new ProviderFailure({ class: "unknown", message: `${JSON.stringify(who)} has no line ${place + 1}.` });
      if (parts instanceof ProviderFailure) throw parts;
      for (const part of parts) {
        if (signal.aborted) throw new ProviderFailure({ class: "cancelled", message: "Aborted." });
        yield part;
      }
    },
  };
}

/** Says nothing until it is cancelled. */
export const silent = (_: ModelRequest, signal: AbortSignal): Promise<Parts> =>
  new Promise((resolve) => {
    const end = (): void => resolve(new ProviderFailure({ class: "cancelled", message: "Aborted." }));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });

/** Says it when it is let. */
export const after =
  (gate: Promise<unknown>, parts: readonly ModelPart[]): Line =>
  async () => {
    await gate;
    return parts;
  };

export interface Answer {
  readonly name: string;
  readonly status: string;
  readonly text: string;
}
/** What the calls of a conversation came to, oldest first. */
export const answersIn = (messages: readonly Message[]): readonly Answer[] =>
  messages.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === "toolResult" ? [{ name: part.name, status: part.status, text: textIn(part.parts) }] : [],
    ),
  );
export const jsonOf = ({ text }: Answer): Json => JSON.parse(text) as Json;

/** The names of agents that results have told, in the order of the results. */
export const agentsIn = (messages: readonly Message[]): readonly string[] => [
  ...new Set(answersIn(messages).flatMap(({ text }) => text.match(/agt_[\w-]{16}/g) ?? [])),
];

export const HELPER: SubagentsOptions = { capabilities: { helper: { description: "Helps." } } };

export const running = (
  model: Provider,
  options: Partial<Omit<RuntimeOptions, "model" | "plugins">> & {
    readonly agents?: SubagentsOptions;
    readonly plugins?: readonly Plugin[];
  } = {},
): Promise<Runtime> => {
  const { agents = HELPER, plugins = [], store = memory(), ...rest } = options;
  return createRuntime({ ...rest, store, model, plugins: [subagents(agents), ...plugins] } as RuntimeOptions);
};

/** A tool that counts how often it was really called, by its argument. */
export function counted(): { readonly tool: Tool; readonly calls: string[] } {
  const calls: string[] = [];
  const tool = defineTool({
    name: "look",
    description: "Looks at something.",
    input: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
    execute: async (given) => {
      const { at } = given as { readonly at: string };
      calls.push(at);
      return `saw ${at}`;
    },
  });
  return { tool, calls };
}

/** Agents take several turns, one after the other: they are given longer. */
export const within = <T>(what: PromiseLike<T>, ms = 5_000): Promise<T> => endsWithin(what, ms);
export const eventually: typeof comes = (look, ms = 5_000) => comes(look, ms);

/** The events of children that came in a turn's stream, as the children showed them. */
export const childEvents = (events: readonly SessionEvent[]): readonly SessionEvent[] =>
  events.flatMap((event) => (event.kind === "child" ? [event.event] : []));
