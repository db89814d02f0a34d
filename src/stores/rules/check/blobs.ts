import type { Key, Port } from "../port.ts";
import type { Rule } from "../rule.ts";
import { guarded, PAGE, type Report } from "./report.ts";

/** How many blobs are read at a time. A blob may have megabytes. */
const BLOBS = 10;

/** Checks the content of all blobs, and that each blob that a row names exists. */
export function* checkBlobs(db: Port, report: Report): Rule<void> {
  yield* guarded(db, report, "The table blob", checkContent(db, report));
  yield* guarded(db, report, "The table blob", checkNamed(db, report));
}

function* checkContent(db: Port, report: Report): Rule<void> {
  if (db.blobPage === undefined) return;
  let after: Key | undefined;
  do {
    const { blobs, last }: { blobs: readonly { hash: string; isWhole: boolean }[]; last: Key | undefined } =
      yield* db.blobPage(after, BLOBS);
    for (const { hash, isWhole } of blobs) if (!isWhole) report.add(`The blob ${hash}`, "its content has another hash");
    after = last;
  } while (after !== undefined && !report.isFull);
}

function* checkNamed(db: Port, report: Report): Rule<void> {
  if (db.hasBlobs === undefined) return;
  const named = [...report.named];
  for (let at = 0; at < named.length && !report.isFull; at += PAGE) {
    const page = named.slice(at, at + PAGE);
    const there = yield* db.hasBlobs(page.map(([hash]) => hash));
    for (const [hash, item] of page) if (!there.has(hash)) report.add(item, `the blob ${hash} is missing`);
  }
}
