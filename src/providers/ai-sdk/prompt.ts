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
import { CallIds } from "./call-ids.ts";
import { DIALECTS, type LoadedFile, named, type Version } from "./versions.ts";

/** Who is called, as far as the shape of the call depends on it. */
export interface Callee {
  readonly version: Version;
  readonly route: string;
  /** Speaks chat completions, where a tool's result is text and nothing else. */
  readonly isChat: boolean;
}

/** The attachments in the messages, loaded. */
export type Files = ReadonlyMap<BlobHash, Uint8Array>;

type WireMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: PlacedRole; readonly content: object[] };

type PlacedRole = "user" | "assistant" | "tool";

/** A part with the role it can be sent in, which need not be that of the message it is in. */
interface Placeable {
  readonly role: PlacedRole;
  readonly part: object;
  /** Waits for the results beside it, which must follow their calls without a break. */
  readonly isLate?: boolean;
}
interface Placed extends Placeable {
  readonly from: Message;
}

export function toPrompt(request: ModelRequest, callee: Callee, files: Files): readonly WireMessage[] {
  const { messages } = request;
  const first = messages.findIndex(({ role }) => role !== "system");
  const opening = messages.slice(0, first < 0 ? messages.length : first);
  // A later system message is refused by some APIs; as the user's words every one takes it.
  const system = [request.system, ...opening.map(({ parts }) => textOf(parts))];
  const placer = new Placer(callee, files);
  const placed = messages.slice(opening.length).flatMap((message) => placer.place(message));
  return [
    ...system.filter((words) => words !== "").map((content) => ({ role: "system", content }) as const),
    ...joined(inOrder(placed)),
  ];
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

/** Messages stay apart as they were, but all results of one reply are one message. */
function joined(placed: Iterable<Placed>): readonly WireMessage[] {
  const messages: { role: PlacedRole; content: object[] }[] = [];
  let last: Placed | undefined;
  for (const each of placed) {
    if (last?.role === each.role && (each.role === "tool" || last.from === each.from)) {
      messages.at(-1)!.content.push(each.part);
    } else messages.push({ role: each.role, content: [each.part] });
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

  place(from: Message): readonly Placed[] {
    const speaker = from.role === "assistant" ? "assistant" : "user";
    return from.parts.flatMap((part) => this.#place(part, speaker)).map((placed) => ({ ...placed, from }));
  }

  #place(part: Part, speaker: "assistant" | "user"): readonly Placeable[] {
    switch (part.kind) {
      case "text": {
        const own = this.#own(part.made);
        // Empty text is an error to some APIs, and to others the carrier of a signature.
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

  #file(attachment: Attachment): object {
    const file = this.#loaded(attachment);
    const data = DIALECTS[this.#callee.version].fileData(file.bytes);
    return { type: "file", data, mediaType: file.mediaType, ...named(file) };
  }

  #loaded({ hash, mediaType, name }: Attachment): LoadedFile {
    return { bytes: this.#files.get(hash)!, mediaType, ...(name === undefined ? {} : { name }) };
  }

  /** What this route said about the part, for it alone. */
  #own(made: Provenance | undefined): { providerOptions?: object } {
    return made?.route === this.#callee.route && isObject(made.data) ? { providerOptions: made.data } : {};
  }
}

const nameOf = ({ name, mediaType }: Attachment): string => (name === undefined ? mediaType : `${name}, ${mediaType},`);
