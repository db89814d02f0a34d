// What code reads while it runs: messages, large values, tools. Each answer is recorded with the segment that passed it
// to the code, and a replay uses the record.
import type { CodeContext, Json } from "../../protocol.ts";
import type { GuestRead } from "../../sandbox/quickjs/index.ts";
import { type Bindings, bindings } from "./bindings.ts";
import { saidIn } from "./history.ts";
import { searchTools } from "./search.ts";
import type { CodeState } from "./state.ts";
import { TEXTS } from "./texts.ts";

/** The recorded answer. A value that came with the turn is already recorded there, so the answer only has its name. */
export type ReadAnswer =
  | { readonly value: Json }
  | { readonly ofTurn: string }
  | { readonly error: { readonly code: string; readonly message: string } };

export async function answerRead(
  reads: GuestRead,
  context: CodeContext<CodeState>,
  values: Bindings,
): Promise<ReadAnswer> {
  if ("search" in reads) return { value: await searchTools(reads.search, context, values.names) };
  if ("history" in reads) {
    const message = context.messages()[reads.history];
    if (message === undefined) return failed("history.range", TEXTS.noMessage(reads.history));
    return { value: saidIn(message) };
  }
  const { binding } = reads;
  if (values.isOfTurn(binding)) return { ofTurn: binding };
  const value = await values.read(binding);
  return value === undefined ? failed("binding.unknown", TEXTS.noBinding(binding)) : { value };
}

const failed = (code: string, message: string): ReadAnswer => ({ error: { code, message } });

/** What code receives for an answer. */
export function deliveryOf(answer: ReadAnswer, { extension }: Pick<CodeContext<CodeState>, "extension">): object {
  if (!("ofTurn" in answer)) return answer;
  return { value: extension(bindings)?.[answer.ofTurn] ?? null };
}
