import type { PreviewKey } from "../../model/event.ts";
import type { CallId, EffectName } from "../../model/ids.ts";
import { describeThrown, type Json, toJson } from "../../model/json.ts";
import type { PlacedCall } from "../../turn/effect.ts";
import type { LiveTurn } from "./turn.ts";

/** The pause between two events, because a tool that prints byte by byte must not cause an event per byte. */
const JOIN_MS = 50;
/** How many characters of one attempt are shown. Bounded, because late readers get all of them again. */
const SHOWN_MAX = 256 * 1024;
const PROGRESS_BYTES_MAX = 16 * 1024;
const CUT = "\n… more was printed; it is not shown.\n";

interface Printing {
  readonly effect: EffectName;
  readonly callId: CallId;
  /** The same object in all its events, so that they can be joined. */
  readonly key: PreviewKey;
  room: number;
  text: string;
  progress: Json | undefined;
  /** An event was just shown. The next one follows after the pause. */
  isPausing: boolean;
}

/** Shows the output and progress of running tools. The output is joined and bounded, and never part of a result. */
export class LivePrinting {
  readonly #live: LiveTurn;
  readonly #printing = new Map<EffectName, Printing>();

  constructor(live: LiveTurn) {
    this.#live = live;
  }

  printed(effect: EffectName, placed: PlacedCall, attempt: number, chunk: string): void {
    const printing = this.#of(effect, placed, attempt);
    const text = String(chunk);
    if (printing === undefined || printing.room <= 0 || text === "") return;
    printing.text += text.length <= printing.room ? text : text.slice(0, printing.room) + CUT;
    printing.room -= text.length;
    this.#show(printing);
  }

  progressed(effect: EffectName, placed: PlacedCall, attempt: number, value: Json): void {
    const found = toJson(value);
    const problem =
      "problem" in found
        ? `${found.path}: ${found.problem}`
        : JSON.stringify(found.json).length > PROGRESS_BYTES_MAX
          ? `it is larger than ${PROGRESS_BYTES_MAX} bytes`
          : undefined;
    if (problem !== undefined) return this.#live.trace("tool.progress", { name: placed.call.name, problem });
    const printing = this.#of(effect, placed, attempt);
    if (printing === undefined) return;
    printing.progress = ("json" in found ? found.json : null) as Json;
    this.#show(printing);
  }

  /** The attempt has ended: shows the output that was held back. */
  close(effect: EffectName): void {
    const printing = this.#printing.get(effect);
    if (printing === undefined) return;
    this.#printing.delete(effect);
    this.#flush(printing);
  }

  /** Undefined if a later attempt has begun. */
  #of(effect: EffectName, placed: PlacedCall, attempt: number): Printing | undefined {
    let printing = this.#printing.get(effect);
    if (printing?.key.attempt === attempt) return printing;
    if (printing !== undefined && printing.key.attempt > attempt) return undefined;
    this.close(effect);
    const key = this.#live.key(effect, attempt);
    const { id: callId } = placed.call;
    printing = { effect, callId, key, room: SHOWN_MAX, text: "", progress: undefined, isPausing: false };
    this.#printing.set(effect, printing);
    return printing;
  }

  #show(printing: Printing): void {
    if (printing.isPausing) return;
    this.#flush(printing);
    printing.isPausing = true;
    this.#live.world.sleep(JOIN_MS).then(
      () => {
        printing.isPausing = false;
        const isMore = printing.text !== "" || printing.progress !== undefined;
        if (isMore && this.#printing.get(printing.effect) === printing) this.#show(printing);
      },
      (error: unknown) => this.#live.trace("tool.output", { problem: describeThrown(error) }),
    );
  }

  #flush(printing: Printing): void {
    const { callId, key, text, progress } = printing;
    const { sessionId, turnId, show } = this.#live;
    const about = { fact: false, sessionId, turnId, key, callId } as const;
    printing.text = "";
    printing.progress = undefined;
    if (text !== "") show.preview({ ...about, kind: "toolOutput", delta: text });
    if (progress !== undefined) show.preview({ ...about, kind: "toolProgress", value: progress });
  }
}
