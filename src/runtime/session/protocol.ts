// The session half of a protocol: what it is told when a session is opened, extended or appended to, and the options
// that it keeps in the session.
// Not its job: the protocol's decisions in a turn (`turn/driver.ts`), `beforeAsk` (`live-turn/prepare.ts`).
// P1 `initialize` is for a session that no protocol was told of yet; every later opening, and every fork, is `restore`.
// P2 Options are stored like a plugin's state. A turn is opened with those of that moment, and its driver sees no others.
// P3 What `configure` sets while a turn is open is stored when that turn is over.
import type { Composition } from "../../kernel/compose.ts";
import { type ExtensionValue, keptExtension } from "../../kernel/extension.ts";
import { type HookRunner, tracedIssue } from "../../kernel/hook-runner.ts";
import type { ProtocolOptions, ProtocolPlace, ProtocolSession } from "../../kernel/slots.ts";
import { RuntimeError } from "../../model/errors.ts";
import { describeThrown, frozen, type Json, type JsonObject, toJson } from "../../model/json.ts";
import type { Addition } from "../../model/node.ts";
import type { StoredSession } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { type OfProtocol, ofProtocol, PROTOCOL, readingOf } from "../services/reading.ts";
import type { Change, Worked } from "./change.ts";
import { inside } from "./inside.ts";
import { slotOf } from "./options.ts";
import type { LiveSession } from "./session.ts";

