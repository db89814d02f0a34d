// Fills an empty store with a week of a shop's support desk, so that every page of the studio has something to show. All
// turns are real: only the models are scripts, and the time is simulated.
import { setTimeout as sleep } from "node:timers/promises";
import { crc32, deflateSync } from "node:zlib";
import { attach, createRuntime, type Runtime, type Session, type Store } from "../index.ts";
import { code } from "../plugins/code/index.ts";
import { codeMode } from "../protocols/code/index.ts";
import { type SimulatedWorld, simulatedWorld } from "../testing/world.ts";
import { demoAgent } from "./studio-demo/agent.ts";

export { demoAgent };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Time passes in such steps while a turn runs. */
const STEP_MS = 50;
/** The sandbox of code starts in real time. Without pauses, minutes of the simulated time would pass meanwhile. */
const SANDBOX_PAUSE_MS = 10;

/** Fills a store that keeps its content when it is closed. `open` makes it again for each runtime. */
export async function populate(open: () => Store, now = Date.now()): Promise<void> {
  const world = simulatedWorld({ now: now - 6.5 * DAY_MS, name: "demo" });
  const agent = demoAgent(world);
  const coding = await createRuntime({ ...agent, store: open(), world, plugins: [...agent.plugins, codeMode, code] });
  await new Week(coding, world).code();
  await closed(coding, world);
  const runtime = await createRuntime({ ...agent, store: open(), world });
  try {
    await new Week(runtime, world).all(now);
  } finally {
    await closed(runtime, world);
  }
}

const closed = (runtime: Runtime, world: SimulatedWorld): Promise<void> => passing(world, runtime.close());

/** Lets time pass until the promise is settled. */
async function passing<T>(world: SimulatedWorld, promise: Promise<T>, pauseMs?: number): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {}); // The caller gets the error below.
  while (!isSettled) {
    await world.advance(STEP_MS);
    if (pauseMs !== undefined) await sleep(pauseMs);
  }
  return settled;
}

interface Marks {
  readonly label?: string;
  readonly owner?: string;
  readonly tags?: readonly string[];
  readonly model?: string;
}

class Week {
  private readonly runtime: Runtime;
  private readonly world: SimulatedWorld;

  constructor(runtime: Runtime, world: SimulatedWorld) {
    this.runtime = runtime;
    this.world = world;
  }

  /** A session whose agent writes code. */
  async code(): Promise<void> {
    const session = await this.open("reports-by-code", { label: "Late orders", tags: ["report", "code"] });
    await passing(this.world, session.turn("How many orders are late?").result(), SANDBOX_PAUSE_MS);
  }

  async all(now: number): Promise<void> {
    const { runtime, world } = this;
    const to = (hoursAgo: number): Promise<void> => world.jump(Math.max(0, now - hoursAgo * HOUR_MS - world.now()));
    await this.desk();
    for (const [index, [hoursAgo, customer, label, tags, ...texts]] of TALKS.entries()) {
      await to(hoursAgo);
      const model = index % 3 === 2 ? "shop/small" : undefined;
      const owner = index % 4 === 3 ? "partner-nord" : undefined;
      for (const text of texts) {
        await this.ask(customer, text, { label, tags, ...(model && { model }), ...(owner && { owner }) });
        await world.advance(2_000);
      }
    }
    await to(31);
    await this.photo();
    await to(27);
    await this.answered();
    await to(22);
    await this.branches();
    await to(9);
    await this.ask("sourcing", "Please compare our kettle with others.", {
      label: "Market research",
      tags: ["research"],
    });
    await to(6);
    await this.cancelled();
    await this.ask("customer-2231", "The key of the model is old. Does this work?", {
      label: "Expired key",
      tags: ["ops"],
    });
    await to(5);
    await this.background();
    await runtime.triggers.emit("parcel.returned", { order: "A-1042" }, { key: "scan-1", source: "nordpost" });
    await runtime.triggers.emit("parcel.returned", { order: "A-1077" }, { key: "scan-2", source: "nordpost" });
    await world.advance(8_000);
    await to(2);
    await this.parked("customer-2240", "I want a refund of 45 euros for order A-1088.", "Refund A-1088", "refund");
    await to(1.2);
    await this.parked("customer-2241", "Which size can I exchange A-1093 for?", "Exchange A-1093", "exchange");
    await to(0.6);
    await this.parked("customer-2244", "A refund of 120 euros for A-1101, please.", "Refund A-1101", "refund");
    await to(0);
  }

