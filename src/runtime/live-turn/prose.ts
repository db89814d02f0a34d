// The part of a reply that a person sees, if the protocol has a grammar for the runtime (the slot `proseProjector`).
// prose-1 If a projector throws or returns no text, the whole text is shown. The turn continues, because the reply is paid for.
import type { ProseProjector, ProseStream } from "../../kernel/slots.ts";
import { describeThrown } from "../../model/json.ts";
import { type Part, textOf } from "../../model/message.ts";
import type { ModelAnswer, ModelCall } from "../services/model-call.ts";
import type { LiveTurn } from "./turn.ts";

/** One reply: shown as it streams, and then stored with the shown text. */
export class ReplyProse {
  readonly #live: LiveTurn;
  readonly #show: ModelCall["show"];
  readonly #projector: ProseProjector | undefined;
  #attempt = 1;
  #prose: ProseStream | undefined;

  constructor(live: LiveTurn, show: ModelCall["show"]) {
    this.#live = live;
    this.#show = show;
    this.#projector = projectorOf(live);
    this.#prose = this.#projector?.stream?.();
  }

  readonly show: ModelCall["show"] = (attempt, kind, delta) => {
    if (this.#attempt !== attempt) {
      this.#attempt = attempt;
      this.#prose = this.#projector?.stream?.();
    }
    if (kind !== "text") return this.#show(attempt, kind, delta);
    this.#say(this.#prose?.push(delta) ?? "");
    return this.#prose?.keeps;
  };

  /** The reply has ended, complete or not: shows the text that was held back. */
  shownIn(asked: ModelAnswer): ModelAnswer {
    const parts = projected(this.#live, asked.kind === "replied" ? asked.reply.parts : asked.partial);
    this.#say(this.#prose === undefined ? textOf(parts, "shown") : this.#prose.end());
    return asked.kind === "replied" ? { ...asked, reply: { ...asked.reply, parts } } : { ...asked, partial: parts };
  }

  #say(words: string): void {
    if (words !== "") this.#show(this.#attempt, "text", words);
  }
}

/** The parts of a reply. If a person sees another text, the part has it as `shown`. */
export function projected(live: LiveTurn, parts: readonly Part[]): readonly Part[] {
  const projector = projectorOf(live);
  if (projector === undefined) return parts;
  const texts = parts.filter((part) => part.kind === "text");
  const prose = texts.length > 1 ? projector.stream?.() : undefined; // Hidden text may continue in the next part.
  return parts.map((part) => {
    if (part.kind !== "text") return part;
    const isLast = part === texts.at(-1);
    const shown = prose === undefined ? projector.text(part.text) : prose.push(part.text) + (isLast ? prose.end() : "");
    const { shown: _, ...plain } = part;
    return shown === part.text ? plain : { ...plain, shown };
  });
}

/** prose-1 */
function projectorOf(live: LiveTurn): ProseProjector | undefined {
  const slot = live.hooks.slot("proseProjector");
  if (slot === undefined) return undefined;
  const guarded = (project: () => unknown, raw: string): string => {
    try {
      const words = project();
      if (typeof words === "string") return words;
      live.trace("prose.failed", { plugin: live.hooks.ownerOf("proseProjector"), problem: "it gave no text" });
    } catch (error) {
      live.trace("prose.failed", { plugin: live.hooks.ownerOf("proseProjector"), problem: describeThrown(error) });
    }
    return raw;
  };
  const text = (raw: string): string => guarded(() => slot.text(raw), raw);
  if (slot.stream === undefined) return { text };
  return {
    text,
    stream: () => {
      const prose = slot.stream?.();
      return {
        push: (delta) => guarded(() => prose?.push(delta), delta),
        end: () => guarded(() => prose?.end(), ""),
        get keeps() {
          return prose?.keeps;
        },
      };
    },
  };
}
