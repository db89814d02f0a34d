// Writes a request in the SDK's form of a prompt. Not its job: the places of breakpoints (`cache.ts`), and forms that
// differ between versions of the specification (`versions.ts`).
import type { BlobHash } from "../../model/ids.ts";
import { isObject, type Json } from "../../model/json.ts";
import {
  type Attachment,
  type Message,
  type Part,
  type Provenance,
  type ToolResultPart,
  textOf,
} from "../../model/message.ts";
import type { ModelRequest } from "../../model/request.ts";
import { type Block, type Breakpoints, breakpointsIn, type CacheStyle, type Draft } from "./cache.ts";
import { CallIds } from "./call-ids.ts";
import { DIALECTS, type LoadedFile, named, type Version } from "./versions.ts";

/** The properties of a model that determine the form of a prompt. */
export interface Callee {
  readonly version: Version;
  readonly route: string;
  /** Whether the API is chat completions, where a tool's result can only be text. */
  readonly isChat: boolean;
  /** The form of the provider's cache breakpoints; undefined if it has none. */
  readonly cache: CacheStyle | undefined;
}

/** The bytes of all attachments in the messages. */
export type Files = ReadonlyMap<BlobHash, Uint8Array>;

type WireMessage = { readonly providerOptions?: object } & (
  | { readonly role: "system"; readonly content: string }
  | { readonly role: Block["role"]; readonly content: readonly object[] }
);

/** A part with the role in which it can be sent, which may differ from the role of its message. */
interface Placeable extends Omit<Block, "at"> {
  /** Whether the part must come after the results of its message, because results must directly follow their calls. */
  readonly isLate?: boolean;
}
type Placed = Placeable & Block;

export function toPrompt(request: ModelRequest, callee: Callee, files: Files): readonly WireMessage[] {
  const { messages, settings } = request;
  const first = messages.findIndex(({ role }) => role !== "system");
  const opening = messages.slice(0, first < 0 ? messages.length : first);
  // Only system messages at the beginning keep their role. Later ones are sent as user messages, because some APIs
  // refuse later system messages.
  const system = [{ words: request.system, at: -1 }, ...opening.map(({ parts }, at) => ({ words: textOf(parts), at }))];
  const placer = new Placer(callee, files);
  const placed = messages
    .slice(opening.length)
    .flatMap((message, index) => placer.place(message, opening.length + index));
  const draft = { system: system.filter(({ words }) => words !== ""), body: joined(inOrder(placed)) };
  const isCached = callee.cache !== undefined && settings?.cache !== "off";
  return written(draft, isCached ? breakpointsIn(draft, request, callee.cache) : undefined);
}

function written({ system, body }: Draft, breakpoints: Breakpoints | undefined): readonly WireMessage[] {
  const marked = <T extends object>(target: T, source: object): T =>
    breakpoints?.after.has(source) ? withOption(target, breakpoints) : target;
  return [
    ...system.map((each) => marked({ role: "system", content: each.words } as const, each)),
    ...body.map(({ role, blocks }) =>
      breakpoints?.isOnMessage
        ? marked({ role, content: blocks.map(({ part }) => part) }, blocks.at(-1)!)
        : { role, content: blocks.map((block) => marked(block.part, block)) },
    ),
  ];
}

/** Adds the option to a part or message. Existing options have priority. */
function withOption<T extends { readonly providerOptions?: unknown }>(target: T, breakpoints: Breakpoints): T {
  const { namespace, option } = breakpoints;
  const own = isObject(target.providerOptions) ? target.providerOptions : {};
  const beside = isObject(own[namespace]) ? own[namespace] : {};
  return { ...target, providerOptions: { ...own, [namespace]: { ...option, ...beside } } };
}

function* inOrder(placed: readonly Placed[]): Generator<Placed> {
  let late: Placed[] = [];
  for (const each of placed) {
    if (each.isLate) {
      late.push(each);
      continue;
    }
    if (each.role !== "tool") {
      yield* late;
      late = [];
    }
    yield each;
  }
  yield* late;
}

