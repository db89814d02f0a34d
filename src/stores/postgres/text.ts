import { corrupt } from "../rows/faults.ts";

/** What a row says as JSON. */
export function parsed<T>(text: string, item: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw corrupt(item, "it is not JSON", error);
  }
}
