// The agent of the demo: a shop's support desk with tools, approvals, agents, jobs and schedules. Only its model is a
// script.
import type { RuntimeOptions } from "../../index.ts";
import type { World } from "../../model/world.ts";
import {
  definePlugin,
  defineTool,
  defineTrigger,
  jsonSchema,
  optionsSchema,
  question,
  retryable,
} from "../../plugin.ts";
import { approvals } from "../../plugins/approvals/index.ts";
import { jobs } from "../../plugins/jobs/index.ts";
import { memory } from "../../plugins/memory.ts";
import { rollingHistory } from "../../plugins/rolling-history/index.ts";
import { subagents } from "../../plugins/subagents/index.ts";
import { demoModel, MODELS, PRICES } from "./model.ts";

type Clock = Pick<World, "now" | "sleep">;

const text = { type: "string" } as const;
const object = <T>(properties: { readonly [name: string]: object }) =>
  jsonSchema<T>({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });

const STATUS = ["delivered", "on its way", "returned"] as const;
const numberOf = (order: string): number => Number(/\d+/.exec(order)?.[0] ?? 0);

function shopTools({ sleep }: Clock) {
  const findOrder = defineTool({
    name: "find_order",
    description: "Finds an order by its number.",
    input: object<{ readonly order: string }>({ order: { ...text, description: "Such as A-1042" } }),
    execute: async ({ order }, { signal }) => {
      await sleep(120 + (numberOf(order) % 5) * 35, signal);
      const status = STATUS[numberOf(order) % STATUS.length] as string;
      return { order, status, items: [{ sku: "KETTLE-17", pieces: 1, euros: 45 }], total: 45 };
    },
  });
  const stock = defineTool({
    name: "stock",
    description: "How many pieces of an article a warehouse has.",
    input: object<{ readonly sku: string; readonly warehouse: string }>({ sku: text, warehouse: text }),
    retry: { policy: "safe", attempts: 3, baseMs: 400 },
    execute: async ({ warehouse }, { signal, output }) => {
      output(`Asking ${warehouse} …\n`);
      await sleep(warehouse === "Lyon" ? 900 : 260 + warehouse.length * 20, signal);
      if (warehouse === "Lyon") throw retryable(new Error("The warehouse did not answer in time."), { afterMs: 500 });
      return { warehouse, pieces: warehouse === "Hamburg" ? 14 : 3 };
    },
  });
  const refund = defineTool({
    name: "refund",
    description: "Gives a customer money back.",
    input: object<{ readonly order: string; readonly euros: number; readonly reason: string }>({
      order: text,
      euros: { type: "number", exclusiveMinimum: 0 },
      reason: text,
    }),
    execute: async ({ order, euros }, { signal, idempotencyKey }) => {
      await sleep(640, signal);
      return { order, euros, receipt: `R-${idempotencyKey.slice(-6)}` };
    },
  });
  const sendMail = defineTool({
    name: "send_mail",
    description: "Sends a mail to a customer.",
    input: object<{ readonly to: string; readonly subject: string; readonly body: string }>({
      to: text,
      subject: text,
      body: text,
    }),
    execute: async ({ to }, { signal }) => {
      await sleep(310, signal);
      return `Sent to ${to}.`;
    },
  });
  const carrierStatus = defineTool({
    name: "carrier_status",
    description: "What the carrier recorded about a parcel.",
    input: object<{ readonly order: string }>({ order: text }),
    execute: async ({ order }, { signal, progress }) => {
      for (const scan of ["Hamburg, sorted", "Munich, on the van", "Munich, back in the depot"]) {
        progress({ order, scan });
        await sleep(220, signal);
      }
      return { order, scans: 3, last: "Munich, back in the depot" };
    },
  });
  const findRules = defineTool({
    name: "find_rules",
    description: "The return rules of a carrier.",
    input: object<{ readonly carrier: string }>({ carrier: text }),
    execute: async (_, { signal }) => {
      await sleep(480, signal);
      return "Nordpost: 2.40 euros. Alpenpost: free. Rapide: free.";
    },
  });
  const askCustomer = defineTool({
    name: "ask_customer",
    description: "Asks the customer a question and waits for the answer.",
    input: object<{ readonly order: string; readonly text: string }>({ order: text, text }),
    execute: ({ text: asked }) =>
      question(object<{ size: string }>({ size: { ...text, enum: ["S", "M", "L"] } }), { text: asked }),
  });
  return [findOrder, stock, refund, sendMail, carrierStatus, findRules, askCustomer];
}