class Options implements ProtocolOptions {
  readonly #plugin: string;
  kept: OfProtocol;
  constructor(kept: OfProtocol, plugin: string) {
    this.kept = kept;
    this.#plugin = plugin;
  }
  get(): Json | undefined {
    return frozen(this.kept.options);
  }
  set(value: Json): void {
    this.kept = { ...this.kept, options: this.#checked(value) };
  }
  setAll(value: Json): void {
    const options = this.#checked(value);
    this.kept = { options, all: { nth: (this.kept.all?.nth ?? 0) + 1, value: options } };
  }
  #checked(value: unknown): Json {
    const found = toJson(value);
    if (!("problem" in found)) return found.json;
    const problem = `the options of a protocol must be JSON: ${found.path}: ${found.problem}`;
    throw new RuntimeError("hook.answer", { plugin: this.#plugin, hook: "protocolSession", problem });
  }
}

/** Tells the protocol that the session is here (P1), and lets it set its options. */
export async function materialize(session: LiveSession): Promise<void> {
  const { kept, core } = session;
  const { stored, transcript } = kept;
  const isNew = ofProtocol(stored.plugins) === undefined && stored.origin === undefined && isEmpty(stored);
  if (isNew) await tellProtocol(session, "initialize", {});
  else await tellProtocol(session, "restore", { state: frozen(readingOf(core, stored, transcript.messages)) });
  // Recovery opens a session whose options no longer parse without them; the protocol is told when they are replaced.
  if (session.options === stored.options) await configure(session, isNew);
}
const isEmpty = ({ turns, head }: StoredSession): boolean => turns === 0 && head === undefined;

/** Lets the protocol set its options, as it is with the session's latest options of plugins, and stores what is new. */
export async function configure(session: LiveSession, isNew = false): Promise<void> {
  const { stored } = session.kept;
  const asked = await ask(session, isNew);
  if (!asked.isChanged) return;
  const isFree = stored.openTurn === undefined && !session.queue.isTaken;
  const kept = new Promise<void>((resolve, reject) => {
    const work = async (): Promise<Worked<void>> => {
      // Others may have set them since: what they set is not undone.
      const isSame = ofProtocol(session.kept.stored.plugins) === asked.before;
      const { options, isChanged } = isSame ? asked : await ask(session, isNew);
      return { ...(isChanged ? { change: changeTo(session, options) } : {}), done: () => {} };
    };
    // Not asked for by the code that opens the session: that may run inside it, and does not wait then.
    inside
      .exit(() => session.change("protocol options", work, resolve))
      .then(resolve, (error) => {
        session.core.trace("protocol.options", { problem: describeThrown(error) }, session.asPlace);
        reject(error);
      });
  });
  if (isFree) return kept;
  kept.catch(() => {}); // P3
}

interface Asked {
  readonly before: OfProtocol | undefined;
  readonly options: Options;
  readonly isChanged: boolean;
}

async function ask(session: LiveSession, isNew: boolean): Promise<Asked> {
  const { stored } = session.kept;
  const { hooks } = session.composedWith(stored.options);
  const before = ofProtocol(stored.plugins);
  const options = new Options(before ?? {}, hooks.ownerOf("protocolSession"));
  const plugins = frozen(stored.options ?? {});
  await tellProtocol(session, "configure", { options, plugins, isNew, isFork: stored.origin !== undefined }, hooks);
  const isChanged = before === undefined || JSON.stringify(options.kept) !== JSON.stringify(before);
  return { before, options, isChanged };
}

function changeTo({ kept }: LiveSession, options: Options): Change {
  const revision = (kept.stored.plugins[PROTOCOL]?.revision ?? 0) + 1;
  const snapshot = { version: "1", revision, state: options.kept as unknown as Json };
  return { by: "configure", plugins: { [PROTOCOL]: snapshot } };
}

/** Gives the protocol an extension, between turns. It is given again if another process moved the session meanwhile. */
export async function extend(session: LiveSession, value: ExtensionValue): Promise<void> {
  const { kept } = session;
  requireTaken(session, session.composedWith(kept.stored.options), value); // What is wrong now is refused at once.
  await session.change("extend", async () => {
    const extension = requireTaken(session, session.composition, value);
    const before = ofProtocol(kept.stored.plugins) ?? {};
    const options = new Options(before, session.composition.hooks.ownerOf("protocolSession"));
    await tellProtocol(session, "extend", { extension, options });
    return { ...(options.kept === before ? {} : { change: changeTo(session, options) }), done: () => {} };
  });
}

function requireTaken(
  { core }: LiveSession,
  composition: Composition,
  value: ExtensionValue,
): ReturnType<typeof keptExtension> {
  const { extensions, hooks } = composition;
  const extension = keptExtension(extensions, value, core.limits.inputBytesMax);
  if (hooks.slot("protocolSession")?.extend === undefined)
    throw new RuntimeError("protocol.extension", {
      protocol: slotOf(composition).driver.id,
      extension: extension.id,
    });
  return extension;
}

type Told = { readonly [N in keyof ProtocolSession]-?: Parameters<NonNullable<ProtocolSession[N]>>[0] };

/** Calls a function of the protocol, as hooks are called: within its deadline, probed, its throw named after its plugin. */
async function tellProtocol<N extends keyof ProtocolSession>(
  session: LiveSession,
  name: N,
  about: Omit<Told[N], keyof ProtocolPlace>,
  hooks: HookRunner = session.composition.hooks,
): Promise<void> {
  const protocol = hooks.slot("protocolSession");
  const tell = protocol?.[name] as ((context: object) => unknown) | undefined;
  if (tell === undefined) return;
  const place = { sessionId: session.id, isRoot: session.ancestors.length === 0 };
  await hooks.callSlot("protocolSession", () => tell.call(protocol, { ...place, ...about }), session.site());
}

/** Tells it of nodes that were appended while the session is open here. They are stored, so a throw is traced. */
export async function tellAppended(session: LiveSession, nodes: readonly Addition[]): Promise<void> {
  try {
    await tellProtocol(session, "appended", { nodes: frozen(nodes) });
  } catch (error) {
    const plugin = session.composition.hooks.ownerOf("protocolSession");
    const about = error instanceof RuntimeError ? { code: error.code, hint: error.hint } : { code: "hook.failed" };
    const issue = tracedIssue({ plugin, message: describeThrown(error), ...about });
    session.core.trace("hook.issue", issue, session.asPlace);
  }
}

/** P2: what a fork of the session has at every node; undefined when no protocol was told of the session. */
export function carriedOver({ plugins }: StoredSession): JsonObject | undefined {
  const now = ofProtocol(plugins);
  if (now === undefined) return undefined;
  return now.all === undefined ? {} : { options: now.all.value, all: now.all };
}

/** P2: a fork at an older node has what was set for all frames since. */
export async function carryOver({ store, world }: Core, from: StoredSession, fork: StoredSession): Promise<void> {
  const state = carriedOver(from);
  if (state?.all === undefined || ofProtocol(from.plugins)?.all?.nth === ofProtocol(fork.plugins)?.all?.nth) return;
  await store.apply({
    sessionId: fork.id,
    operation: `/protocol/${fork.id}`,
    at: world.now(),
    by: "configure",
    plugins: { [PROTOCOL]: { version: "1", revision: (fork.plugins[PROTOCOL]?.revision ?? 0) + 1, state } },
  });
}
