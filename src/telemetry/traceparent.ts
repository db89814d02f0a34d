/** The trace context of a caller. */
export interface Caller {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote: true;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Reads a `traceparent` of W3C Trace Context. Fields after the flags belong to later versions. */
export function parseTraceparent(text: unknown): Caller | undefined {
  if (typeof text !== "string") return undefined;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(text.trim()) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === "ff" || (version === "00" && more !== undefined)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}