const returned = defineTrigger({ name: "parcel.returned", payload: object<{ order: string }>({ order: text }) });

interface Desk {
  readonly calls: number;
  readonly isOpen: boolean;
  readonly note: string;
}

/** Counts calls, opens and closes the desk, and writes reports. */
const desk = definePlugin({
  id: "shop/desk",
  state: optionsSchema<unknown, Desk>((given) => ({
    calls: given.whole("calls", {}, 0),
    isOpen: given.flag("isOpen", true),
    note: given.text("note", ""),
  })),
  setup: ({ query, command, task }) => ({
    triggers: [returned],
    afterToolCall: ({ state }) => state.update((old) => ({ ...old, calls: old.calls + 1 })),
    operations: {
      counted: query({ description: "How many calls the desk made.", run: ({ state }) => state.get().calls }),
      open: command({
        description: "Opens or closes the desk.",
        input: object<{ readonly isOpen: boolean; readonly note: string }>({
          isOpen: { type: "boolean", description: "Whether the desk answers customers" },
          note: { ...text, description: "The reason, for colleagues" },
        }),
        run: ({ input, state }) => {
          state.update((old) => ({ ...old, ...input }));
          return { ...input };
        },
      }),
      report: task({
        description: "Writes a report about a topic, in steps that survive a crash.",
        input: object<{ readonly topic: string }>({ topic: text }),
        run: async ({ input: { topic }, once, complete, job }) => {
          const orders = await once("orders", () => ["A-1040", "A-1041", "A-1042"]);
          const draft = await complete.text(`The weekly report about ${topic}, from ${orders.length} orders.`);
          await job?.sleep(2_000);
          if (topic === "returns abroad") throw new Error("The archive of returns is not reachable.");
          return { topic, draft, pages: await once("pages", () => 4) };
        },
      }),
      order_more: task({
        description: "Orders articles from the factory, after a person signed.",
        input: object<{ readonly sku: string; readonly pieces: number }>({ sku: text, pieces: { type: "integer" } }),
        run: async ({ input, once, job }) => {
          const offer = await once("offer", () => ({ ...input, euros: input.pieces * 19 }));
          const signed = await job?.receive<{ by: string }>("signed");
          return { ...offer, signed: signed?.by ?? "nobody" };
        },
      }),
      sync: task({
        description: "Copies the stock of all warehouses.",
        input: jsonSchema<object>({ type: "object" }),
        run: async ({ once, job }) => {
          const changed = await once("copy", () => 12);
          await job?.sleep(1_200);
          return { changed };
        },
      }),
    },
  }),
});

const CAPABILITIES = {
  researcher: { description: "Looks things up.", instructions: "You look things up and answer in one paragraph." },
  critic: { description: "Looks for mistakes.", model: MODELS[1], instructions: "You doubt everything.", tools: [] },
};

/** Everything but the store. A session with `shop/small` in its config has the small model. */
export function demoAgent(clock: Clock) {
  const models = new Map(MODELS.map((name) => [name as string, demoModel(name, clock)]));
  return {
    model: MODELS[0],
    models: (name: string) => models.get(name),
    prices: PRICES,
    instructions:
      "You are the support desk of a shop for kettles. Be brief and kind. Never promise a date that no tool returned.",
    tools: shopTools(clock),
    plugins: [
      approvals({
        rules: [
          { tool: "refund", when: { euros: { lte: 20 } }, verdict: "allow" },
          {
            tool: "refund",
            when: { euros: { gt: 500 } },
            verdict: "deny",
            reason: "The accounts department refunds more than 500 euros.",
          },
          { tool: "refund", verdict: "ask", reason: "It moves more than 20 euros." },
        ],
      }),
      memory,
      rollingHistory,
      subagents({ capabilities: CAPABILITIES }),
      jobs,
      desk,
    ],
  } satisfies Omit<RuntimeOptions, "store">;
}
