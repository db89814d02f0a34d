import { corrupt } from "../rows/faults.ts";

/** Parses the JSON of a row. */
export function parsed<T>(text: string, item: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw corrupt(item, "it is not JSON", error);
  }
}
