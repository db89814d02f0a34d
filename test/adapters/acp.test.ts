import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ContentBlock, type McpServer, methods } from "@agentclientprotocol/sdk";
import { describe, expect, test, vi } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { callsOf } from "../../src/model/message.ts";
import { demo } from "../../src/providers/demo.ts";
import { sqlite } from "../../src/stores/sqlite.ts";
import { bowline, folder, start } from "../cli/program.ts";
import { appFolder, choose, edit } from "./acp-client.ts";

vi.setConfig({ testTimeout: 60_000 });
const APP = ["--app", "agent.ts"];

/** What the store has of a session, in the words of `Screen.shown`, without thoughts. */
async function stored(cwd: string, id: string) {
  await using runtime = await createRuntime({
    store: sqlite(join(cwd, ".bowline/agent.db")),
    model: demo(),
    recover: "never",
  });
  const { messages, waits } = await runtime.sessions.get(id);
  const texts = messages.flatMap(({ role, parts }) => {
    const text = parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
    return role === "tool" || text === "" ? [] : [`${role === "user" ? "user" : "agent"}_message: ${text}`];
  });
  return { texts, calls: messages.flatMap(({ parts }) => callsOf(parts)).length, waits };
}
const answered = (shown: readonly string[]) => shown.filter((line) => line.startsWith("agent_message"));
const conversation = (shown: readonly string[]) => shown.filter((line) => !line.startsWith("agent_thought"));

