import {
  createRuntime,
  definePlugin,
  defineTool,
  defineToolProvider,
  jsonSchema,
  type Plugin,
  type Store,
  type Tool,
  type ToolProvider,
} from "bowline";
import type { ModelRequest, NewSessionRequest, Schema, ToolManifest } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, type Scripted, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolIndex, toolGroups } from "../../tools/search/rank.ts";
import { signatureOf } from "../../tools/search/signature.ts";
import { likeness, wordsOf } from "../../tools/search/words.ts";
import { type ToolsSearchResult, toolsSearch } from "./index.ts";

const NOTHING = jsonSchema<object>({ type: "object", properties: {} });
const searchable = (name: string, description = `Does ${name}.`): ToolManifest => ({
  name,
  description,
  availability: "searchable",
});
const toolOf = ({ name, description }: ToolManifest): Tool =>
  defineTool({ name, description, input: NOTHING, execute: () => `${name} was called` });

interface Counted extends ToolProvider {
  readonly loads: string[];
}
/** A provider that counts which tools were loaded. */
function provides(manifests: readonly ToolManifest[], make = toolOf): Counted {
  const loads: string[] = [];
  const provider = defineToolProvider({
    id: "acme/many",
    list: () => manifests,
    load: (name) => {
      loads.push(name);
      const found = manifests.find((manifest) => manifest.name === name);
      return found === undefined ? undefined : make(found);
    },
  });
  return { ...provider, loads };
}

const VERBS = ["create", "list", "delete", "update", "export"];
const NOUNS = Array.from({ length: 199 }, (_, index) => `thing${String.fromCharCode(97 + (index % 26))}${index}`);
const THOUSAND: readonly ToolManifest[] = [
  ...NOUNS.flatMap((noun) => VERBS.map((verb) => searchable(`${verb}_${noun}`, `Use it to ${verb} a ${noun}.`))),
  searchable("mcp__billing__sendInvoice", "Sends an invoice to a customer by mail."),
  searchable("mcp__billing__void_invoice", "Makes an invoice void."),
  searchable("mcp__weather__forecast", "How the weather will be in a city."),
  searchable("translate", "Translates a text into another language."),
  searchable("resize_image", "Makes a picture smaller."),
];

type Given = readonly (Tool | ToolProvider)[];
const running = (store: Store, model: Scripted, tools: Given, ...more: Plugin[]) =>
  createRuntime({ store, model, tools, plugins: [toolsSearch, ...more] });

const declaredIn = (request: ModelRequest | undefined): readonly string[] =>
  (request?.tools ?? []).map(({ name }) => name);

/** The results of all calls, as the last request shows them. */
const answers = (model: Scripted): readonly string[] =>
  (model.requests.at(-1)?.messages ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === "toolResult"
        ? [`${part.status}: ${part.parts.map((each) => (each.kind === "text" ? each.text : "")).join("")}`]
        : [],
    ),
  );
const found = (model: Scripted, index = -1): ToolsSearchResult =>
  JSON.parse((answers(model).at(index) as string).replace(/^ok: /, "")) as ToolsSearchResult;
const namesIn = ({ opened }: ToolsSearchResult): readonly string[] => opened.map(({ name }) => name);

