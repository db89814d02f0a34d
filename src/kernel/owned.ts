import type { Draft } from "../model/message.ts";

/** A value with its plugin, so that errors and conflicts can name the plugin. */
export interface Owned<T> {
  readonly plugin: string;
  readonly value: T;
}

/** A message with the plugin that it comes from. */
export const messageFrom = ({ plugin, value: { role, parts } }: Owned<Draft>): Draft => ({
  role,
  parts,
  origin: { kind: "plugin", plugin },
});
