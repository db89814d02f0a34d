import { describe, expect, test } from "vitest";
import { hasTerminal, start } from "./program.ts";

const CTRL_C = "\x03";
const CTRL_D = "\x04";
const DIM = "\x1b[2m";

if (hasTerminal) describe("in a terminal", inTerminal);
else test("a note: the tests in a terminal need script(1) of util-linux, which is not here", () => {});

function inTerminal(): void {
  test.concurrent("E6 it greets, shows the answer with its tool call and what it cost, and Ctrl-D leaves", async () => {
    const program = start([], { terminal: true });
    await program.until(
      /offline demo model.*The conversation is new, stored in \.bowline\/agent\.db\..*\/help lists.*› $/s,
    );
    program.send("What is 21*2?\r");
    await program.until(
      /› What is 21\*2\?\n {2}calculator {"expression":"21\*2"} → ok, \d+ ms\n21\*2 = 42\.\nanswered · \d+ tokens in, \d+ out · 1 tool call · .*\n\n› $/,
    );
    program.send("/tools\r");
    await program.until(/notes_remove .*\n\n› $/);
    program.send("/nothing\r");
    await program.until(/There is no command \/nothing\. \/help lists the commands\.\n\n› $/);
    program.send(CTRL_D);
    expect(await program.ended).toBe(0);
    expect(program.stdout()).toContain(DIM);
  });

  test.concurrent("E6 Ctrl-C cancels the answer; then it clears what is typed; alone it does not leave, twice it does", async () => {
    const program = start([], { terminal: true, env: { BOWLINE_DEMO_DELAY_MS: "100" } });
    await program.until(/› $/);
    program.send("What is 21*2? Help!\r");
    await program.until(/→ ok/);
    program.send(CTRL_C);
    await program.until(/Cancelling\..*Stopped: .*\[turn\.cancelled\]\nstopped · .*\n\n› $/s);
    program.send("half a line");
    await program.until(/half a line$/);
    program.send(CTRL_C);
    await program.until(/half a line› $/);
    program.send("What is 1+1?\r");
    await program.until(/\n1\+1 = 2\.\nanswered · .*\n\n› $/);
    program.send(CTRL_C);
    await program.until(/Press Ctrl-C again to leave\.\n› $/);
    program.send("What is 2+2?\r");
    await program.until(/\n2\+2 = 4\.\nanswered · .*\n\n› $/);
    program.send(CTRL_C);
    await program.until(/Press Ctrl-C again to leave\.\n› $/);
    program.send(CTRL_C);
    expect(await program.ended).toBe(0);
  });

  test.concurrent("E6 lines typed while a turn runs are the next turns", async () => {
    const program = start([], { terminal: true, env: { BOWLINE_DEMO_DELAY_MS: "50", NO_COLOR: "1" } });
    await program.until(/› $/);
    program.send("What is 1+1?\rWhat is 2+2?\r");
    await program.until(/calculator/);
    program.send("What is 3+3?\r/quit\r");
    expect(await program.ended).toBe(0);
    expect(program.seen()).toMatch(
      /1\+1 = 2\.\n.*\n\n› What is 2\+2\?\n.*\n2\+2 = 4\.\n.*\n\n› What is 3\+3\?\n.*\n3\+3 = 6\.\n.*\n\n› \/quit\n$/,
    );
    expect(program.stdout()).not.toContain(DIM);
  });
}
