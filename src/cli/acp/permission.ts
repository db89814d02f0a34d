// Asks the client about a wait. Only the choices that were offered count as an answer.
import type { PermissionOption } from "@agentclientprotocol/sdk";
import type { Approval, Delivery, Json, PendingWait } from "../../index.ts";

/** The answers that a person can choose, by the id of their option. */
interface Choices {
  readonly options: PermissionOption[];
  answerOf(optionId: string): Approval | Delivery | undefined;
}

const VALUES_MAX = 20;

/** Undefined for a wait that a choice cannot answer: a result from elsewhere, and a question with any text. */
export function choicesOf({ kind, schema }: Pick<PendingWait, "kind" | "schema">): Choices | undefined {
  if (kind === "result") return undefined;
  if (kind !== "question") {
    const [allow, reject] =
      kind === "approval" ? ["Allow", "Deny"] : ["Run it again", "Do not run it again: its result is unknown"];
    const answers: Record<string, Approval> = { allow: { approved: true }, reject: { approved: false } };
    const options: PermissionOption[] = [
      { optionId: "allow", name: allow as string, kind: "allow_once" },
      { optionId: "reject", name: reject as string, kind: "reject_once" },
    ];
    return { options, answerOf: (id) => (Object.hasOwn(answers, id) ? answers[id] : undefined) };
  }
  const values: readonly Json[] =
    schema?.type === "boolean" ? [true, false] : Array.isArray(schema?.enum) ? schema.enum : [];
  if (values.length === 0 || values.length > VALUES_MAX) return undefined;
  const offered = values.map((value, nth): PermissionOption => {
    const name = typeof value === "string" ? value : JSON.stringify(value);
    return { optionId: `value-${nth}`, name, kind: "allow_once" };
  });
  return {
    options: [...offered, { optionId: "reject", name: "Do not answer", kind: "reject_once" }],
    answerOf: (id) => {
      if (id === "reject") return { error: "The person did not want to answer." };
      const nth = offered.findIndex(({ optionId }) => optionId === id);
      return nth < 0 ? undefined : { value: values[nth] as Json };
    },
  };
}
