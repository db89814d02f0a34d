import type { Draft } from "../model/message.ts";

/** An answer knows whose it is. */
export interface Owned<T> {
  readonly plugin: string;
  readonly value: T;
}

/** A message with the plugin that it comes from. */
export const saidBy = ({ plugin, value: { role, parts } }: Owned<Draft>): Draft => ({
  role,
  parts,
  origin: { kind: "plugin", plugin },
});