describe("finding", () => {
  test("T1 of a thousand tools only what a search returns is loaded, and it can be called in the next round", async () => {
    const provider = provides(THOUSAND);
    const model = scripted(
      calls("tools_search", { query: "send an invoice", max: 1 }),
      calls("mcp__billing__sendInvoice"),
      says("Sent."),
    );
    await using runtime = await running(memory(), model, [provider]);
    const session = await runtime.session("s");
    const { outcome } = await session.turn("Go.").result();
    expect(outcome.kind).toBe("answered");
    expect(THOUSAND).toHaveLength(1_000);
    expect(provider.loads).toEqual(["mcp__billing__sendInvoice"]);
    expect(model.requests.map(declaredIn)).toEqual([
      ["tools_search"],
      ["tools_search", "mcp__billing__sendInvoice"],
      ["tools_search", "mcp__billing__sendInvoice"],
    ]);
    expect(answers(model).at(-1)).toBe("ok: mcp__billing__sendInvoice was called");
  });

  test("T1 a found tool is shown with its arguments, bounded, and with the note that it can be called from now on", async () => {
    const input = jsonSchema<object>({
      type: "object",
      properties: {
        note: { type: "string" },
        to: { type: "array", items: { type: "string" } },
        how: { enum: ["mail", "fax"] },
        at: { anyOf: [{ type: "integer" }, { type: "null" }] },
        who: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      },
      required: ["to"],
    });
    const provider = provides([searchable("send", `Sends. ${"x".repeat(5_000)}`)], ({ name, description }) =>
      defineTool({ name, description, input, execute: () => "" }),
    );
    const model = scripted(calls("tools_search", { query: "send" }), says("Done."));
    await using runtime = await running(memory(), model, [provider]);
    await (await runtime.session("s")).turn("Go.").result();
    const { opened, note } = found(model);
    expect(opened[0]?.signature).toBe(
      'send({ to: string[], note?: string, how?: "mail" | "fax", at?: integer | null, who?: { name: string } })',
    );
    expect(opened[0]?.description).toHaveLength(600);
    expect(note).toBe("You can call the opened tools from your next reply on, also in later turns.");
  });

  test("T4 what was found stays callable: in later turns, after a restart, in a fork, and not in other sessions", async () => {
    const store = memory();
    const provider = provides(THOUSAND);
    const model = scripted(
      calls("tools_search", { query: "weather forecast" }),
      says("Found."),
      calls("mcp__weather__forecast"),
      says("Sun."),
      says("Nothing."),
    );
    const runtime = await running(store, model, [provider]);
    const session = await runtime.session("s");
    await session.turn("Find.").result();
    await session.turn("Use.").result();
    expect(answers(model).at(-1)).toBe("ok: mcp__weather__forecast was called");
    await (await runtime.session("other")).turn("Hi.").result();
    expect(declaredIn(model.requests.at(-1))).toEqual(["tools_search"]);

    const again = scripted(
      calls("mcp__weather__forecast"),
      says("Sun."),
      calls("mcp__weather__forecast"),
      says("Sun."),
    );
    const other = provides(THOUSAND);
    const later = await running(store, again, [other]);
    const reopened = await later.session("s");
    await reopened.turn("Use.").result();
    expect(answers(again).at(-1)).toBe("ok: mcp__weather__forecast was called");
    expect(other.loads).toEqual(["mcp__weather__forecast"]);
    const fork = await reopened.fork();
    await fork.turn("Use.").result();
    expect(answers(again).at(-1)).toBe("ok: mcp__weather__forecast was called");
    await later.close();
  });

  test("T4 a turn that is cancelled after the search is kept as far as it came, and so is what it found", async () => {
    const model = scripted(calls("tools_search", { query: "forecast" }), calls("stop"), says("Hi."));
    const stop = defineTool({
      name: "stop",
      description: "Stops.",
      input: NOTHING,
      execute: async (_, { turnId }) => void (await session.cancel(turnId)),
    });
    await using runtime = await running(memory(), model, [provides(THOUSAND), stop]);
    const session = await runtime.session("s");
    const first = await session.turn("Go.").result();
    expect(first.outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    await session.turn("Hi.").result();
    expect(declaredIn(model.requests.at(-1))).toContain("mcp__weather__forecast");
  });

  test("T4 a session can open hundreds of tools, and each of them can be called", async () => {
    const names = THOUSAND.slice(0, 400).map(({ name }) => name);
    const searches = Array.from({ length: 10 }, (_, at) =>
      calls("tools_search", { query: `select: ${names.slice(40 * at, 40 * at + 40).join(" ")}` }),
    );
    const model = scripted(...searches, both(...names.slice(0, 100).map((name) => calls(name))), says("Done."));
    const provider = provides(THOUSAND);
    await using runtime = await createRuntime({
      store: memory(),
      model,
      tools: [provider],
      plugins: [toolsSearch({ max: 40 })],
    });
    await (await runtime.session("s")).turn("Go.").result();
    expect(answers(model).slice(10)).toEqual(names.slice(0, 100).map((name) => `ok: ${name} was called`));
    expect(provider.loads.toSorted()).toEqual(names.toSorted());
  });

  test("T1 two searches in one round count both", async () => {
    const model = scripted(
      both(
        calls("tools_search", { query: "weather" }),
        calls("tools_search", { query: "translate language" }),
        calls("tools_search", { query: "weather city" }),
      ),
      both(calls("mcp__weather__forecast"), calls("translate")),
      says("Done."),
    );
    await using runtime = await running(memory(), model, [provides(THOUSAND)]);
    await (await runtime.session("s")).turn("Go.").result();
    expect(answers(model).slice(-2)).toEqual(["ok: mcp__weather__forecast was called", "ok: translate was called"]);
    expect(declaredIn(model.requests.at(-1)).toSorted()).toEqual([
      "mcp__weather__forecast",
      "tools_search",
      "translate",
    ]);
  });

  test("T1 tools are found by their names; for a missing name the result has similar names", async () => {
    const model = scripted(
      calls("tools_search", { query: "select: translate, resize_image,send_invoices" }),
      calls("tools_search", { query: "SELECT: translate" }),
      calls("tools_search", { query: "select:" }),
      says("Done."),
    );
    await using runtime = await running(memory(), model, [provides(THOUSAND)]);
    await (await runtime.session("s")).turn("Go.").result();
    const [first, second, third] = [0, 1, 2].map((index) => found(model, index));
    expect(namesIn(first as ToolsSearchResult)).toEqual(["translate", "resize_image"]);
    expect(first?.note).toMatch(/There is no tool named send_invoices\. Similar names: mcp__billing__sendInvoice/);
    expect(second).toEqual({ opened: [], open: ["translate"], note: "" });
    expect(third?.note).toContain("998 tools can be found");
  });

  test("T1 no search opens more than it may, whatever is asked for", async () => {
    const names = THOUSAND.slice(0, 20).map(({ name }) => name);
    const model = scripted(
      both(
        calls("tools_search", { query: `select: ${names.join(" ")}` }),
        calls("tools_search", { query: "create", max: 1_000 }),
        calls("tools_search", { query: "delete", max: 2 }),
      ),
      says("Done."),
    );
    await using runtime = await createRuntime({
      store: memory(),
      model,
      tools: [provides(THOUSAND)],
      plugins: [toolsSearch({ max: 5 })],
    });
    await (await runtime.session("s")).turn("Go.").result();
    expect([0, 1, 2].map((index) => found(model, index).opened.length)).toEqual([5, 5, 2]);
    expect(found(model, 0).note).toContain("One search opens at most 5 tools");
    expect(found(model, 1).note).toContain("more fit less well");
  });

  test("T1 the same search again opens nothing worse: it lists the tools that are open already", async () => {
    const model = scripted(
      calls("tools_search", { query: "invoice" }),
      calls("tools_search", { query: "invoice" }),
      says("Done."),
    );
    const provider = provides(THOUSAND);
    await using runtime = await running(memory(), model, [provider]);
    await (await runtime.session("s")).turn("Go.").result();
    expect(namesIn(found(model, 0)).toSorted()).toEqual(["mcp__billing__sendInvoice", "mcp__billing__void_invoice"]);
    expect(found(model, 1)).toMatchObject({ opened: [], open: expect.arrayContaining([...namesIn(found(model, 0))]) });
    expect(provider.loads).toHaveLength(2);
  });

  test("T2 a tool that a context hook lends to the turn is said to be open only if it is", async () => {
    const lends = definePlugin({
      id: "acme/lends",
      setup: () => ({
        context: ({ context }) => ({
          ...context,
          tools: [{ ...toolOf(searchable("mail")), availability: "searchable" }],
        }),
      }),
    });
    const model = scripted(calls("tools_search", { query: "mail" }), calls("mail"), says("Done."));
    await using runtime = await running(memory(), model, [], lends);
    await (await runtime.session("s")).turn("Go.").result();
    const isOpened = namesIn(found(model, 0)).includes("mail");
    expect(answers(model).at(-1)?.startsWith("ok:")).toBe(isOpened);
  });

  test("T1 one that cannot be loaded makes room for the next, and is named", async () => {
    const tools = ["mail_one", "mail_two", "mail_three"].map((name) => searchable(name, "Sends mail."));
    const provider = provides(tools, (manifest) => {
      if (manifest.name === "mail_one") throw new Error("The server is down.");
      return toolOf(manifest);
    });
    const model = scripted(calls("tools_search", { query: "mail", max: 2 }), says("Done."));
    await using runtime = await running(memory(), model, [provider]);
    await (await runtime.session("s")).turn("Go.").result();
    const result = found(model);
    expect(namesIn(result).toSorted()).toEqual(["mail_three", "mail_two"]);
    expect(result.note).toMatch(/^You can call the opened tools .* turns\. These cannot be opened now: mail_one\.$/);
  });
});

describe("not finding", () => {
  /** A plugin that makes a child session with permissions of its own. */
  const makes = definePlugin({
    id: "acme/makes",
    setup: ({ command }) => ({
      operations: {
        make: command({
          input: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } } as Schema<
            NewSessionRequest,
            NewSessionRequest
          >,
          run: async ({ input, sessions }) => (await sessions.create(input)).id,
        }),
      },
    }),
  });

  test.each([
    ["hiddenTools", { hiddenTools: ["mcp__weather__forecast"] }],
    ["toolAccess", { toolAccess: ["tools_search", "translate"] }],
  ])("T2 what %s takes from a child is never found nor made callable, also after a restart", async (_, permissions) => {
    const store = memory();
    const search = [
      both(
        calls("tools_search", { query: "weather forecast" }),
        calls("tools_search", { query: "select: mcp__weather__forecast" }),
        calls("tools_search", { query: "translate" }),
      ),
      both(calls("mcp__weather__forecast"), calls("translate")),
      says("Done."),
    ];
    const model = scripted(calls("tools_search", { query: "forecast" }), says("Found."), ...search, ...search);
    const provider = provides(THOUSAND);
    const runtime = await running(store, model, [provider], makes);
    const parent = await runtime.session("parent");
    await parent.turn("Find.").result();
    expect(namesIn(found(model))).toEqual(["mcp__weather__forecast"]);
    const { output } = await parent.command(makes, "make", { kind: "child", copiesState: true, permissions });
    const child = await runtime.session(output as string);
    const later = await running(store, model, [provides(THOUSAND)], makes);
    for (const session of [child, await later.session(output as string)]) {
      await session.turn("Find.").result();
      const [first = "", second = "", , refused, called] = answers(model).slice(-5);
      expect(first).not.toContain("mcp__weather__forecast");
      expect(second).toContain("There is no tool named mcp__weather__forecast.");
      expect(refused).toMatch(/^failed: .*mcp__weather__forecast/);
      expect(called).toBe("ok: translate was called");
      for (const request of model.requests.slice(-3))
        expect(declaredIn(request)).not.toContain("mcp__weather__forecast");
    }
    await later.close();
  });

  test("T2 what is off, for the runtime alone, or hidden by a plugin is not found", async () => {
    const hides = definePlugin({
      id: "acme/hides",
      setup: () => ({ toolCatalog: () => [{ tool: "mail_hidden", hide: true as const }] }),
    });
    const provider = provides([
      { ...searchable("mail_off"), availability: "off" },
      { ...searchable("mail_runtime"), audience: "runtime" },
      searchable("mail_hidden"),
      searchable("mail_chosen"),
      searchable("mail"),
    ]);
    const model = scripted(
      both(
        calls("tools_search", { query: "mail" }),
        calls("tools_search", { query: "select: mail_off mail_runtime mail_hidden mail_chosen" }),
      ),
      says("Done."),
    );
    await using runtime = await running(memory(), model, [provider], hides);
    const session = await runtime.session("s");
    await session.tools.set("mail_chosen", "off");
    await session.turn("Go.").result();
    expect(namesIn(found(model, 0))).toEqual(["mail"]);
    expect(found(model, 1)).toMatchObject({ opened: [] });
    expect(found(model, 1).note).toContain("There is no tool named mail_off, mail_runtime, mail_hidden, mail_chosen.");
    expect(declaredIn(model.requests.at(-1))).toEqual(["tools_search", "mail"]);
    expect(provider.loads).toEqual(["mail"]);
  });

  test.each([
    ["nothing", "", "The query is empty."],
    ["blanks", " \n\t", "The query is empty."],
    ["what no tool does", "quantum chromodynamics", 'No tool fits "quantum chromodynamics".'],
    ["words that say nothing", "a tool for the", 'No tool fits "a tool for the".'],
    ["characters of regular expressions", ".*(?=[)+\\\\^$|{,", "No tool fits"],
    ["other signs", "🧶🪢 \ud800 \0", "No tool fits"],
    ["a name of objects", "__proto__ constructor", "No tool fits"],
  ])("E3 a search for %s returns a note, and the turn continues", async (_, query, note) => {
    const model = scripted(calls("tools_search", { query }), says("Done."));
    const provider = provides(THOUSAND);
    await using runtime = await running(memory(), model, [provider]);
    const { outcome } = await (await runtime.session("s")).turn("Go.").result();
    expect(outcome.kind).toBe("answered");
    const result = found(model);
    expect(result.opened).toEqual([]);
    expect(result.note.startsWith(note)).toBe(true);
    expect(result.note).toContain(
      "1000 tools can be found. By the beginnings of their names: create (199), delete (199), export (199), " +
        "list (199), update (199), mcp__billing (2), mcp__weather (1), resize (1), translate (1).",
    );
    expect(provider.loads).toEqual([]);
  });

  test("E3 a search as long as a book is refused as wrong arguments", async () => {
    const model = scripted(calls("tools_search", { query: "mail ".repeat(200_000) }), calls("tools_search"), says("."));
    await using runtime = await running(memory(), model, [provides(THOUSAND)]);
    const { outcome } = await (await runtime.session("s")).turn("Go.").result();
    expect(outcome.kind).toBe("answered");
    expect(answers(model)).toEqual([
      expect.stringMatching(/^failed: .*tool\.arguments.*1000 characters/),
      expect.stringMatching(/^failed: .*tool\.arguments.*query/),
    ]);
  });

  test("E3 where there is nothing to be found, that is said, and nothing stands in the prompt", async () => {
    const model = scripted(calls("tools_search", { query: "mail" }), says("Done."));
    await using runtime = await running(memory(), model, []);
    await (await runtime.session("s")).turn("Go.").result();
    expect(found(model).note).toBe(
      'No tool fits "mail". Try other words, or do the task without it. There are no tools besides those that you are shown.',
    );
    expect(model.requests[0]?.system ?? "").not.toContain("tools_search");
  });

  test.each([[{ max: 0 }], [{ max: 1.5 }], [{ max: 65 }], [{ least: 1 }]])(
    "E3 the options %j are refused",
    (options) => {
      expect(() => toolsSearch(options as never)).toThrow(/max must be|no field least/);
    },
  );
});

