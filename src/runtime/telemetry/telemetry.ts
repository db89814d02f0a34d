// Reports the work of the runtime to listeners. Loaded only if `createRuntime` gets a listener.
import type { ObserveHandler } from "../../kernel/hook-runner.ts";
import { isThenable } from "../../model/awaitable.ts";
import type { JobRecord } from "../../model/job.ts";
import { defined } from "../../model/json.ts";
import type { ToolCall } from "../../model/tool.ts";
import type { World } from "../../model/world.ts";
import type { HookSpan, JobSpan, StoreSpan, TelemetryListener } from "../../telemetry/telemetry.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { errorOf, TelemetryHub } from "./hub.ts";
import { attemptsOf } from "./model.ts";
import { TurnTelemetry } from "./turn-telemetry.ts";

export class Telemetry {
  readonly hub: TelemetryHub;

  constructor(listeners: readonly TelemetryListener[], world: World, isSimulated: boolean) {
    this.hub = new TelemetryHub(listeners, world, isSimulated);
  }

  turn(live: LiveTurn): TurnTelemetry {
    return new TurnTelemetry(this.hub, live);
  }

  readonly attempts = (...args: Tail<Parameters<typeof attemptsOf>>) => attemptsOf(this.hub, ...args);

  /** Undefined if no listener wants spans of hooks. */
  get handler(): ObserveHandler | undefined {
    return this.hub.wants("hook") ? this.#handler : undefined;
  }

  readonly #handler: ObserveHandler = (hook, plugin, { span: parent, sessionId, turnId }, sees) => {
    const { event, call } = sees as { readonly event?: { readonly kind: string }; readonly call?: ToolCall };
    const about = { sessionId, turnId, parent, event: event?.kind, call };
    const span = this.hub.begin<HookSpan>({ kind: "hook", hook, plugin, ...(defined(about) as object) });
    return (error) => this.hub.end(span, error === undefined ? {} : { error: errorOf(error) });
  };

  /** Begins the span of a job that this process runs. */
  job({ id: jobId, kind: job, sessionId, operation, label }: JobRecord): JobSpan {
    return this.hub.begin<JobSpan>({ kind: "job", jobId, job, sessionId, label, ...defined({ operation }) });
  }

  /** Calls a method of the store. */
  store(operation: string, call: () => unknown): unknown {
    const span = this.hub.begin<StoreSpan>({ kind: "store", operation });
    const failed = (error: unknown): never => {
      this.hub.end(span, { error: errorOf(error) });
      throw error;
    };
    try {
      const answer = call();
      if (isThenable(answer))
        return answer.then((value) => {
          this.hub.end(span);
          return value;
        }, failed);
      this.hub.end(span);
      return answer;
    } catch (error) {
      return failed(error);
    }
  }
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never;
