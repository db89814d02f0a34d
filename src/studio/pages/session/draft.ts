// What a person has written and not sent. It survives a change of the page; the text survives a reload, too.
const KEY = "bowline draft ";
const files = new Map<string, readonly File[]>();

export const draftOf = (session: string): string => sessionStorage.getItem(KEY + session) ?? "";

export function setDraft(session: string, text: string): void {
  if (text === "") sessionStorage.removeItem(KEY + session);
  else
    try {
      sessionStorage.setItem(KEY + session, text);
    } catch {
      // The storage of the browser is full: the text stays in the field.
    }
}

export const filesOf = (session: string): readonly File[] => files.get(session) ?? [];

export function setFiles(session: string, given: readonly File[]): void {
  if (given.length === 0) files.delete(session);
  else files.set(session, given);
}