  // ── The parts of the week ───────────────────────────────────────────────────────────────────────────────────────

  /** Schedules, and what they start. */
  private async desk(): Promise<void> {
    const { triggers } = await this.open("desk", { label: "The desk", tags: ["internal"] });
    const every = { id: "stock", label: "Copy the stock", on: { everyMs: 6 * HOUR_MS }, operation: "shop/desk.sync" };
    await triggers.subscribe({
      id: "morning",
      label: "Summary of the morning",
      on: { cron: "0 7 * * 1-6", timeZone: "Europe/Berlin" },
      send: "Write the summary of the morning.",
    });
    await triggers.subscribe(every);
    await triggers.subscribe({
      id: "returns",
      label: "A parcel came back",
      on: { event: "parcel.returned" },
      send: "Where is the parcel that came back?",
    });
    const weekly = { cron: "0 18 * * 5", timeZone: "Europe/Berlin" };
    await triggers.subscribe({
      id: "weekly",
      label: "Weekly report",
      on: weekly,
      operation: "shop/desk.report",
      input: { topic: "the week" },
      isEnabled: false,
    });
  }

  private async photo(): Promise<void> {
    const session = await this.open("customer-2209", { label: "Dented box A-1061", tags: ["damage", "photo"] });
    const photo = attach(pictureOf(96, 64), { mediaType: "image/png", name: "box.png" });
    const list = attach(Buffer.from("order;sku;pieces\nA-1061;KETTLE-17;1\n"), {
      mediaType: "text/csv",
      name: "order.csv",
    });
    await this.answer(session.turn(["The box of A-1061 looked like this photo.", photo, list]));
    await this.world.advance(40_000);
    await this.answer(session.turn("I keep it. Thank you!"));
  }

  /** Approvals that a person gave, denied and changed, and one that a rule denied. */
  private async answered(): Promise<void> {
    const { waits } = this.runtime;
    const answers = [
      ["customer-2212", "A refund of 45 euros for A-1066, please.", { approved: true }],
      [
        "customer-2213",
        "A refund of 300 euros for A-1067, please.",
        { approved: false, reason: "The order was 45 euros." },
      ],
      [
        "customer-2214",
        "A refund of 90 euros for A-1068.",
        { approved: true, args: { order: "A-1068", euros: 45, reason: "Half of it." } },
      ],
    ] as const;
    for (const [id, text, answer] of answers) {
      const order = /A-\d+/.exec(text)?.[0];
      const turn = (await this.open(id, { label: `Refund ${order}`, tags: ["refund"], owner: "partner-nord" })).turn(
        text,
      );
      const wait = await passing(this.world, waitingIn(turn));
      await this.world.advance(95_000);
      await waits.resolve(wait, answer, { by: "ann" });
      await this.answer(turn);
    }
    await this.ask("customer-2215", "A refund of 900 euros for A-1069!", { label: "Refund A-1069", tags: ["refund"] });
  }

  /** Forks, and a compaction. */
  private async branches(): Promise<void> {
    const session = await this.open("customer-2220", { label: "Kettle as a gift", tags: ["advice", "gift"] });
    await this.answer(session.turn("Is the red kettle in stock, and in time for Friday?"));
    const { head } = await session.read();
    await this.answer(session.turn("Great, thanks!"));
    if (head === null) return;
    for (const [label, text] of [
      ["By express", "When does it arrive by express?"],
      ["As an exchange", "I never got A-1042 at all."],
    ]) {
      await this.world.advance(60_000);
      const fork = await session.fork({
        at: head,
        label: label as string,
        id: `${session.id}-${label?.toLowerCase().replace(/\W+/g, "-")}`,
      });
      await this.answer(fork.turn(text as string));
    }
    const long = await this.open("customer-2187", {});
    await passing(this.world, long.compact());
    await this.answer(long.turn("Where is the replacement of A-1042?"));
  }

  private async cancelled(): Promise<void> {
    const session = await this.open("customer-2230", { label: "A long story", tags: ["chat"] });
    const turn = session.turn("Tell me the story of the kettle.");
    await this.world.advance(3_000);
    await turn.cancel("The customer left.");
    await this.answer(turn);
  }

