import { hasCode, type Json, type Services, ToolError, type ToolOutput, type TurnOutcome } from "../../plugin.ts";
import { type Agent, cutTo, type Reading, type Status } from "./roster.ts";
import { TEXTS } from "./texts.ts";

/** How a turn of an agent ended, in the form that the model reads. */
export interface Ended {
  readonly agent: string;
  readonly turn: string;
  readonly status: Exclude<Status, "running">;
  /** The value for `output`, or without `output` the agent's last answer. */
  readonly result?: Json;
  /** Why the turn did not finish. */
  readonly code?: string;
  readonly reason?: string;
}

type Sessions = Services["sessions"];
type Named = Pick<Agent, "name" | "session">;

/** Waits until a turn of an agent has ended. */
export async function endOf(
  sessions: Sessions,
  { name, session }: Named,
  turn: string,
  signal?: AbortSignal,
): Promise<Ended> {
  try {
    const { outcome } = await sessions.result(session, turn, signal === undefined ? {} : { signal });
    return endedBy(name, turn, outcome);
  } catch (error) {
    if (hasCode(error, "session.unknown")) return deleted(name, turn);
    if (!hasCode(error, "turn.unknown") && !hasCode(error, "input.withdrawn")) throw error;
    const { code, message } = error; // The input was withdrawn before its turn began.
    return { agent: name, turn, status: "stopped", code, reason: message };
  }
}

/** The same, for at most `ms`. Undefined if the turn still runs then, and at once if `ms` is 0. */
export async function endWithin(
  ms: number,
  sessions: Sessions,
  agent: Named,
  turn: string,
  signal?: AbortSignal,
): Promise<Ended | undefined> {
  if (ms <= 0) return undefined;
  const late = new AbortController();
  const stop = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
  stop.throwIfAborted();
  const over = Promise.withResolvers<never>();
  stop.addEventListener("abort", () => over.reject(stop.reason), { once: true });
  const clock = setTimeout(() => late.abort(), ms);
  try {
    return await Promise.race([endOf(sessions, agent, turn, stop), over.promise]); // A closing runtime never answers.
  } catch (error) {
    if (late.signal.aborted && signal?.aborted !== true) return undefined;
    throw error;
  } finally {
    clearTimeout(clock);
  }
}

const deleted = (agent: string, turn: string): Ended => ({
  agent,
  turn,
  status: "stopped",
  code: "agent.unknown",
  reason: TEXTS.deleted,
});

export function endedBy(agent: string, turn: string, outcome: TurnOutcome): Ended {
  switch (outcome.kind) {
    case "answered":
      return { agent, turn, status: "finished", result: outcome.text };
    case "finished":
      return { agent, turn, status: "finished", result: outcome.value };
    default: {
      const { kind: status, code, reason, text } = outcome;
      return { agent, turn, status, code, reason, ...(text === "" ? {} : { result: text }) };
    }
  }
}

/** A limit for reading a turn's result: an ended turn has it at once, and a queued turn would not have it at all. */
const LOOK_MS = 1_000;

/** How the latest turn of an agent ended, without waiting for it; undefined while it runs. */
export async function lookAt(
  agent: Agent,
  child: Reading | undefined,
  isOurs: boolean,
  sessions: Sessions,
): Promise<Ended | undefined> {
  const { name, turn = "" } = agent;
  if (child === undefined) return deleted(name, turn);
  const { openTurn } = child;
  if (openTurn !== undefined && (isOurs || openTurn === turn)) return undefined;
  if (turn !== "") return endWithin(LOOK_MS, sessions, agent, turn);
  return { agent: name, turn, status: agent.status === "running" ? "stopped" : agent.status };
}

const REASON_CHARS_MAX = 1_000;
const TEXT_CHARS_MAX = 1_500;

/** A turn that did not finish is a failed call. */
export function requireFinished(ended: Ended): Ended {
  if (ended.status === "finished") return ended;
  throw unfinished(ended, ended.status);
}

/** Its message names the agent and the turn, which `reportedBy` parses. */
function unfinished({ agent, turn, code, reason, result }: Ended, status: "failed" | "stopped"): ToolError {
  const partialText = result === undefined ? "" : ` ${TEXTS.saidBefore(cutTo(String(result), TEXT_CHARS_MAX))}`;
  const why = TEXTS.failed(agent, turn, status, code, cutTo(reason ?? "", REASON_CHARS_MAX));
  return new ToolError(`agent.${status}`, `${why}${partialText}`);
}

/** The error of a call whose own turn is stopped. The agent's turn, for which the call waits, is stopped too. */
export const stoppedWithOwner = (agent: string, turn: string): ToolError =>
  unfinished({ agent, turn, status: "stopped", code: "turn.cancelled", reason: TEXTS.ownerStopped }, "stopped");

export const timedOut = (agent: string, turn: string, ms: number): ToolError =>
  new ToolError("agent.timeout", TEXTS.timedOut(agent, turn, ms), { class: "timeout" });

const NAMED = /^Agent (\S+) \(turn (\S+)\) /;

export interface ReportedTurn {
  readonly agent: string;
  readonly turn: string;
  readonly status: Status;
}

/** The agent, turn and status in a call's result. A failure has no value, so its message is parsed. */
export function reportedBy(output: ToolOutput): ReportedTurn | undefined {
  if (output.kind === "value") return asReported(output.value);
  if (output.kind !== "failure" || !output.failure.code.startsWith("agent.")) return undefined;
  const [, agent, turn] = NAMED.exec(output.failure.message) ?? [];
  if (agent === undefined || turn === undefined) return undefined;
  return { agent, turn, status: output.failure.code === "agent.failed" ? "failed" : "stopped" };
}

/** Checked, because another plugin can replace the result by any value. */
export function asReported(value: Json): ReportedTurn | undefined {
  const { agent, turn, status } = (value ?? {}) as { readonly [field: string]: Json | undefined };
  if (typeof agent !== "string" || typeof turn !== "string" || typeof status !== "string") return undefined;
  return { agent, turn, status: status as Status };
}
