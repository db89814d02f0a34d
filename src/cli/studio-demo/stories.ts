// The replies of the demo's model, by the message that they answer.
import type { Json } from "../../model/json.ts";

export interface Step {
  readonly thinks?: string;
  readonly says?: string;
  readonly calls?: readonly { readonly tool: string; readonly input: Json }[];
  /** The class of the failure. `overloaded` passes at the second attempt. */
  readonly fails?: "overloaded" | "auth";
  /** How much slower than others the text comes. */
  readonly pace?: number;
}

/** The steps of one turn: each answers the results of the one before. */
type Story = readonly [match: RegExp, steps: (order: string, words: string) => readonly Step[]];

const call = (tool: string, input: Json) => ({ tool, input });
const orderIn = (words: string): string => /\bA-\d+/i.exec(words)?.[0].toUpperCase() ?? "A-1042";

const STORIES: readonly Story[] = [
  [
    /^(?:The weekly|Sum up|The conversation)/,
    () => [
      {
        says: "The customer asked for the kettle of order A-1042, got a replacement and a voucher of 5 euros. Open: the photo of the box.",
      },
    ],
  ],
  [
    /refund/i,
    (order, words) => {
      const euros = Number(/(\d+) euros/.exec(words)?.[1] ?? 45);
      return [
        {
          thinks:
            "The customer wants money back. I look at the order first, because the amount must not exceed its total.",
          calls: [call("find_order", { order })],
        },
        {
          says: "I found the order and ask for the refund.",
          calls: [call("refund", { order, euros, reason: "The parcel arrived damaged." })],
        },
        {
          says: `Here is where we are with **${order}**:\n\n| | |\n| --- | --- |\n| Amount | ${euros} euros |\n| Decided by | a person of the team |\n| Time | 3 to 5 working days |\n\nThe mail with the details follows.`,
        },
      ];
    },
  ],
  [
    /which size|exchange/i,
    (order) => [
      { calls: [call("find_order", { order })] },
      { calls: [call("ask_customer", { order, text: "Which size do you need instead?" })] },
      { says: "Thank you. The exchange is on its way." },
    ],
  ],
  [
    /lost|trace|never (?:came|arrived)/i,
    (order) => [
      {
        thinks: "No delivery after nine days. The carrier must trace the parcel, which takes a day or two.",
        calls: [call("find_order", { order }), call("carrier_status", { order })],
      },
      {
        says: `The carrier had order ${order} on its van twice and did not deliver it.\n\n1. I opened a trace.\n2. You get an answer within two days.\n3. If the parcel is lost, we send the kettle again, at no cost.`,
      },
    ],
  ],
  [
    /stock|available|in time/i,
    () => [
      {
        says: "I check all three warehouses at once.",
        calls: [
          call("stock", { sku: "KETTLE-17", warehouse: "Hamburg" }),
          call("stock", { sku: "KETTLE-17", warehouse: "Vienna" }),
          call("stock", { sku: "KETTLE-17", warehouse: "Lyon" }),
        ],
      },
      {
        says: "The kettle is available:\n\n| Warehouse | Pieces | Ships |\n| --- | ---: | --- |\n| Hamburg | 14 | today |\n| Vienna | 3 | tomorrow |\n| Lyon | unknown | its system does not answer |\n\nFrom Hamburg it arrives on **Thursday**.",
      },
    ],
  ],
  [
    /photo|picture/i,
    () => [
      { calls: [call("remember", { note: "The box of A-1061 was crushed at one corner.", topic: "A-1061" })] },
      {
        says: "I see the dented corner. The kettle itself looks intact:\n\n- the lid closes,\n- the base is straight,\n- the cable is whole.\n\nDo you want to keep it for a **15 % discount**?",
      },
    ],
  ],
  [
    /research|compare/i,
    () => [
      {
        says: "Two agents look into this at the same time.",
        calls: [
          call("spawn_agent", { capability: "researcher", task: "Find the return rules of the three carriers." }),
          call("spawn_agent", {
            capability: "researcher",
            task: "Collect the prices of the kettle at two competitors.",
          }),
        ],
      },
      {
        says: "## Result\n\nOurs is the cheapest kettle with free returns.\n\n| Shop | Price | Returns |\n| --- | ---: | --- |\n| **Ours** | 45.00 | free, 30 days |\n| Potts | 47.90 | 4.90, 14 days |\n| Kettle & Co | 43.50 | not free, 14 days |\n\n> Kettle & Co adds shipping of 5.90.",
      },
    ],
  ],
  [
    /return rules/i,
    () => [
      { calls: [call("find_rules", { carrier: "all" })] },
      {
        calls: [
          call("spawn_agent", { capability: "critic", task: "Look for mistakes: returns are free with all carriers." }),
        ],
      },
      {
        says: "Two carriers take returns at no cost, the third asks 2.40 euros. The critic found that I had missed the third.",
      },
    ],
  ],
  [
    /prices of the kettle/i,
    () => [{ says: "Potts asks 47.90 euros, Kettle & Co 43.50 euros plus 5.90 for shipping." }],
  ],
  [
    /look for mistakes/i,
    () => [{ thinks: "One carrier is missing.", says: "The claim is wrong: Nordpost charges 2.40 euros." }],
  ],
  [
    /script|sign|webhook/i,
    () => [
      {
        says: 'Check the signature before you read the body:\n\n```ts\nimport { createHmac, timingSafeEqual } from "node:crypto";\n\nexport function isSigned(body: string, given: string, secret: string): boolean {\n  const made = createHmac("sha256", secret).update(body).digest();\n  const got = Buffer.from(given, "hex");\n  return made.length === got.length && timingSafeEqual(made, got);\n}\n```\n\nWebhooks come from `hooks.shop.example`. They are sent **at least once**, so keep the ids that you have seen.',
      },
    ],
  ],
  [
    /how many orders/i,
    () => [
      {
        says: 'I count them by program.\n\n<typescript>\nconst orders = ["A-1040", "A-1041", "A-1042", "A-1043"];\nconst found = await Promise.all(orders.map((order) => tools.find_order({ order })));\nconst late = found.filter(({ status }) => status !== "delivered");\nprint(late.length + " of " + found.length + " are not delivered");\nlate.map(({ order, status }) => order + ": " + status);\n</typescript>',
      },
      {
        says: "Three of the last four orders are not delivered: A-1042 is on its way, and A-1040 and A-1043 came back to us.",
      },
    ],
  ],
  [/key of the model/i, () => [{ fails: "auth" }]],
  [
    /busy|evening/i,
    () => [
      { fails: "overloaded" },
      {
        says: "Sorry for the wait: this evening many people write to us. Your order leaves the house tomorrow morning.",
      },
    ],
  ],
  [
    /story|everything about/i,
    () => [
      {
        pace: 6,
        says: "The first kettles had no handle at all. People held them with a cloth, and the cloth got hot as well. ".repeat(
          12,
        ),
      },
    ],
  ],
  [
    /every day|summary of the (?:day|morning)/i,
    () => [
      { calls: [call("find_order", { order: "A-1042" }), call("find_order", { order: "A-1061" })] },
      { says: "**Morning.** 38 new orders, 2 parcels on their way back, 1 refund waits for a person." },
    ],
  ],
  [
    /invoice|mail me/i,
    (order) => [
      { calls: [call("find_order", { order })] },
      { calls: [call("send_mail", { to: "customer@example.com", subject: `Invoice of ${order}`, body: "Attached." })] },
      { says: "The invoice is in your mailbox." },
    ],
  ],
  [
    /where is|when|order A-/i,
    (order) => [
      { calls: [call("find_order", { order })] },
      { says: `Order **${order}** left Hamburg this morning. It arrives on Thursday between 9 and 12.` },
    ],
  ],
  [/thank|great|thanks/i, () => [{ says: "You are welcome. Have a good day!" }]],
];

const HELP = `This is a demo: the model plays a script, and all else is real. Try one of these:

- **Refund order A-1042** waits for your approval
- **Is the kettle in stock?** calls three tools at once, and one fails
- **Compare our kettle with others** starts two agents
- **Tell me the story of the kettle** streams slowly, so that you can cancel it
- **Which size can I exchange A-1042 for?** asks you a question`;

export function storyOf(words: string, hasTools: boolean): readonly Step[] {
  const [, steps] = STORIES.find(([match]) => match.test(words)) ?? [];
  const found = steps?.(orderIn(words), words) ?? [{ says: HELP }];
  // A completion, such as a summary, has no tools.
  return hasTools || found.every(({ calls }) => calls === undefined) ? found : [found.at(-1) as Step];
}