/** Groups parts into messages as they were, but puts all results of one reply into one message. */
function joined(placed: Iterable<Placed>): Draft["body"] {
  const messages: { role: Block["role"]; blocks: Placed[] }[] = [];
  let last: Placed | undefined;
  for (const each of placed) {
    if (last?.role === each.role && (each.role === "tool" || last.at === each.at)) messages.at(-1)!.blocks.push(each);
    else messages.push({ role: each.role, blocks: [each] });
    last = each;
  }
  return messages;
}

class Placer {
  readonly #callee: Callee;
  readonly #files: Files;
  readonly #ids: CallIds;

  constructor(callee: Callee, files: Files) {
    this.#callee = callee;
    this.#files = files;
    this.#ids = new CallIds(callee.route);
  }

  place({ role, parts }: Message, at: number): readonly Placed[] {
    const speaker = role === "assistant" ? "assistant" : "user";
    return parts.flatMap((part) => this.#place(part, speaker)).map((placed) => ({ ...placed, at }));
  }

  #place(part: Part, speaker: "assistant" | "user"): readonly Placeable[] {
    switch (part.kind) {
      case "text": {
        const own = this.#own(part.made);
        // Some APIs refuse empty text; others use it to carry a signature, which must be sent back.
        if (part.text === "" && own.providerOptions === undefined) return [];
        return [{ role: speaker, part: { type: "text", text: part.text, ...own } }];
      }
      case "reasoning": {
        if (part.made?.route !== this.#callee.route || speaker !== "assistant") return [];
        return [{ role: speaker, part: { type: "reasoning", text: part.text, ...this.#own(part.made) } }];
      }
      case "toolCall": {
        const input: Json = part.malformed === undefined ? part.input : {};
        const call = { type: "tool-call", toolCallId: this.#ids.ofCall(part), toolName: part.name, input };
        return [{ role: "assistant", part: { ...call, ...this.#own(part.made) } }];
      }
      case "toolResult": {
        const result = { type: "tool-result", toolCallId: this.#ids.ofResult(part), toolName: part.name };
        return [{ role: "tool", part: { ...result, output: this.#output(part) } }, ...this.#lateFiles(part)];
      }
      case "codeOutput":
        return part.parts.flatMap((each) => this.#place(each, "user"));
      case "attachment":
        return [{ role: "user", part: this.#file(part) }];
    }
  }

  #lateFiles({ parts }: ToolResultPart): readonly Placeable[] {
    if (!this.#callee.isChat) return [];
    const attachments = parts.filter((each) => each.kind === "attachment");
    return attachments.map((each) => ({ role: "user", part: this.#file(each), isLate: true }));
  }

  #output(part: ToolResultPart): object {
    const { version, isChat } = this.#callee;
    if (!isChat && part.parts.some(({ kind }) => kind === "attachment")) {
      const value = part.parts.map((each) =>
        each.kind === "text" ? { type: "text", text: each.text } : DIALECTS[version].resultFile(this.#loaded(each)),
      );
      return { type: "content", value };
    }
    const lines = part.parts.map((each) => (each.kind === "text" ? each.text : `[${nameOf(each)} follows]`));
    return { type: part.status === "ok" ? "text" : "error-text", value: lines.join("\n") };
  }

  #file(attachment: Attachment): Block["part"] {
    const file = this.#loaded(attachment);
    const data = DIALECTS[this.#callee.version].fileData(file.bytes);
    return { type: "file", data, mediaType: file.mediaType, ...named(file) };
  }

  #loaded({ hash, mediaType, name }: Attachment): LoadedFile {
    return { bytes: this.#files.get(hash)!, mediaType, ...(name === undefined ? {} : { name }) };
  }

  /** Metadata that the model attached to the part. It is sent back to that model only. */
  #own(made: Provenance | undefined): { providerOptions?: object } {
    return made?.route === this.#callee.route && isObject(made.data) ? { providerOptions: made.data } : {};
  }
}

const nameOf = ({ name, mediaType }: Attachment): string => (name === undefined ? mediaType : `${name}, ${mediaType},`);
