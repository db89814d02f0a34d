import { asCursor, type Cursor } from "../../model/ids.ts";

export const cursorOf = (fact: number): Cursor => asCursor(String(fact));