describe("the prompt", () => {
  test("E3 it has the number of tools, and finding some does not change it", async () => {
    const model = scripted(calls("tools_search", { query: "invoice" }), says("Found."), says("Hi."));
    await using runtime = await running(memory(), model, [provides(THOUSAND)]);
    const session = await runtime.session("s");
    await session.turn("Go.").result();
    await session.turn("Hi.").result();
    const [first, second, third] = model.requests.map(({ system }) => system);
    expect(first).toContain("there are about 1000 in all");
    expect([second, third]).toEqual([first, first]);
  });

  test("E3 it is gone with the tool", async () => {
    const model = scripted(says("Hi."));
    await using runtime = await running(memory(), model, [provides(THOUSAND)]);
    const session = await runtime.session("s");
    await session.tools.set("tools_search", "off");
    await session.turn("Hi.").result();
    expect(model.requests[0]?.system ?? "").toBe("");
  });
});

describe("ranking", () => {
  const index = new ToolIndex(THOUSAND);
  const best = (query: string): string | undefined => index.rank(query)[0]?.name;

  test.each([
    ["sendInvoice", "mcp__billing__sendInvoice"],
    ["SEND INVOICES", "mcp__billing__sendInvoice"],
    ["billing void", "mcp__billing__void_invoice"],
    ["invioce void", "mcp__billing__void_invoice"], // Two letters are swapped.
    ["forcast", "mcp__weather__forecast"],
    ["invioces void", "mcp__billing__void_invoice"],
    ["transl", "translate"],
    ["which language", "translate"],
    ["picture smaller", "resize_image"],
    ["create_thinga26", "create_thinga26"],
    ["please use create_thinga26 now", "create_thinga26"],
    ["Wéather", "mcp__weather__forecast"],
  ])("E3 %j finds %s first", (query, name) => {
    expect(best(query)).toBe(name);
  });

  test("E3 what fits much worse than the best is left out", () => {
    const few = new ToolIndex([
      searchable("send_mail", "Sends a mail to a customer."),
      searchable("archive_mail", "Puts a mail away."),
      searchable("count_stock", "Counts what is in stock, for reports that are read by a customer or an auditor."),
      ...["a", "b", "c", "d"].map((name) => searchable(name, "Something else.")),
    ]);
    expect(few.rank("send mail customer").map(({ name }) => name)).toEqual(["send_mail", "archive_mail"]);
    expect(few.rank("customer").map(({ name }) => name)).toEqual(["send_mail", "count_stock"]);
  });

  test("E3 languages without spaces are found by their characters", () => {
    const asian = new ToolIndex([
      searchable("a", "发送邮件给客户"),
      searchable("b", "查询天气预报"),
      searchable("c", "ファイルを保存する"),
    ]);
    expect(asian.rank("天气")[0]?.name).toBe("b");
    expect(asian.rank("邮件")[0]?.name).toBe("a");
    expect(asian.rank("保存")[0]?.name).toBe("c");
  });

  test("E3 the order is the same however the tools are listed, and only depends on words", () => {
    const reversed = new ToolIndex(THOUSAND.toReversed());
    for (const query of ["create thing", "invoice", "delete thinga0 mail", "exprot"])
      expect(reversed.rank(query).map(({ name }) => name)).toEqual(index.rank(query).map(({ name }) => name));
  });

  test("E3 any query is answered with tools that exist, each once", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 1_000 }), (query) => {
        const names = index.rank(query).map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
      }),
      { numRuns: 50 },
    );
  });

  test("E3 words are taken apart as people write names", () => {
    expect(wordsOf("mcp__my-server__getHTTPStatus2FA", 99)).toEqual(
      ["mcp", "my", "server", "get", "http", "status", "2", "fa"].filter((word) => word !== "my"),
    );
    expect(wordsOf("Größe straße", 99)).toEqual(["große", "straße"]);
    expect(wordsOf("x ".repeat(1_000), 10)).toHaveLength(10);
    expect([likeness("mail", "mail"), likeness("mail", "mails") > 0.6, likeness("cat", "car")]).toEqual([1, true, 0]);
  });

  test("E3 groups name servers and first words", () => {
    expect(toolGroups(THOUSAND.slice(-5), 2)).toBe("mcp__billing (2), mcp__weather (1), and 2 others");
  });
});

describe("signatures", () => {
  test.each([
    ["nothing", {}, "f(any)"],
    ["no arguments", { type: "object" }, "f()"],
    [
      "a type of several",
      { type: "object", properties: { a: { type: ["string", "null"] } } },
      "f({ a?: string | null })",
    ],
    ["lists of either", { properties: { a: { type: "array", items: { enum: [1, "b"] } } } }, 'f({ a?: (1 | "b")[] })'],
    ["a reference", { properties: { a: { $ref: "#" } }, required: ["a"] }, "f({ a: any })"],
    [
      "depth",
      { properties: { a: { properties: { b: { properties: { c: { properties: { d: {} } } } } } } } },
      "f({ a?: { b?: { c?: object } } })",
    ],
    ["rubbish", { properties: [1], required: 3, type: 7, enum: "x" }, "f(any)"],
  ])("T1 of %s", (_, schema, signature) => {
    expect(signatureOf("f", schema, 1_000)).toBe(signature);
  });

  test("T1 they are bounded", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, n) => [`f${n}`, { enum: ["🧶".repeat(999)] }]),
    );
    const signature = signatureOf("f", { type: "object", properties }, 500);
    expect([signature.length <= 500, signature.isWellFormed()]).toEqual([true, true]);
  });
});
