// Runs the cells of a session in guests of a sandbox.
// executor-1: A guest exists only while a turn runs here. Between turns, and while a turn is parked, a session has
// none.
// executor-2: Everything that determines the heap comes from the image and the recorded segments, also cell numbers,
//    random seeds and times. External values of a segment are recorded with it (`given`), and a replay reads only the
//    record.
// executor-3: A replay must give the recorded calls with their inputs, sleeps and steps, and at the end of a cell the
//    same heap. Comparing only the calls would not detect half of the deliveries in a wrong order.
import { type Json, RuntimeError, shortened } from "../../plugin.ts";
import type { CellProgress, CellSegment, CodeContext, CodeExecutor, CodePast } from "../../protocol.ts";
import type {
  CellBounds,
  Delivery,
  Guest,
  Progress,
  Sandbox,
  Surface,
  Surroundings,
} from "../../sandbox/quickjs/index.ts";
import { Bindings, boundAfter, type Changes, keepSeed, seedOf, setSeed } from "./bindings.ts";
import { answerIn, differenceOf, RunningCell } from "./cell.ts";
import { historyFor } from "./history.ts";
import { answerRead, deliveryOf, type ReadAnswer } from "./reads.ts";
import { type CodeState, type Digests, forgetImage, imageIn, keepImage } from "./state.ts";
import { TEXTS } from "./texts.ts";
import { type CodeTools, toolsKeeper } from "./tools.ts";

const LANGUAGES: ReadonlySet<string> = new Set(["ts", "typescript", "js", "javascript"]);

/** How many characters of a segment's output are previewed: its beginning and its end. */
const PRINTED_CHARS_MAX = 8_000;

/** The external values of a segment: the surroundings of a cell that begins, or the answer to a read. */
type Given = (Surroundings & Changes) | ReadAnswer | undefined;
type Context = CodeContext<CodeState>;

export class Executor implements CodeExecutor<CodeState> {
  readonly #sandbox: Sandbox;
  readonly #bounds: CellBounds;
  readonly #shownCharsMax: number;
  readonly #toolsOf = toolsKeeper();
  #guest: Guest | undefined;
  #running: RunningCell | undefined;
  /** How many cells the session has run, with the running one. */
  #cells = 0;
  /** The read-only values that the heap has. */
  #bound: Digests = {};
  /** No cell has run in the heap. */
  #isEmpty = false;
  #isDirty = false;

  constructor(sandbox: Sandbox, bounds: CellBounds, shownCharsMax = Infinity) {
    this.#sandbox = sandbox;
    this.#bounds = bounds;
    this.#shownCharsMax = shownCharsMax;
  }

  async restore({ start, isFresh, segments }: CodePast<CodeState>, context: Context): Promise<void> {
    await this.release();
    const { cells, image } = start.get();
    this.#guest = await this.#sandbox.open(isFresh ? undefined : await imageIn(start), this.#bounds);
    this.#cells = cells;
    this.#bound = isFresh ? {} : (image?.bound ?? {});
    this.#isEmpty = isFresh || image === undefined;
    this.#isDirty = isFresh;
    for (const { segment, progress } of segments) {
      if (context.signal.aborted) throw new RuntimeError("code.stopped", { problem: TEXTS.turnStopped });
      // Nothing of a refused cell ran. Compiling it again could crash the thread again (for example by endless
      // nesting).
      if (isRefused(progress)) {
        this.#cells++;
        continue;
      }
      const again = await this.#replay(segment, progress, context);
      const problem = differenceOf(progress, again);
      if (problem !== undefined) throw new RuntimeError("code.diverged", { cell: segment.name, problem });
    }
  }

