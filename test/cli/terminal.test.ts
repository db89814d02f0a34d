import { describe, expect, test } from "vitest";
import { hasTerminal, start } from "./program.ts";

const CTRL_C = "\x03";
const CTRL_D = "\x04";

test.skipIf(hasTerminal)("the tests in a pseudo-terminal need script(1) of util-linux, which is not here", () => {});

describe.runIf(hasTerminal)("in a terminal", () => {
  test("E6 it greets, shows the answer with its tool call and what it cost, and Ctrl-D leaves", async () => {
    const program = start([], { terminal: true });
    await program.until(/offline demo model.*memory.*\/help[^›]*› $/s);
    program.send("What is 21*2?\r");
    await program.until(
      /calculator \{"expression":"21\*2"\}.*→ ok, \d+ ms.*21\*2 = 42\..*answered · \d+ tokens in, \d+ out · 1 tool call/s,
    );
    program.send("/tools\r");
    await program.until(/notes_remove/);
    program.send("/nothing\r");
    await program.until(/There is no command \/nothing/);
    program.send(CTRL_D);
    expect(await program.ended).toBe(0);
    expect(program.stdout()).toContain("\x1b[2m");
  });

  test("E6 Ctrl-C cancels the answer; at the empty prompt it leaves, elsewhere it clears the line", async () => {
    const program = start([], { terminal: true, env: { BOWLINE_DEMO_DELAY_MS: "250" } });
    await program.until(/› $/);
    program.send("What is 21*2?\r");
    await program.until(/→ ok/);
    program.send(CTRL_C);
    await program.until(/stopped \(turn\.cancelled\).*stopped ·[^›]*›[^›]*$/s);
    program.send("half a line");
    await program.until(/half a line/);
    program.send(`${CTRL_C}What is 1+1?\r`);
    await program.until(/1\+1 = 2\..*answered ·[^›]*›[^›]*$/s);
    program.send(CTRL_C);
    expect(await program.ended).toBe(0);
  });

  test("E6 lines typed while a turn runs are the next turns", async () => {
    const program = start([], { terminal: true, env: { BOWLINE_DEMO_DELAY_MS: "50", NO_COLOR: "1" } });
    await program.until(/› $/);
    program.send("What is 1+1?\rWhat is 2+2?\r");
    await program.until(/calculator/);
    program.send("What is 3+3?\r/quit\r");
    expect(await program.ended).toBe(0);
    const said = program.stdout().replaceAll("\r", "");
    expect(said).toMatch(/1\+1 = 2\..*› What is 2\+2\?\n.*2\+2 = 4\..*› What is 3\+3\?\n.*3\+3 = 6\..*› \/quit\n$/s);
    expect(said).not.toContain("\x1b[2m");
  });
});
