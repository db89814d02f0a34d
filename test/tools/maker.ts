import { definePlugin, type Json, type Runtime, type Session } from "bowline";
import type { NewSessionRequest } from "bowline/plugin";
import { z } from "zod";

/** Makes sessions, and shows what operations see of the tools. */
export const maker = definePlugin({
  id: "acme/maker",
  setup: ({ query, command }) => ({
    operations: {
      make: command({
        input: z.custom<NewSessionRequest>(),
        run: async ({ input, sessions }) => (await sessions.create(input)).id,
      }),
      tools: query({ run: ({ catalog }) => catalog.list().map(({ name }) => name) }),
      describe: query({
        input: z.string(),
        run: async ({ input, catalog }) => (await catalog.describe(input)) !== undefined,
      }),
      set: command({
        input: z.tuple([z.string(), z.enum(["off", "searchable", "callable", "documented"])]),
        run: ({ input: [name, availability], membership }) => membership.set(name, availability),
      }),
      grant: command({
        input: z.tuple([z.string(), z.custom<{ source: string; tool: string; bindings?: { [key: string]: Json } }>()]),
        run: ({ input: [name, grant], membership }) => membership.grant(name, grant),
      }),
      revoke: command({ input: z.string(), run: ({ input, membership }) => membership.revoke(input) }),
    },
  }),
});

/** Makes a session from another one, and opens it. */
export async function made(runtime: Runtime, from: Session, request: NewSessionRequest): Promise<Session> {
  const { output } = await from.command(maker, "make", request);
  return runtime.session(output as string);
}
