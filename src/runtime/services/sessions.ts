import type { FirstInput } from "../../kernel/created.ts";
import type { Services } from "../../kernel/services.ts";
import { NEW_SESSION, type TurnEnd } from "../../kernel/session-requests.ts";
import { unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, asTurnId, type SessionId } from "../../model/ids.ts";
import type { InjectOptions } from "../../model/input.ts";
import { frozen, type Json } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { CancelAnswer } from "../../model/outcome.ts";
import type { PluginSnapshots } from "../../stores/store.ts";
import { requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
import { toolsOf } from "./other-tools.ts";
import { otherTurn } from "./other-turn.ts";
import { children, FIRST_INPUT, requireStored } from "./reading.ts";
import type { ServiceContext } from "./service-context.ts";
import { requireBelow, unlessClosed, using } from "./using.ts";

const SEND = { key: true, output: true } as const;
const RESULT = { signal: true } as const;
export const INJECT: Known<InjectOptions> = { id: true };

/** The `sessions` service: plugins and tools create, message, await, cancel and list other sessions with it. */
export const sessionsService = (context: ServiceContext, plugin: string): Services["sessions"] => {
  const { core, session } = context;
  const change = context.changeTools(plugin); // Made now, so that a late call from a tool that has ended is refused.
  return {
    create: (request) =>
      unwaited(async () => {
        requireOptions("sessions.create", request, NEW_SESSION);
        return session.create(request, plugin);
      }),
    takeFirstInput: (id) => unwaited(() => takeFirstInput(core, id)),
    turn: (id, input, options = {}) => otherTurn(context, id, input, options, options?.key ?? context.nextKey(plugin)),
    send: (id, input, options = {}) => {
      const key = options?.key ?? context.nextKey(plugin);
      return unwaited(async () => {
        requireOptions("sessions.send", options, SEND);
        return using(core, id, async (other) => ({ turnId: await other.turn(input, { ...options, key }).id }));
      });
    },
    result: (id, turnId, options = {}) =>
      unwaited(async () => {
        requireOptions("sessions.result", options, RESULT);
        return frozen(await result(core, session.id, id, turnId, options.signal));
      }),
    cancel: (id, turnId, reason) => unwaited(() => cancel(core, id, turnId, reason)),
    inject: (id, message, options = {}) => {
      const key = options?.id ?? context.nextKey(plugin);
      return unwaited(() =>
        unlessClosed(core, async () => {
          requireOptions("sessions.inject", options, INJECT);
          return core.sessions.inject(id, message, key, plugin);
        }),
      );
    },
    close: (id) => unwaited(async () => core.sessions.unhold((await requireStored(core, id)).id)),
    tools: (id) => toolsOf(context, id, change),
    children: (id) =>
      unwaited(async () => frozen(await children(core, id === undefined ? session.id : asSessionId(id)))),
  };
};

async function result(
  core: Core,
  asking: SessionId,
  id: string,
  turnId: string,
  signal: AbortSignal | undefined,
): Promise<TurnEnd> {
  await requireBelow(core, asking, id, "sessions.result");
  const stored = await endOf(core, id, turnId);
  if (stored !== undefined) return stored;
  return using(core, id, (session) => {
    const ended = session.follow(turnId).result();
    if (signal === undefined) return ended;
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    return Promise.race([ended, left.promise]).finally(() => signal.removeEventListener("abort", leave));
  });
}

/** The end of a finished turn. It opens no session, so it also works while the runtime closes. */
async function endOf({ store, sessions }: Core, id: string, turnId: string): Promise<TurnEnd | undefined> {
  const session = asSessionId(id);
  if (typeof turnId !== "string" || sessions.find(session)?.now === turnId) return undefined; // `lifecycle` hooks run first.
  const found = await store.terminal(asTurnId(turnId));
  return found?.sessionId === session
    ? { turnId: asTurnId(turnId), outcome: found.outcome, usage: found.usage }
    : undefined;
}

/** Cancels through the store: opening the session would resume its turn here. */
export async function cancel(
  { store, world, watcher, readers }: Core,
  id: string,
  turn: string | undefined,
  reason = "The turn that wanted it was stopped.",
): Promise<CancelAnswer> {
  const session = asSessionId(id);
  if (turn === undefined) {
    for (const { id: input } of await store.inputs.list(session)) await store.inputs.withdraw(session, { id: input });
    readers.hinted(session);
  }
  // Looks for the open turn after the inputs: a turn that opens meanwhile has taken one of them and must end too.
  const target = turn === undefined ? (await store.load(session))?.openTurn : asTurnId(turn);
  if (target === undefined) return { kind: "unknown" };
  const request = { requestId: world.id("can"), reason, at: world.now() };
  const answer = await store.cancel(target, request, session);
  if (answer.kind === "requested") watcher.wake(session);
  return answer;
}

/** Takes the first input that a session was created with; undefined if it was already taken. */
export async function takeFirstInput(core: Core, id: string): Promise<FirstInput | undefined> {
  const { store, world } = core;
  for (;;) {
    const stored = await requireStored(core, id);
    const left = stored.plugins[FIRST_INPUT];
    if (left === undefined || left.state === null) return undefined;
    // The state still refers to its blobs, because their bytes must exist when the input is sent.
    const taken: PluginSnapshots = { [FIRST_INPUT]: { ...left, revision: left.revision + 1, state: null } };
    const answer = await store.apply({
      sessionId: stored.id,
      operation: world.id("opr"),
      at: world.now(),
      base: stored.revision,
      plugins: taken,
    });
    if (answer.kind === "committed") return frozen(firstInputIn(left.state));
    if (answer.kind === "busy") throw new RuntimeError("session.busy", { id, holder: "a running turn" });
  }
}

/** Earlier versions stored only the text. */
const firstInputIn = (state: Json): FirstInput =>
  typeof state === "string"
    ? { role: "user", parts: [{ kind: "text", text: state }] }
    : (state as unknown as FirstInput);
