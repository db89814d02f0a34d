/** A construction that a hurried reader stumbles over, and what to write instead. */
export type BadEnglish = readonly [found: RegExp, advice: string];

/** For error messages, hints and docs. None of them has a flag `g`, so that `test` keeps no state. */
export const BAD_ENGLISH: readonly BadEnglish[] = [
  [/\b(?:is|are) not right\b/i, "write: Invalid `x`: …"],
  [/\b(?:whoever|whomever|whosoever)\b/i, "name who it is"],
  [/\b(?:is|are|was|were|be|been|being) told\b/i, "is notified, receives"],
  [/\b(?:says|tells|hears|knows)\b/i, "things do not speak: shows, returns, reports, has"],
  [/\b(?:go|goes|going|gone|went) on\b/i, "continues, resumes"],
  [/(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b)/i, "is not a"],
  [/\bof (?:its|their|his|her|my|our|your) own\b/i, "own, separate, unique"],
  [/\bunless given\b/i, "default: …"],
  [/\b(?:give|gives|given|gave) up\b/i, "stopped, parked, released"],
  [/\b(?:get|gets|got) (?:on|through)\b/i, "makes progress, completes"],
  [/\b(?:begin|begins|began|begun) again\b/i, "restarted"],
  [/\bswept\b/i, "garbage-collected"],
  [/\banew\b/i, "again"],
  [/\btaken? up\b/i, "resumes"],
  [/\bstands? (?:beside|in the place)\b/i, "cannot be combined with, replaces"],
  [/\bin the (?:place|stead) of\b/i, "instead of"],
  [/\bin another way than\b/i, "differently from"],
  [/\b(?:is|are) over\b/i, "has ended"],
  [/(?<!\bor )\bmay not\b/i, "cannot, or must not"],
];

/** What is wrong with a text: each bad construction with its advice, `[]` if there is none. */
export const badEnglishIn = (text: string): readonly string[] =>
  BAD_ENGLISH.flatMap(([found, advice]) => {
    const match = found.exec(text);
    return match === null ? [] : [`"${match[0]}": ${advice}`];
  });
