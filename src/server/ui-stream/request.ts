// Reads the body that `useChat` sends. Only its last message counts: the session has the history.
import { RuntimeError } from "../../model/errors.ts";
import { nodeAddress } from "../../model/ids.ts";
import { isObject, type Json } from "../../model/json.ts";
import type { Attachment } from "../../model/message.ts";
import type { Result } from "./items.ts";
import type { Shown } from "./writer.ts";

const ID_MAX = 200;
const PARTS_MAX = 1_000;

export type Sent = { readonly session: string } & (
  | {
      readonly kind: "message";
      readonly id: string;
      /** The turn that the id names, if the server made the id. */
      readonly turn?: string;
      readonly parts: readonly (string | { readonly data: Uint8Array; readonly about: Omit<Attachment, "hash"> })[];
    }
  | {
      readonly kind: "answers";
      readonly turn: string;
      readonly answers: readonly Answer[];
      /** What the client shows of the turn. */
      readonly shown: readonly Shown[];
      readonly asked: readonly string[];
      readonly others: readonly string[];
      /** The last step has only calls of other sessions. */
      readonly isAside: boolean;
    }
);

/** The answer to an approval, by its id, or the output of a tool that the client ran, by the id of the call. */
export type Answer =
  | { readonly wait: string; readonly answer: { readonly approved: boolean; readonly reason?: string } }
  | { readonly tool: string; readonly answer: { readonly value: Json } | { readonly error: string } };

const invalid = (problem: string): never => {
  throw new RuntimeError("server.invalid", { problem });
};

export function sentIn({ id: session, messages }: { readonly [field: string]: unknown }): Sent {
  if (!isId(session)) return invalid("`id` must be the id of a session");
  const last = Array.isArray(messages) ? (messages.at(-1) as unknown) : undefined;
  if (!isObject(last) || !isId(last.id) || !Array.isArray(last.parts) || last.parts.length > PARTS_MAX)
    return invalid("`messages` must end with a message that has an `id` and `parts`");
  const parts = (last.parts as readonly unknown[]).map((part) =>
    isObject(part) && typeof part.type === "string" ? part : invalid("a part must have a `type`"),
  );
  if (last.role === "assistant") return { session, ...answersIn(last.id, parts) };
  if (last.role !== "user") return invalid("the last message must be of the user or the assistant");
  const turn = nodeAddress(last.id)?.commit;
  const own = { kind: "message", id: last.id, parts: parts.map(inputIn) } as const;
  return { session, ...own, ...(turn === undefined ? {} : { turn }) };
}

const isId = (id: unknown): id is string => typeof id === "string" && id !== "" && id.length <= ID_MAX;

type Fields = { readonly [field: string]: unknown };
type Message = Extract<Sent, { kind: "message" }>;

function inputIn({ type, text, url, mediaType, filename }: Fields): Message["parts"][number] {
  if (type === "text" && typeof text === "string") return text;
  if (type !== "file" || typeof url !== "string" || typeof mediaType !== "string")
    return invalid(
      `a message of the user has parts of type \`text\` and \`file\`, not \`${String(type).slice(0, 40)}\``,
    );
  const [, base64] = /^data:[^,]*;base64,([A-Za-z0-9+/]*={0,2})$/.exec(url) ?? [];
  if (base64 === undefined) return invalid("a `file` must have a data URL in base64");
  const data = new Uint8Array(Buffer.from(base64, "base64"));
  const name = typeof filename === "string" ? { name: filename } : {};
  return { data, about: { kind: "attachment", mediaType, bytes: data.byteLength, ...name } };
}

function answersIn(turn: string, parts: readonly Fields[]): Omit<Extract<Sent, { kind: "answers" }>, "session"> {
  const shown: Shown[] = [];
  const [answers, asked, others]: [Answer[], string[], string[]] = [[], [], []];
  let step = -1;
  let isAside = false; // Until the step has an item of the turn.
  const show = (item: Shown): void => {
    if (isAside) step++;
    isAside = false;
    shown.push({ ...item, step });
  };
  for (const part of parts) {
    const { type, text, toolCallId: id, toolName, input, state } = part;
    if (type === "step-start") isAside = true;
    if ((type === "text" || type === "reasoning") && typeof text === "string" && text !== "")
      show({ kind: type, step, text });
    if (!isId(id) || !/^(?:dynamic-tool$|tool-)/.test(type as string)) continue;
    const result = resultIn(part);
    const approval = isObject(part.approval) ? part.approval : {};
    if (isId(approval.id)) asked.push(approval.id);
    if (state === "approval-responded" && isId(approval.id) && typeof approval.approved === "boolean") {
      const reason = typeof approval.reason === "string" ? { reason: approval.reason } : {};
      answers.push({ wait: approval.id, answer: { approved: approval.approved, ...reason } });
    }
    if (result?.kind === "output") answers.push({ tool: id, answer: { value: result.output } });
    if (result?.kind === "error") answers.push({ tool: id, answer: { error: result.text } });
    const item = { kind: "tool", step, id, name: String(toolName), input: input as Json } as const;
    if (id.startsWith(`${turn}/`)) show(result === undefined ? item : { ...item, result });
    else if (result === undefined) others.push(id);
  }
  if (answers.length === 0) return invalid("the last message is of the assistant and answers nothing");
  return { kind: "answers", turn, answers, shown, asked, others, isAside };
}

function resultIn({ state, output, errorText }: Fields): Result | undefined {
  if (state === "output-available") return { kind: "output", output: (output ?? null) as Json };
  if (state === "output-error" && typeof errorText === "string") return { kind: "error", text: errorText };
  return state === "output-denied" ? { kind: "denied" } : undefined;
}
