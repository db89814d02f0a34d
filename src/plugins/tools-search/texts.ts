// All texts about the search for tools that a model reads.
export const NAME = "tools_search";

export const TEXTS = {
  guidance: (count: string) =>
    `You are shown only some of the tools that you can use: there are ${count} in all. If none of yours fits the task, ` +
    `search for one with \`${NAME}\`. You can call the tools that it opens from your next reply on.`,

  description:
    "Searches for tools that you are not shown yet, and opens the best matches. Use it when none of your tools fits the " +
    "task. Describe what the tool should do or work on, or open tools by their exact names. You can call opened tools " +
    "from your next reply on, also in later turns. Returns `opened`, each with name, description and signature; `open`, " +
    "matching tools that you could call already; and `note`, which says what to do next.",
  query:
    'Words for what the tool does or works on, for example "send mail"; or "select: name, name" to open tools by name.',
  max: (max: number) => `The most tools to open. Default and maximum: ${max}.`,

  callThem: "You can call the opened tools from your next reply on, also in later turns.",
  moreFit: (count: number) => `${count} more fit less well: search with other words to open them.`,
  cannotOpen: (names: string) => `These cannot be opened now: ${names}.`,
  atMost: (max: number, names: string) =>
    `One search opens at most ${max} tools. Not opened: ${names}. Search again to open them.`,
  unknown: (names: string) => `There is no tool named ${names}.`,
  similar: (names: string) => `Similar names: ${names}.`,
  others: (names: string, count: number) => `${names} and ${count} others`,
  noQuery: "The query is empty. Describe the tool that you need.",
  nothingFits: (query: string) => `No tool fits ${query}. Try other words, or do the task without it.`,
  noOthers: "There are no tools besides those that you are shown.",
  whatThereIs: (count: number, groups: string) =>
    `${count === 1 ? "1 tool" : `${count} tools`} can be found. By the beginnings of their names: ${groups}.`,
};