  async #replay(segment: CellSegment, { given }: CellProgress, context: Context): Promise<CellProgress> {
    const over = this.#afterEnd(segment);
    if (over !== undefined) return over;
    const progress = await this.#run(segment, given as Given, context);
    return this.#requireRunning().answerTo(progress);
  }

  async execute(segment: CellSegment, context: Context): Promise<CellProgress> {
    const { language } = segment.cell;
    if (!LANGUAGES.has(language.toLowerCase())) {
      this.#cells++;
      return refusedLanguage(language);
    }
    const { signal } = context;
    if (signal.aborted) return stoppedTurn;
    const over = this.#afterEnd(segment);
    if (over !== undefined) return over;
    const guest = this.#guest;
    const stop = (): void => void guest?.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await this.#live(segment, context);
    } catch (error) {
      if (!signal.aborted) throw error;
      return stoppedTurn;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async #live(segment: CellSegment, context: Context): Promise<CellProgress> {
    const { cell, deliver } = segment;
    const { state } = context;
    const { variables, seed: before } = state.get();
    const seed = deliver === undefined ? seedOf(before, this.#isEmpty, context.messages()) : before;
    const values = new Bindings(context, seed);
    // A running cell keeps the modules with which it began, also if values are bound meanwhile.
    const tools = this.#toolsOf(
      context.catalog.list(),
      deliver === undefined ? values.names : Object.keys(this.#bound),
    );
    const surface = surfaceFor(tools, this.#isEmpty ? undefined : variables);
    const reads = deliver && this.#requireRunning().readAt(deliver.at);
    const given = deliver
      ? reads && (await answerRead(reads, context, values))
      : await this.#surroundings(cell.code, tools, values, context);

    if (deliver === undefined) context.emit("cell", { code: cell.code });
    const progress = await this.#run(segment, given, context, surface);
    if (progress.printed !== "") context.emit("printed", { text: shortened(progress.printed, PRINTED_CHARS_MAX) });
    if (context.signal.aborted && progress.state === "stopped") return stoppedTurn;
    if (progress.state !== "refused") setSeed(state, seed);
    await noteEnd(progress, context);
    return recorded(this.#requireRunning().answerTo(progress, tools), tools, given);
  }

  async #surroundings(code: string, tools: CodeTools, values: Bindings, context: Context): Promise<Given> {
    const modules = tools.mentionedIn(code);
    return {
      ...(modules.length === 0 ? {} : { modules }),
      ...(await values.changesTo(this.#bound)),
      history: historyFor(code, context.messages()),
      ...(tools.hasSearch ? { hasSearch: true } : {}),
    };
  }

  /** Runs a segment in the guest. executor-2: without a surface it is a replay. */
  async #run(segment: CellSegment, given: Given, context: Context, surface?: Surface): Promise<Progress> {
    const { name, cell, time: at, deliver } = segment;
    const guest = this.#requireGuest();
    const isReplay = surface === undefined || undefined;
    if (deliver !== undefined) {
      this.#requireRunning().attach(deliver.output);
      const answer = given === undefined ? answerIn(deliver.output) : deliveryOf(given as ReadAnswer, context);
      return this.#noted(await guest.deliver({ id: Number(deliver.at), at, isReplay, ...answer } as Delivery));
    }
    this.#cells++;
    this.#running = new RunningCell(cell, this.#shownCharsMax);
    const { code, acceptFinish } = cell;
    const { digests = [], ...around } = (given ?? {}) as Surroundings & Changes;
    const [file, seed] = [`cell-${this.#cells}.ts`, `${context.turnId}/${name}`];
    const progress = await guest.start({ ...around, code, file, seed, at, acceptFinish, isReplay, surface });
    if (progress.state !== "refused") {
      this.#bound = boundAfter(this.#bound, { ...around, digests });
      this.#isEmpty = false;
    }
    return this.#noted(progress);
  }

  #noted(progress: Progress): Progress {
    if (progress.state !== "refused") this.#isDirty = true;
    return progress;
  }

  /** The answer to a delivery after the code has ended. */
  #afterEnd({ deliver }: CellSegment): CellProgress | undefined {
    return deliver === undefined ? undefined : this.#requireRunning().afterEnd(deliver.at);
  }

  dirty(): boolean {
    return this.#isDirty;
  }

  async snapshot({ start, isFresh, segments }: CodePast<CodeState>, { state }: Context): Promise<void> {
    const { resets } = state.get();
    // The app reset the heap while the turn was open. The reset takes effect with this commit.
    const isReset = resets !== start.get().resets;
    if (isReset || (isFresh && segments.length === 0)) return forgetImage(state, this.#cells, resets);
    await keepImage(state, this.#cells, await this.#requireGuest().image(), this.#bound);
  }

  async release(): Promise<void> {
    const guest = this.#guest;
    this.#guest = undefined;
    this.#running = undefined;
    await guest?.close();
  }

  #requireGuest(): Guest {
    if (this.#guest === undefined) throw new RuntimeError("code.lost", {});
    return this.#guest;
  }

  #requireRunning(): RunningCell {
    if (this.#running === undefined) throw new RuntimeError("code.lost", {});
    return this.#running;
  }
}

/** If the guest has a variable with the name of a module, the code means the variable. */
function surfaceFor({ surface }: CodeTools, variables: CodeState["variables"]): Surface {
  if (variables !== undefined && isShortened(variables.list)) return { ...surface, modules: {} };
  const own = variables?.list.filter(({ name }) => Object.hasOwn(surface.modules, name)) ?? [];
  if (own.length === 0) return surface;
  const modules = Object.entries(surface.modules).filter(([module]) => own.every(({ name }) => name !== module));
  return { ...surface, modules: Object.fromEntries(modules) };
}

/**
 * Whether the guest omitted some, because it lists at most 60 variables and 4,000 characters (prelude-around.ts). Then
 * a module's name can be one of the missing variables, so its calls are only known when they run.
 */
const isShortened = (list: NonNullable<CodeState["variables"]>["list"]): boolean =>
  list.length >= 60 || list.reduce((chars, { name, shown }) => chars + name.length + shown.length, 0) > 3_700;

/** Stores what the end of a cell leaves behind: its variables, and the seed of the next task. */
async function noteEnd(progress: Progress, { state, messages }: Context): Promise<void> {
  if (progress.state === "waiting" || progress.state === "refused" || progress.state === "stopped") return;
  const continues = progress.state === "done" ? progress.continues : undefined;
  if (continues !== undefined) await keepSeed(state, continues.seed);
  const list = continues === undefined ? (progress.variables ?? []) : []; // Another task has none of these variables.
  const since = messages()[0]?.id;
  const variables = { ...(since === undefined ? {} : { since }), list };
  const { variables: before = { list: [] } } = state.get();
  if (JSON.stringify(before.list) === JSON.stringify(list) && (list.length === 0 || before.since === since)) return;
  state.update(({ variables: _, ...saved }) => (list.length === 0 ? saved : { ...saved, variables }));
}

/** The answer with the data for a replay: the tools of the calls, and the external values of the segment. */
function recorded(answer: CellProgress, tools: CodeTools, given: Given): CellProgress {
  const noted = given === undefined ? {} : { given: given as Json };
  if (answer.kind === "executed") return { ...answer, ...noted };
  const calls = answer.calls.map(({ at, tool: path, input }) => {
    const { tool, as } = tools.meant(path);
    return as === undefined ? { at, tool, input } : { at, tool, input, as };
  });
  return { ...answer, calls, ...noted };
}

const stoppedTurn: CellProgress = {
  kind: "executed",
  output: { state: "stopped", parts: [{ kind: "text", text: TEXTS.turnStopped }] },
};

const refusedLanguage = (language: string): CellProgress => ({
  kind: "executed",
  output: { state: "refused", parts: [{ kind: "text", text: TEXTS.language(language) }] },
});

const isRefused = (progress: CellProgress): boolean =>
  progress.kind === "executed" && progress.output.state === "refused";