  /** Jobs in every state. */
  private async background(): Promise<void> {
    const session = await this.open("desk", {});
    const report = "shop/desk.report";
    const signed = { type: "object", properties: { by: { type: "string" } }, required: ["by"] } as const;
    const { id: done } = await session.jobs.spawn({
      label: "Report: kettles",
      operation: report,
      input: { topic: "kettles" },
    });
    const { id: failed } = await session.jobs.spawn({
      label: "Report: returns abroad",
      operation: report,
      input: { topic: "returns abroad" },
      wake: "notify",
    });
    const { id: cancelled } = await session.jobs.spawn({
      label: "Order 80 kettles",
      operation: "shop/desk.order_more",
      input: { sku: "KETTLE-17", pieces: 80 },
      signals: { signed },
    });
    await session.jobs.spawn({
      label: "Order 500 kettles",
      operation: "shop/desk.order_more",
      input: { sku: "KETTLE-17", pieces: 500 },
      signals: { signed },
    });
    await session.jobs.register({
      label: "Trace of A-1042 at the carrier",
      about: { carrier: "Nordpost", trace: "NP-77" },
    });
    await passing(this.world, session.jobs.await([done, failed]));
    await this.world.advance(3_000);
    await session.jobs.cancel(cancelled, "Another shop delivers them.");
    await this.world.advance(3_000);
    await session.sendAt(new Date(this.world.now() + 30 * HOUR_MS), "Did the parcel of A-1042 arrive?", {
      key: "follow-up",
    });
  }

  /** A turn that waits for a person until the demo is used. */
  private async parked(id: string, text: string, label: string, tag: string): Promise<void> {
    const turn = (await this.open(id, { label, tags: [tag] })).turn(text);
    await passing(this.world, waitingIn(turn));
    await this.world.advance(3_000);
  }

  // ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────

  private async open(id: string, { label, owner, tags, model }: Marks): Promise<Session> {
    const config = { ...(label !== undefined && { label }), ...(model !== undefined && { model }) };
    return this.runtime.session(id, {
      ...(owner !== undefined && { owner }),
      ...(tags !== undefined && { tags }),
      config,
    });
  }

  private async ask(id: string, text: string, marks: Marks): Promise<void> {
    await this.answer((await this.open(id, marks)).turn(text));
  }

  private async answer(turn: { result(): Promise<unknown> }): Promise<void> {
    await passing(this.world, turn.result());
  }
}

async function waitingIn(turn: ReturnType<Session["turn"]>) {
  for await (const event of turn) if (event.kind === "waiting") return event.wait;
  throw new Error("The turn of the demo did not wait.");
}

type Talk = readonly [hoursAgo: number, id: string, label: string, tags: readonly string[], ...texts: string[]];
const TALKS: readonly Talk[] = [
  [
    150,
    "customer-2187",
    "Kettle that leaks",
    ["damage"],
    "Where is my order A-1042?",
    "It never arrived. What now?",
    "Thank you, that helps.",
  ],
  [139, "customer-2188", "Stock for a hotel", ["sales", "vip"], "Do you have 14 kettles in stock, in time for Monday?"],
  [128, "customer-2190", "Invoice A-1012", ["invoice"], "Please mail me the invoice of A-1012."],
  [117, "customer-2191", "Signed webhooks", ["developer"], "How do I check the signature of a webhook?"],
  [105, "customer-2193", "Delivery A-1019", ["delivery"], "When does A-1019 arrive?", "Great, thanks!"],
  [94, "customer-2195", "Small refund A-1021", ["refund"], "A refund of 12 euros for A-1021, please."],
  [82, "customer-2196", "Busy evening", ["delivery"], "Are you busy? Where is A-1024?"],
  [70, "customer-2198", "Lost parcel A-1027", ["delivery", "lost"], "My parcel A-1027 never arrived."],
  [58, "customer-2201", "Invoice A-1030", ["invoice"], "Please mail me the invoice of A-1030.", "Thanks!"],
  [
    49,
    "customer-2203",
    "Red kettle",
    ["sales"],
    "Is the red kettle available?",
    "When would it arrive, as order A-1035?",
  ],
  [40, "customer-2205", "Delivery A-1044", ["delivery", "vip"], "Where is order A-1044?"],
];

/** A small PNG: a box with a dent. */
function pictureOf(width: number, height: number): Uint8Array {
  const rows = Buffer.alloc(height * (width * 3 + 1));
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const isBox = x > 18 && x < width - 14 && y > 12 && y < height - 8 && !(x + y < 46);
      const shade = isBox ? [196 - y, 150 - y, 96 - (x >> 2)] : [226, 230, 236];
      rows.set(shade, y * (width * 3 + 1) + 1 + x * 3);
    }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8);
  const chunk = (type: string, data: Uint8Array): Buffer => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}
