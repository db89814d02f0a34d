import type { Span, TelemetryEvent, TelemetryListener } from "bowline";

/** Takes the diagnostics of a runtime. */
export const onEvent = (take: (event: TelemetryEvent) => unknown): TelemetryListener => ({
  event: (_, event) => void take(event),
});

export interface HookPhase {
  readonly kind: "begin" | "end";
  readonly hook: string;
  readonly plugin: string;
}

/** Takes the beginning and the end of each call of a hook. */
export function onHook(take: (phase: HookPhase) => unknown): TelemetryListener {
  const pass = (kind: HookPhase["kind"], span: Span): void => {
    if (span.kind === "hook") take({ kind, hook: span.hook, plugin: span.plugin });
  };
  return { start: (span) => pass("begin", span), end: (span) => pass("end", span) };
}