describe.concurrent("bowline acp", () => {
  test("E5 a prompt streams thoughts, text and calls of the built-in agent, and ends with end_turn", async () => {
    const cwd = folder();
    const editor = await edit([], cwd);
    const id = await editor.create();
    expect(await editor.prompt(id, "Hello. What is 2+3?")).toEqual({ stopReason: "end_turn" });
    expect(editor.screen.shown).toEqual(["agent_message: Hello! 2+3 = 5."]);
    const [[callId, call] = []] = editor.screen.calls;
    expect(callId).toMatch(/^trn_\w+\/r1\.call\.0$/);
    expect(call).toEqual({ title: 'calculator {"expression":"2+3"}', status: "completed", output: "5" });
    expect(await editor.leave()).toBe(0);
    expect(editor.program.stderr()).toMatch(/^Bowline \S+ speaks ACP for the offline demo model.*\n$/);
  });

  test("E5 initialize names the version and what the agent can do", async () => {
    const editor = await edit(["--db", ":memory:"], folder());
    const answer = await editor.connection.agent.request(methods.agent.initialize, { protocolVersion: 99 });
    expect(answer).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: "bowline" },
      agentCapabilities: { loadSession: true, promptCapabilities: { image: false, embeddedContext: true } },
    });
    await editor.leave();
  });

  test("E5 stdout has only the protocol, also if the app and its tools print", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    await editor.prompt(await editor.create(), "pay 3");
    await editor.leave();
    for (const line of editor.program.stdout().trimEnd().split("\n")) expect(JSON.parse(line).jsonrpc).toBe("2.0");
    expect(editor.program.stderr()).toContain("not for the client");
    expect(editor.program.stderr()).toContain("paying");
  });

  test("E5 a call that waits asks for permission and runs after it, and two calls with one provider id stay apart", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd, ({ toolCall: { rawInput } }) =>
      (rawInput as { readonly euros: number }).euros === 3
        ? { outcome: { outcome: "selected", optionId: "allow" } }
        : { outcome: { outcome: "selected", optionId: "reject" } },
    );
    const id = await editor.create();
    expect(await editor.prompt(id, "pay 3 900")).toEqual({ stopReason: "end_turn" });
    expect(editor.asked.map(({ toolCall, options }) => [toolCall.title, options.map(({ kind }) => kind)])).toEqual([
      ['pay {"euros":3}', ["allow_once", "reject_once"]],
      ['pay {"euros":900}', ["allow_once", "reject_once"]],
    ]);
    expect([...editor.screen.calls.keys()]).toEqual(editor.asked.map(({ toolCall }) => toolCall.toolCallId));
    expect([...editor.screen.calls.values()].map(({ status }) => status)).toEqual(["completed", "failed"]);
    expect(readFileSync(join(cwd, "paid"), "utf8")).toBe("3\n");
    expect(JSON.stringify([editor.asked, editor.screen.updates])).not.toMatch(/"key"/);
    await editor.leave();
  });

  test("E5 a choice that was not offered answers nothing, and the wait stays open", async () => {
    const { cwd, hasPaid } = appFolder();
    const editor = await edit(APP, cwd, choose("allow_always"));
    const id = await editor.create();
    const prompt = editor.prompt(id, "pay 3");
    await editor.program.until(/"allow_always", which was not offered/);
    expect((await stored(cwd, id)).waits).toHaveLength(1);
    await editor.cancel(id);
    expect(await prompt).toMatchObject({ stopReason: "cancelled" });
    expect(hasPaid()).toBe(false);
    await editor.leave();
  });

  test("E5 a question with a list of answers is a choice", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd, choose("value-1"));
    await editor.prompt(await editor.create(), "seat");
    expect([...editor.screen.calls.values()]).toMatchObject([{ status: "completed", output: "aisle" }]);
    expect(editor.asked[0]?.options.map(({ name }) => name)).toEqual(["window", "aisle", "Do not answer"]);
    await editor.leave();
  });

  test("E5 a wait of a child session reaches the client of its root", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    expect(await editor.prompt(id, "delegate")).toEqual({ stopReason: "end_turn" });
    expect(editor.asked.map(({ sessionId, toolCall }) => [sessionId, toolCall.title])).toEqual([
      [id, 'pay {"euros":7}'],
    ]);
    expect([...editor.screen.calls.values()]).toMatchObject([{ status: "completed" }]);
    await editor.leave();
  });

  test("E5 cancel in mid-turn ends the turn and withdraws the prompt behind it", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    const [first, second] = [editor.prompt(id, "slow"), editor.prompt(id, "never")];
    await editor.until(() => editor.screen.shown.includes("agent_message: One, "));
    await editor.cancel(id);
    expect(await first).toMatchObject({ stopReason: "cancelled" });
    expect(await second).toMatchObject({ stopReason: "cancelled" });
    await editor.leave();
    expect(editor.screen.shown).toEqual(["agent_message: One, "]);
    expect((await stored(cwd, id)).texts).toEqual(["user_message: slow", "agent_message: One, "]);
  });

  test("E5 cancel while a permission is asked takes the question back", async () => {
    const { cwd, hasPaid } = appFolder();
    const editor = await edit(APP, cwd, () => new Promise(() => {}));
    const id = await editor.create();
    const prompt = editor.prompt(id, "pay 3");
    await editor.until(() => editor.asked.length === 1);
    await editor.cancel(id);
    expect(await prompt).toMatchObject({ stopReason: "cancelled" });
    await editor.until(() => editor.withdrawn.length === 1);
    expect(hasPaid()).toBe(false);
    await editor.leave();
  });

  test("E5 a cancel right after its prompt, and a cancelled request, end the turn", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    const early = editor.prompt(id, "slow");
    await editor.cancel(id);
    expect(await early).toMatchObject({ stopReason: "cancelled" });

    const request = new AbortController();
    const prompt = editor.connection.agent.request(
      methods.agent.session.prompt,
      { sessionId: id, prompt: [{ type: "text", text: "slow" }] },
      { cancellationSignal: request.signal },
    );
    await editor.until(() => editor.screen.shown.includes("agent_message: One, "));
    request.abort();
    expect(await prompt).toMatchObject({ stopReason: "cancelled" });
    await editor.leave();
  });

  test("E5 a client that disappears in mid-turn cancels nothing, and the next process ends the turn", async () => {
    const { cwd, go } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    editor.prompt(id, "slow").catch(() => {});
    await editor.until(() => editor.screen.shown.includes("agent_message: One, "));
    editor.program.child.stdout?.destroy();
    expect(await editor.leave()).toBe(0);
    expect(editor.program.stderr()).not.toContain("bowline:");

    const later = await edit(APP, cwd);
    await later.load(id);
    go();
    await later.until(() => later.screen.shown.includes("agent_message: One, two."));
    expect(later.screen.notices).toEqual([]);
    await later.leave();
  });

  test("E5 a second client that loads in mid-turn gets the text so far, the rest, and what the first one sends", async () => {
    const { cwd, go } = appFolder();
    const [first, second] = [await edit(APP, cwd), await edit(APP, cwd)];
    const id = await first.create();
    const prompt = first.prompt(id, "slow");
    await first.until(() => first.screen.shown.includes("agent_message: One, "));
    await second.load(id);
    await second.until(() => second.screen.shown.includes("agent_message: One, "));
    go();
    await prompt;
    await first.prompt(id, "bye");
    const { texts } = await stored(cwd, id);
    await second.until(() => conversation(second.screen.shown).length === texts.length);
    expect(conversation(second.screen.shown)).toEqual(texts);
    await Promise.all([first.leave(), second.leave()]);
  });

  test("E5 load of an open session in mid-turn replays it, and its prompt still ends", async () => {
    const { cwd, go } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    const prompt = editor.prompt(id, "slow");
    await editor.until(() => editor.screen.shown.includes("agent_message: One, "));
    editor.screen.texts.clear();
    await editor.load(id);
    await editor.until(() => editor.screen.shown.includes("agent_message: One, "));
    go();
    expect(await prompt).toEqual({ stopReason: "end_turn" });
    await editor.until(() => editor.screen.shown.includes("agent_message: One, two."));
    expect(editor.screen.shown).toEqual(["user_message: slow", "agent_message: One, two."]);
    await editor.leave();
  });

  test("E5 two prompts at once run one after the other, and each gets its own answer", async () => {
    const { cwd, go } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    const both = Promise.all([editor.prompt(id, "slow"), editor.prompt(id, "again")]);
    await editor.until(() => editor.screen.shown.includes("agent_message: One, "));
    go();
    expect(await both).toEqual([{ stopReason: "end_turn" }, { stopReason: "end_turn" }]);
    expect(answered(editor.screen.shown)).toEqual(["agent_message: One, two.", "agent_message: You said: again"]);
    await editor.leave();
  });

  test("E5 load in a new process replays the conversation as it was shown live", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    await editor.prompt(id, "pay 3");
    await editor.prompt(id, "hello");
    await editor.leave();

    const later = await edit(APP, cwd);
    await later.load(id);
    expect(answered(later.screen.shown)).toEqual(answered(editor.screen.shown));
    expect([...later.screen.calls]).toEqual([...editor.screen.calls]);
    const { texts, calls } = await stored(cwd, id);
    expect(conversation(later.screen.shown)).toEqual(texts);
    expect(later.screen.calls.size).toBe(calls);
    expect(later.asked).toEqual([]);
    const { sessions } = await later.connection.agent.request(methods.agent.session.list, { cwd });
    expect(sessions).toMatchObject([{ sessionId: id, cwd, title: "You said: hello" }]);
    await later.leave();
  });

  test("E5 kill -9 in mid-turn: the next process resumes the turn, and load shows the text once", async () => {
    const { cwd, go } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    editor.prompt(id, "slow").catch(() => {});
    await editor.until(() => editor.screen.shown.includes("agent_message: One, "));
    editor.program.child.kill("SIGKILL");
    await editor.program.ended;

    const later = await edit(APP, cwd);
    await later.load(id);
    await later.until(() => answered(later.screen.shown).length === 1);
    go();
    await later.until(() => later.screen.shown.includes("agent_message: One, two."));
    expect(await later.prompt(id, "bye")).toEqual({ stopReason: "end_turn" });
    const { texts } = await stored(cwd, id);
    expect(conversation([...later.screen.shown, "user_message: bye"]).toSorted()).toEqual([...texts].toSorted());
    await later.leave();
  });

  test("E5 kill -9 of the process that runs the turn: another client of the session gets the rest, and nothing twice", async () => {
    const { cwd, go } = appFolder();
    const [first, second] = [await edit(APP, cwd), await edit(APP, cwd)];
    const id = await first.create();
    first.prompt(id, "slow").catch(() => {});
    await first.until(() => first.screen.shown.includes("agent_message: One, "));
    await second.load(id);
    await second.until(() => second.screen.shown.includes("agent_message: One, "));
    first.program.child.kill("SIGKILL");
    await first.program.ended;
    go();
    await second.until(() => second.screen.shown.includes("agent_message: One, two."));
    await vi.waitFor(async () => expect(conversation(second.screen.shown)).toEqual((await stored(cwd, id)).texts));
    expect(second.screen.notices).toEqual([]);
    await second.leave();
  });

  test("E5 a client that leaves while a permission is asked is asked again after load, and the call runs once", async () => {
    const { cwd, hasPaid } = appFolder();
    const editor = await edit(APP, cwd, () => new Promise(() => {}));
    const id = await editor.create();
    editor.prompt(id, "pay 3").catch(() => {});
    await editor.until(() => editor.asked.length === 1);
    expect(await editor.leave()).toBe(0);
    expect(hasPaid()).toBe(false);

    const later = await edit(APP, cwd);
    await later.load(id);
    await later.until(() => later.screen.shown.includes("agent_message: You said: pay 3"));
    expect(later.asked.map(({ toolCall }) => toolCall.toolCallId)).toEqual([editor.asked[0]?.toolCall.toolCallId]);
    expect(readFileSync(join(cwd, "paid"), "utf8")).toBe("3\n");
    await later.leave();
  });

  test("E5 the text of a failed attempt is followed by a notice and a message with a new id", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    await editor.prompt(await editor.create(), "flaky");
    const ids = [...editor.screen.texts].filter(([id]) => id.startsWith("agent_message"));
    expect(ids.map(([, text]) => text)).toEqual(["Hello wor", "You said: flaky"]);
    expect(editor.screen.notices).toEqual(["The answer begins again"]);
    await editor.leave();
  });

  test("E5 a failed turn is an error with its reason, and the next prompt works", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    await expect(editor.prompt(id, "fail")).rejects.toThrow(/Your key is wrong/);
    expect(await editor.prompt(id, "hello")).toEqual({ stopReason: "end_turn" });
    await editor.leave();
  });

  test("E5 a deleted session ends its prompts with an error, and other sessions work", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd, () => new Promise(() => {}));
    const [gone, other] = [await editor.create(), await editor.create()];
    const prompt = editor.prompt(gone, "pay 3");
    prompt.catch(() => {});
    await editor.until(() => editor.asked.length === 1);
    await using runtime = await createRuntime({
      store: sqlite(join(cwd, ".bowline/agent.db")),
      model: demo(),
      recover: "never",
    });
    await runtime.sessions.delete(gone);
    await expect(prompt).rejects.toThrow();
    expect(await editor.prompt(other, "hello")).toEqual({ stopReason: "end_turn" });
    await editor.leave();
  });

  test("E5 links and embedded texts become text, images become attachments, and bad ones are refused", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    const sessionId = await editor.create();
    const { agent } = editor.connection;
    const send = (...prompt: ContentBlock[]) => agent.request(methods.agent.session.prompt, { sessionId, prompt });
    await send(
      { type: "text", text: "Look:" },
      { type: "resource_link", name: "a.ts", uri: "file:///a.ts" },
      { type: "resource", resource: { uri: "file:///b.ts", text: "let b" } },
    );
    await send({ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }, { type: "text", text: "?" });
    expect(answered(editor.screen.shown)).toEqual([
      'agent_message: You said: Look:\n[a.ts](file:///a.ts)\n<resource uri="file:///b.ts">\nlet b\n</resource>',
      "agent_message: You said: image/png ?",
    ]);
    await expect(send()).rejects.toThrow(/empty/);
    await expect(send({ type: "image", data: "!", mimeType: "image/png" })).rejects.toThrow(/base64/);
    await expect(send({ type: "audio", data: "AA==", mimeType: "audio/wav" })).rejects.toThrow(/audio/);
    await editor.leave();
  });

  test("E5 session/list has all root sessions in pages, the latest first, and no child sessions", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    const ids: string[] = [];
    for (let nth = 0; nth < 51; nth++) ids.push(await editor.create());
    await editor.prompt(ids[0] as string, "delegate");
    const { agent } = editor.connection;
    const first = await agent.request(methods.agent.session.list, { cwd: "/elsewhere" });
    expect(first.sessions[0]).toMatchObject({ sessionId: ids[0], cwd: "/elsewhere", title: "You said: delegate" });
    const rest = await agent.request(methods.agent.session.list, { cursor: first.nextCursor ?? null });
    const listed = [...first.sessions, ...rest.sessions].map(({ sessionId }) => sessionId);
    expect(listed.toSorted()).toEqual(ids.toSorted());
    expect(rest.nextCursor).toBeUndefined();
    await editor.leave();
  });

  test("E5 MCP servers of the client and questions with any answer are named to the person, and stop nothing", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    const { agent } = editor.connection;
    const server: McpServer = { name: "files", command: "none", args: [], env: [] };
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [server] });
    expect(editor.program.stderr()).toContain("The MCP servers of the client are not used.");
    const prompt = editor.prompt(sessionId, "name");
    await editor.until(() => editor.screen.notices.includes("name waits"));
    expect(JSON.stringify(editor.screen.updates)).toContain(`bowline chat --session ${sessionId}`);
    await editor.cancel(sessionId);
    expect(await prompt).toMatchObject({ stopReason: "cancelled" });
    await editor.leave();
  });

  test("E5 unknown sessions are refused alike, and are not created", async () => {
    const cwd = folder();
    const editor = await edit([], cwd);
    for (const call of [editor.load("nobody"), editor.prompt("nobody", "hello")])
      await expect(call).rejects.toMatchObject({ code: -32002 });
    await editor.cancel("nobody");
    const { sessions } = await editor.connection.agent.request(methods.agent.session.list, {});
    expect(sessions).toEqual([]);
    await editor.leave();
  });

  test("E5 malformed frames get typed errors, and the connection stays open", async () => {
    const program = start(["acp"]);
    const lines = () =>
      program
        .stdout()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    program.send("no json\n[]\n");
    program.send('{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}\n');
    program.send('{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":1}}\n');
    await program.until(/"id":2/);
    program.send('{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}\n');
    program.send('{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":7}}\n');
    program.send('{"jsonrpc":"2.0","id":4,"method":"nothing"}\n');
    program.send('{"jsonrpc":"2.0","id":99,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}\n');
    program.send('{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}\n');
    await program.until(/"id":5/);
    const codes = lines().map(({ id, error }) => [id, error?.code]);
    expect(codes).toEqual([
      [null, -32700],
      [null, -32600],
      [1, -32600],
      [2, undefined],
      [3, -32602],
      [4, -32601],
      [5, undefined],
    ]);
    program.child.stdin?.end();
    expect(await program.ended).toBe(0);
  });

  test("E5 a client that does not read stops no turn, and gets the whole answer when it reads", async () => {
    const { cwd } = appFolder();
    const editor = await edit(APP, cwd);
    const id = await editor.create();
    editor.program.child.stdout?.pause();
    const prompt = editor.prompt(id, "long");
    await vi.waitFor(async () => expect((await stored(cwd, id)).texts).toHaveLength(2), {
      timeout: 30_000,
      interval: 100,
    });
    editor.program.child.stdout?.resume();
    expect(await prompt).toEqual({ stopReason: "end_turn" });
    const [answer = ""] = answered(editor.screen.shown);
    expect(answer.length).toBe("agent_message: ".length + 1_000_000);
    await editor.leave();
  });

  test("E5 code of the model is a call with its output, live and replayed", async () => {
    const cwd = folder();
    const editor = await edit(["--mode", "code"], cwd);
    const id = await editor.create();
    await editor.prompt(id, "What is 2+3?");
    await editor.leave();
    const later = await edit(["--mode", "code"], cwd);
    await later.load(id);
    for (const { screen } of [editor, later]) {
      expect(answered(screen.shown)).toEqual(["agent_message: 2+3 = 5."]);
      const code = [...screen.calls].filter(([callId]) => callId.endsWith("/r1.exec"));
      expect(code).toMatchObject([[expect.anything(), { title: "Runs code", status: "completed" }]]);
    }
    await later.leave();
  });

  test("E5 wrong options are refused before anything is written to stdout", async () => {
    const wrong = await bowline(["acp", "--port", "1"]);
    expect(wrong).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--port is for serve and studio"),
    });
  });
});
