// Decides which calls may run: by a policy and by the answers that a session remembers. Waiting for an answer, checking
// it and recording it is the runtime's job.
//
// approvals-1: It only ever makes a gate stricter: what other plugins deny stays denied, and the stricter result of
// rules and function counts.
// approvals-2: A remembered answer answers a question. It does not turn a denial into a permission, nor a permission
// into a denial.
// approvals-3: A test that is not possible and a function that throws count against the call.
import {
  type AskedTrail,
  ask,
  definePlugin,
  deny,
  described,
  emitEvent,
  optionsSchema,
  type Services,
  type StateCell,
  type StateView,
  type ToolCall,
} from "../../plugin.ts";
import { type ApprovalState, answerIn, answerTo, isHeld, keep, keptOf, type RememberedAnswer } from "./answers.ts";
import {
  type ApprovalDecision,
  type Asked,
  DECISION,
  type Decide,
  OPTIONS,
  type Settings,
  type Verdict,
} from "./options.ts";
import { TEXTS } from "./texts.ts";

export type { RememberedAnswer } from "./answers.ts";
export type { ArgumentTest } from "./check.ts";
export type { ApprovalDecision, ApprovalRule, ApprovalsOptions } from "./options.ts";

const ID = "bowline/approvals";

/**
 * Allows, denies or asks a person about calls, by rules or a function. If a person is asked, the call waits, also
 * across restarts. The session can remember the answer.
 */
export const approvals = definePlugin({
  id: ID,
  options: OPTIONS,
  state: optionsSchema<unknown, ApprovalState>(keptOf),
  // Options of a session are JSON and cannot hold a function: the function of the installed plugin counts in all
  // sessions.
  open: ({ options }) => options.decide,
  setup: ({ options, shared: decide, gate, query, command }) => {
    const { tools, rememberedMax } = options;
    // If a tool is granted under another name, the rule still applies, because tool gates also get the original name.
    const named = tools.length === 0 ? [] : [tools];
    const isNamed = ({ name }: ToolCall): boolean => tools.includes(name);
    const asked = async (decide: Decide, event: Gated) =>
      answerOn(options, stricter(ruleOn(options, event.call), await decided(decide, event)), event);
    const look = (event: Gated) =>
      decide === undefined ? answerOn(options, ruleOn(options, event.call), event) : asked(decide, event);
    const learn = ({ call, asked, state }: Settled): void => {
      const answer = asked === undefined ? undefined : answerIn(ID, call, asked);
      if (answer !== undefined) keep(state, answer, rememberedMax, Date.now());
    };
    return {
      beforeToolCall: [
        ...named.map((tools) => gate("beforeToolCall", { order: "late", tools, run: look })),
        { order: "late", run: (event) => (isNamed(event.call) ? undefined : look(event)) },
      ],
      afterToolCall: [
        ...named.map((tools) => gate("afterToolCall", { tools, run: learn })),
        { run: (event) => (isNamed(event.call) ? undefined : learn(event)) },
      ],
      operations: {
        remembered: query({
          description: "The answers that the session remembers, oldest first.",
          run: ({ state }): readonly RememberedAnswer[] => {
            const now = Date.now();
            return state.get().answers.filter(({ until }) => isHeld(until, now));
          },
        }),
        forget: command({
          description: "Forgets answers: one by its id, those about a tool, or all.",
          input: FORGET,
          run: ({ input: { id, tool }, state }): { readonly forgotten: number } => {
            const isMeant = (answer: RememberedAnswer): boolean =>
              id === undefined ? tool === undefined || answer.tool === tool : answer.id === id;
            const { answers } = state.get();
            const left = answers.filter((answer) => !isMeant(answer));
            if (left.length < answers.length) state.update(() => ({ answers: left }));
            return { forgotten: answers.length - left.length };
          },
        }),
      },
    };
  },
});

// ── Deciding ────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Gated extends Omit<Asked, "turnId"> {
  readonly turnId?: Asked["turnId"];
  readonly state: StateView<ApprovalState>;
  readonly graph: Services["graph"];
}
interface Settled {
  readonly call: ToolCall;
  readonly asked?: readonly AskedTrail[];
  readonly state: StateCell<ApprovalState>;
}

const ruleOn = ({ rules, otherwise }: Settings, call: ToolCall): ApprovalDecision =>
  rules.find((rule) => rule.isFor(call))?.decision ?? otherwise;

/** Calls the function. A value that is not a decision throws, and so denies the call. */
async function decided(
  decide: Decide,
  { call, sessionId, turnId, signal }: Gated,
): Promise<ApprovalDecision | undefined> {
  const decision = await decide({ call, sessionId, turnId: turnId as Asked["turnId"], signal });
  if (decision === undefined) return undefined;
  const read = await DECISION["~standard"].validate(typeof decision === "string" ? { verdict: decision } : decision);
  if (read.issues !== undefined)
    throw new TypeError(`What decide returned is no decision: ${read.issues[0]?.message}.`);
  return read.value;
}

const STRENGTH: { readonly [V in Verdict]: number } = { allow: 0, ask: 1, deny: 2 };

/** If both have the same verdict, the function's reason counts, or the rule's if the function has none. */
function stricter(ruled: ApprovalDecision, decided: ApprovalDecision | undefined): ApprovalDecision {
  if (decided === undefined || STRENGTH[decided.verdict] < STRENGTH[ruled.verdict]) return ruled;
  return decided.verdict === ruled.verdict ? { ...ruled, ...decided } : decided;
}

/** The answer of the gate: nothing, a denial, or a question. A remembered answer replaces the question. */
function answerOn(settings: Settings, { verdict, reason, ...how }: ApprovalDecision, { call, state, graph }: Gated) {
  if (verdict === "allow") return undefined;
  if (verdict === "deny") return deny(reason ?? TEXTS.denies);
  const question = reason ?? TEXTS.asks(call.name);
  const known = answerTo(state.get(), call, question, how.remembers ?? settings.remembers, Date.now());
  if (known === undefined) return ask(question, { waitMs: how.waitMs ?? settings.waitMs });
  const { id: answer, approved, by, at } = known;
  const body = { callId: call.id, tool: call.name, answer, approved, at, ...(by === undefined ? {} : { by }) };
  const event = emitEvent("remembered", body);
  const directives = approved ? [event] : [event, deny(known.reason ?? TEXTS.deniedBefore)];
  // No person is asked, so the call has no trail. The node records whose answer allowed it.
  return graph.append([{ kind: "plugin", type: "remembered", body }]).then(() => directives);
}

// ── Operations ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** What to forget. One field is required, so that a value that is undefined by mistake does not delete all answers. */
type Forget = { readonly id: string } | { readonly tool: string } | { readonly all: true };

const FORGET = described(
  optionsSchema<Forget, { readonly id?: string; readonly tool?: string }>((given) => {
    given.only("id", "tool", "all");
    const [id, tool] = [given.text("id", undefined), given.text("tool", undefined)];
    const all = given.flag("all", undefined) === true;
    if ([id !== undefined, tool !== undefined, all].filter(Boolean).length !== 1)
      throw given.wrong("needs one of id, tool, and all: true");
    return { ...(id === undefined ? {} : { id }), ...(tool === undefined ? {} : { tool }) };
  }),
  {
    type: "object",
    properties: { id: { type: "string" }, tool: { type: "string" }, all: { const: true } },
    minProperties: 1,
    maxProperties: 1,
    additionalProperties: false,
  },
);
