// All that a model reads of its memory.
export const RECALLED_MAX = 20;
export const TOPIC_CHARS_MAX = 64;

const notes = (count: number): string => `${count} ${count === 1 ? "note" : "notes"}`;

export const TEXTS = {
  guidance:
    "Older messages of this conversation may be taken out of your view; notes stay. Save with `remember` what will still " +
    "matter then: facts about the user, decisions and their reasons, findings that were hard to get. Delete a note with " +
    "`forget` when it is no longer true. Find notes that are not shown to you with `recall`.",
  /** The last line of the notes in the prompt. Bounded: see `REST_BYTES`. */
  moreNotes: (count: number) => `(${count} more: call \`recall\` to find them.)`,

  remember:
    "Saves a note that stays when older messages of this conversation are taken out of your view. Use it for facts about " +
    "the user, decisions and findings that you will need again. Write one fact per note, in words that make sense on " +
    "their own. A note that is there already is not saved twice. Returns the note's id, for example m3.",
  note: (bytesMax: number) =>
    `The note: one fact, understandable without this conversation. At most ${bytesMax} bytes.`,
  topic: `One or two words that group this note with others, for example "travel". At most ${TOPIC_CHARS_MAX} characters.`,
  saved: (id: string) => `Saved as ${id}.`,
  savedBefore: (id: string) => `This note is saved already, as ${id}.`,
  noNote: "The note is empty, so nothing was saved. Put the fact to remember into `note`.",
  noteTooLong: (bytes: number, max: number) =>
    `The note has ${bytes} bytes, and at most ${max} are allowed, so it was not saved. Shorten it, or save several notes.`,
  full: (count: number) =>
    `The memory is full with ${notes(count)}, so this one was not saved. Delete notes that you no longer need with forget, then save it again.`,

  forget:
    "Deletes a note for good. Use it when a note is no longer true or no longer needed, and to make room when the memory " +
    "is full. Returns a confirmation.",
  id: "The id of the note, for example m3. Your notes, remember and recall show it.",
  forgotten: (id: string) => `${id} is deleted.`,
  unknownNote: (id: string) => `There is no note ${id}.`,
  noNotes: "There are no notes.",
  newestNotes: (ids: string) => `The newest notes are ${ids}.`,
  allNotes: (ids: string) => `The notes are ${ids}.`,

  recall:
    "Searches all your notes, also those that are not shown to you. Use it before you ask the user for something that " +
    "you may have noted. Only whole words match; case and accents do not matter. " +
    `Returns \`notes\`, at most ${RECALLED_MAX}, each with id, topic, note and the time it was made (at): those ` +
    "with the most words of the query first or, without a query, the newest first. `hint` says when there are more, or none.",
  query: "Words to look for in notes and their topics. Leave it out to get the newest notes.",
  onlyTopic: "Return only notes with this topic. Leave it out to search all notes.",
  moreFit: (count: number) =>
    `${count} more notes fit less well or are older. Search with other words or a topic to see them.`,
  nothingSaved: "No notes are saved yet.",
  noMatch: (count: number) => `None of ${notes(count)} matches. Only whole words match: try other words.`,
  topics: (names: string) => `The topics are ${names}.`,
};
