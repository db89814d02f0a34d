// The session half of a protocol: its calls when a session is opened, extended or appended to, and the options that it
// stores in the session.
// Not its job: the protocol's decisions in a turn (`turn/driver.ts`), `beforeAsk` (`live-turn/prepare.ts`).
// protocol-1 The first opening of a new session calls `initialize`. Every later opening, and every fork, calls `restore`.
// protocol-2 Options are stored like a plugin's state. A turn keeps the options of its opening, and its driver sees no others.
// protocol-3 What `configure` sets while a turn is open is stored after that turn.
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
import { slotOf } from "./options.ts";
import { enclosing } from "./reentrancy.ts";
import type { LiveSession } from "./session.ts";

class Options implements ProtocolOptions {
  readonly #plugin: string;
  stored: OfProtocol;
  constructor(saving: OfProtocol, plugin: string) {
    this.stored = saving;
    this.#plugin = plugin;
  }
  get(): Json | undefined {
    return frozen(this.stored.options);
  }
  set(value: Json): void {
    this.stored = { ...this.stored, options: this.#checked(value) };
  }
  setAll(value: Json): void {
    const options = this.#checked(value);
    this.stored = { options, all: { nth: (this.stored.all?.nth ?? 0) + 1, value: options } };
  }
  #checked(value: unknown): Json {
    const found = toJson(value);
    if (!("problem" in found)) return found.json;
    const problem = `the options of a protocol must be JSON: ${found.path}: ${found.problem}`;
    throw new RuntimeError("hook.answer", { plugin: this.#plugin, hook: "protocolSession", problem });
  }
}

/** Calls `initialize` or `restore` (protocol-1), then lets the protocol set its options. */
export async function materialize(session: LiveSession): Promise<void> {
  const { snapshot, core } = session;
  const { stored, transcript } = snapshot;
  const isNew = ofProtocol(stored.plugins) === undefined && stored.origin === undefined && isEmpty(stored);
  if (isNew) await callProtocol(session, "initialize", {});
  else await callProtocol(session, "restore", { state: frozen(readingOf(core, stored, transcript.messages)) });
  // Recovery opens a session without options that no longer parse. `configure` then runs when the options are replaced.
  if (session.options === stored.options) await configure(session, isNew);
}
const isEmpty = ({ turns, head }: StoredSession): boolean => turns === 0 && head === undefined;

/** Lets the protocol set its options, with the session's latest plugin options, and stores them if they changed. */
export async function configure(session: LiveSession, isNew = false): Promise<void> {
  const { stored } = session.snapshot;
  const asked = await ask(session, isNew);
  if (!asked.isChanged) return;
  const isFree = stored.openTurn === undefined && !session.queue.isTaken;
  const saving = new Promise<void>((resolve, reject) => {
    const work = async (): Promise<Worked<void>> => {
      // Another process may have set options since. They must not be overwritten.
      const isSame = ofProtocol(session.snapshot.stored.plugins) === asked.before;
      const { options, isChanged } = isSame ? asked : await ask(session, isNew);
      return { ...(isChanged ? { change: changeTo(session, options) } : {}), done: () => {} };
    };
    // Outside the scope of the caller, because the opening code may run inside the session (session-2).
    enclosing
      .exit(() => session.change("protocol options", work, resolve))
      .then(resolve, (error) => {
        session.core.trace("protocol.options", { problem: describeThrown(error) }, session.asPlace);
        reject(error);
      });
  });
  if (isFree) return saving;
  saving.catch(() => {}); // protocol-3
}

interface Asked {
  readonly before: OfProtocol | undefined;
  readonly options: Options;
  readonly isChanged: boolean;
}

async function ask(session: LiveSession, isNew: boolean): Promise<Asked> {
  const { stored } = session.snapshot;
  const { hooks } = session.composedWith(stored.options);
  const before = ofProtocol(stored.plugins);
  const options = new Options(before ?? {}, hooks.ownerOf("protocolSession"));
  const plugins = frozen(stored.options ?? {});
  await callProtocol(session, "configure", { options, plugins, isNew, isFork: stored.origin !== undefined }, hooks);
  const isChanged = before === undefined || JSON.stringify(options.stored) !== JSON.stringify(before);
  return { before, options, isChanged };
}

function changeTo({ snapshot }: LiveSession, options: Options): Change {
  const revision = (snapshot.stored.plugins[PROTOCOL]?.revision ?? 0) + 1;
  const saved = { version: "1", revision, state: options.stored as unknown as Json };
  return { by: "configure", plugins: { [PROTOCOL]: saved } };
}

/** Passes an extension to the protocol, between turns. If another process moved the session, the protocol gets it again. */
export async function extend(session: LiveSession, value: ExtensionValue): Promise<void> {
  const { snapshot } = session;
  requireTaken(session, session.composedWith(snapshot.stored.options), value); // Throws before the wait for the session.
  await session.change("extend", async () => {
    const extension = requireTaken(session, session.composition, value);
    const before = ofProtocol(snapshot.stored.plugins) ?? {};
    const options = new Options(before, session.composition.hooks.ownerOf("protocolSession"));
    await callProtocol(session, "extend", { extension, options });
    return { ...(options.stored === before ? {} : { change: changeTo(session, options) }), done: () => {} };
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

type ProtocolArguments = { readonly [N in keyof ProtocolSession]-?: Parameters<NonNullable<ProtocolSession[N]>>[0] };

/** Calls a function of the protocol like a hook: with a deadline, a probe, and the plugin's name in an error. */
async function callProtocol<N extends keyof ProtocolSession>(
  session: LiveSession,
  name: N,
  about: Omit<ProtocolArguments[N], keyof ProtocolPlace>,
  hooks: HookRunner = session.composition.hooks,
): Promise<void> {
  const protocol = hooks.slot("protocolSession");
  const method = protocol?.[name] as ((context: object) => unknown) | undefined;
  if (method === undefined) return;
  const place = { sessionId: session.id, isRoot: session.ancestors.length === 0 };
  await hooks.callSlot("protocolSession", () => method.call(protocol, { ...place, ...about }), session.context());
}

/** Calls `appended` for nodes that were stored while the session is open here. A throw is traced: the nodes stay. */
export async function notifyAppended(session: LiveSession, nodes: readonly Addition[]): Promise<void> {
  try {
    await callProtocol(session, "appended", { nodes: frozen(nodes) });
  } catch (error) {
    const plugin = session.composition.hooks.ownerOf("protocolSession");
    const about = error instanceof RuntimeError ? { code: error.code, hint: error.hint } : { code: "hook.failed" };
    const issue = tracedIssue({ plugin, message: describeThrown(error), ...about });
    session.core.trace("hook.issue", issue, session.asPlace);
  }
}

/** protocol-2: what a fork gets at every node. Undefined if no protocol has initialized the session. */
export function carriedOver({ plugins }: StoredSession): JsonObject | undefined {
  const now = ofProtocol(plugins);
  if (now === undefined) return undefined;
  return now.all === undefined ? {} : { options: now.all.value, all: now.all };
}

/** protocol-2: a fork at an older node also gets the options that were set for all frames after that node. */
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
