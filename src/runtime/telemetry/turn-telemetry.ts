// The spans of one run of a turn: the turn, its rounds, calls, cells, waits and its commit.
// Not its job: spans of hooks (`runtime.ts` gives them to the hook runner), attempts at model calls (`model.ts`).
import type { Perform, TurnRun } from "../../hosts/host.ts";
import { isThenable } from "../../model/awaitable.ts";
import type { EffectName } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import type { ModelRequest } from "../../model/request.ts";
import { waitIdOf } from "../../model/wait.ts";
import type { Provider } from "../../providers/provider.ts";
import type { EndedTurn } from "../../stores/store.ts";
import type { CellSpan, CommitSpan, RoundSpan, Span, ToolSpan, TurnSpan, WaitSpan } from "../../telemetry/telemetry.ts";
import { type Effect, type EffectOf, GRACE } from "../../turn/effect.ts";
import type { Answer, TurnEvent } from "../../turn/event.ts";
import type { TurnState } from "../../turn/state.ts";
import { placeOf } from "../live-turn/draft.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { errorOf, type TelemetryHub } from "./hub.ts";
import { attemptsOf, type ObserveAttempt } from "./model.ts";

type Waiting = EffectOf<"wait"> | EffectOf<"sleep">;

/** The grace period of a cancelled turn is a limit and not a wait. */
const isWaiting = (effect: Effect): effect is Waiting =>
  effect.kind === "wait" || (effect.kind === "sleep" && effect.name !== GRACE);

export class TurnTelemetry {
  readonly #hub: TelemetryHub;
  readonly #live: LiveTurn;
  readonly #turn: TurnSpan;
  #round: RoundSpan | undefined;
  readonly #waits = new Map<EffectName, WaitSpan>();
  /** The spans of running calls, by effect. */
  readonly #calls = new Map<EffectName, ToolSpan | CellSpan>();

