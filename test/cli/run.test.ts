import { expect, test } from "vitest";
import type { SessionEvent, TurnResult } from "../../src/index.ts";
import { bowline } from "./program.ts";

test.concurrent("E6 run answers once", async () => {
  expect(await bowline(["run", "What is 21*2?"])).toEqual({ code: 0, stdout: "21*2 = 42.\n", stderr: "" });
});

test.concurrent("E6 run --json gives every event as a line, and the result last", async () => {
  const { code, stdout } = await bowline(["run", "--json", "--session", "sums", "What is 21*2?"]);
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  const events = lines.slice(0, -1).map((line) => JSON.parse(line) as SessionEvent);
  const result = JSON.parse(lines.at(-1)!) as { kind: "result" } & TurnResult;
  expect(result).toMatchObject({ kind: "result", outcome: { kind: "answered", text: "21*2 = 42." } });
  expect(new Set(events.map(({ sessionId }) => sessionId))).toEqual(new Set(["sums"]));
  const ended = events.find((event) => event.kind === "toolEnded");
  expect(ended).toMatchObject({ name: "calculator", status: "ok", output: { kind: "value", value: 42 } });
  const streamed = events.flatMap((event) => (event.kind === "text" ? [event.delta] : []));
  expect(streamed.length).toBeGreaterThan(1);
  expect(streamed.join("")).toBe("21*2 = 42.");
  expect(events.at(-1)?.kind).toBe("committed");
});

test.concurrent("E6 wrong usage is exit 2", async () => {
  const says = "bowline: There is no option --colour. See bowline --help. Text that begins with - goes after --.\n";
  expect(await bowline(["--colour"])).toEqual({ code: 2, stdout: "", stderr: says });
});

test.concurrent.each([
  ["nobody-has-this/model", "npm install @ai-sdk/nobody-has-this"],
  ["anthropic/claude-sonnet-4-5", "set ANTHROPIC_API_KEY"],
  ["openai-compatible/any", "BOWLINE_BASE_URL is not set"],
])("E1 what %s lacks is reported in one line with an action", async (BOWLINE_MODEL, says) => {
  const { code, stdout, stderr } = await bowline([], { env: { BOWLINE_MODEL }, input: "hello\n" });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^bowline: .+\n$/);
  expect(stderr).toContain(says);
});