  constructor(hub: TelemetryHub, live: LiveTurn) {
    this.#hub = hub;
    this.#live = live;
    const { opened, lease, session, isResumed } = live;
    this.#turn = hub.begin(
      defined({
        kind: "turn" as const,
        ...this.place,
        owner: session.snapshot.stored.owner,
        label: opened.config.label,
        model: opened.config.model,
        metadata: opened.metadata,
        generation: lease.generation,
        isResumed,
        input: opened.input.parts,
      }),
    );
  }

  get place() {
    const { sessionId, turnId } = this.#live;
    return { sessionId, turnId };
  }

  /** The span that contains new work of the turn. */
  get current(): Span {
    return this.#round ?? this.#turn;
  }

  /** The state of the turn changes to `state`, by an event or at its beginning. */
  moving(state: TurnState, event: TurnEvent | undefined): void {
    if (event?.kind === "resolved") {
      const wait = this.#live.state.open.find((effect) => effect.name === event.effect);
      if (wait?.kind === "wait") this.#answered(wait, event);
    }
    if (event?.kind === "slept") this.#endWait(event.effect, { how: "answered" });
    for (const name of this.#waits.keys())
      if (!state.open.some((effect) => effect.name === name)) this.#endWait(name, { how: "left" });
    if (state.phase.kind === "ended") return this.#endRound();
    if (this.#round?.round !== state.round) {
      this.#endRound();
      this.#round = this.#hub.begin({ kind: "round", parent: this.#turn, ...this.place, round: state.round });
    }
    for (const effect of state.open)
      if (isWaiting(effect) && !this.#waits.has(effect.name)) this.#waits.set(effect.name, this.#wait(effect));
  }

  /** The span of the call at this place, or of the round. */
  at(place: EffectName): Span {
    return this.#calls.get(place) ?? this.current;
  }

  modelCall(provider: Provider, model: string, request: ModelRequest): ObserveAttempt {
    return attemptsOf(this.#hub, { parent: this.current, ...this.place }, provider, {
      model,
      purpose: "turn",
      request,
    });
  }

  #endRound(): void {
    if (this.#round !== undefined) this.#hub.end(this.#round);
    this.#round = undefined;
  }

  #wait(effect: Waiting): WaitSpan {
    const { kind, until, at: startedAt } = effect;
    const common = { kind: "wait", parent: this.current, ...this.place, startedAt, until } as const;
    if (kind === "sleep") return this.#hub.begin({ ...common, wants: "time" });
    const { about, key } = effect;
    const waitId = waitIdOf(key);
    if (about.kind === "turns") return this.#hub.begin({ ...common, wants: "turns", waitId });
    const { kind: wants, reason, call } = about;
    return this.#hub.begin({ ...common, wants, waitId, reason, call });
  }

  #answered(effect: EffectOf<"wait">, { answer }: Extract<TurnEvent, { readonly kind: "resolved" }>): void {
    // The answer came while the turn was parked, so its wait has no span in this run yet.
    if (!this.#waits.has(effect.name)) this.#waits.set(effect.name, this.#wait(effect));
    const how = answer.kind === "value" ? "answered" : answer.kind;
    const by = answer.kind === "timeout" ? undefined : answer.by;
    this.#endWait(effect.name, by === undefined ? { how } : { how, by });
  }

  #endWait(name: EffectName, results: Partial<WaitSpan>): void {
    const span = this.#waits.get(name);
    if (span !== undefined) this.#hub.end(span, results);
    this.#waits.delete(name);
  }

  /** Gives each tool call and each segment of a cell a span. Hosts perform only effects that are not recorded. */
  performing(perform: Perform): Perform {
    return (effect, scope) => {
      if (effect.kind !== "call" && effect.kind !== "exec") return perform(effect, scope);
      const span = this.#begin(effect, scope.isResumed === true);
      this.#calls.set(placeOf(effect), span);
      const ended = (answer: Answer): Answer => {
        this.#calls.delete(placeOf(effect));
        this.#hub.end(span, resultsOf(answer));
        return answer;
      };
      const failed = (error: unknown): never => {
        this.#calls.delete(placeOf(effect));
        this.#hub.end(span, { error: errorOf(error) });
        throw error;
      };
      try {
        const answer = perform(effect, scope);
        return isThenable(answer) ? answer.then(ended, failed) : ended(answer);
      } catch (error) {
        return failed(error);
      }
    };
  }

  #begin(effect: EffectOf<"call"> | EffectOf<"exec">, isResumed: boolean): ToolSpan | CellSpan {
    const common = { parent: this.current, ...this.place };
    if (effect.kind === "exec") return this.#hub.begin({ kind: "cell", ...common, code: effect.cell.code });
    const { call, attempt } = effect;
    return this.#hub.begin({ kind: "tool", ...common, call, attempt, isResumed });
  }

  async commit(run: TurnRun, turn: EndedTurn): Promise<Awaited<ReturnType<TurnRun["commit"]>>> {
    const common = { kind: "commit", parent: this.#turn, ...this.place } as const;
    const span = this.#hub.begin<CommitSpan>({ ...common, outcome: turn.outcome.kind });
    try {
      const answer = await run.commit(turn);
      this.#hub.end(span);
      return answer;
    } catch (error) {
      this.#hub.end(span, { error: errorOf(error) });
      throw error;
    }
  }

  committed({ outcome, usage }: EndedTurn): void {
    const error = outcome.kind === "failed" ? { code: outcome.code, message: outcome.reason } : undefined;
    this.#over(defined({ how: "committed" as const, outcome, usage, rounds: this.#live.state.round, error }));
  }

  parked(): void {
    this.#over({ how: "parked", rounds: this.#live.state.round });
  }

  lost(error: unknown): void {
    this.#over({ how: "lost", error: errorOf(error) });
  }

  #over(results: Partial<TurnSpan>): void {
    for (const name of [...this.#waits.keys()]) this.#endWait(name, { how: "left" });
    this.#endRound();
    this.#hub.end(this.#turn, results);
  }
}

/** The results in the span of a call or of a segment of a cell. */
function resultsOf(answer: Answer): Pick<ToolSpan, "error" | "output"> & Pick<CellSpan, "state"> {
  if (answer.kind === "failed") return { error: { code: answer.error.code, message: answer.error.message } };
  if (answer.kind === "executed") return { state: answer.output.state };
  if (answer.kind !== "returned") return {};
  const { output } = answer;
  if (output.kind !== "failure") return { output };
  return { output, error: { code: output.failure.code, message: output.failure.message } };
}
