// `jobs_start` and `jobs_signal`: a model starts the tasks of the option `tasks`, and sends signals to jobs.
import { hasCode, type ToolContext, ToolError } from "../../plugin.ts";
import type { Sent, SignalInput, Started, StartInput } from "./inputs.ts";
import { documentOf, type Offer, type Settings } from "./options.ts";
import { TEXTS } from "./texts.ts";
import { requireShown, unknownJob } from "./wait.ts";

/** The description of `jobs_start`, with its tasks. */
export const startDescription = ({ tasks }: Settings): string =>
  TEXTS.start([...tasks].map(([name, offer]) => taskLine(name, offer)).join("\n"));

function taskLine(name: string, { description, input, signals }: Offer): string {
  const taken = Object.entries(signals).map(([signal, schema]) => `${signal} ${JSON.stringify(documentOf(schema))}`);
  return TEXTS.task(name, description, input === undefined ? "" : JSON.stringify(documentOf(input)), taken.join(", "));
}

export async function startJob(given: StartInput, settings: Settings, { jobs }: ToolContext): Promise<Started> {
  const { task: operation, input, wake = settings.wake } = given;
  const offer = settings.tasks.get(operation);
  await requireFitting(operation, offer, input);
  const label = given.label?.trim() || operation;
  const { signals, isElsewhere } = offer ?? {};
  try {
    const { id } = await jobs.spawn({ label, operation, isElsewhere, input, wake, signals });
    return { id, label, note: TEXTS.begins };
  } catch (error) {
    if (hasCode(error, "operation.input"))
      throw refused(error.code, TEXTS.wrongInput(operation, error.details.problem));
    // The model cannot fix a task that is missing here.
    if (hasCode(error, "operation.unknown"))
      throw new ToolError(error.code, TEXTS.missingTask(operation), { class: "unavailable" });
    if (hasCode(error, "job.full")) throw new ToolError(error.code, TEXTS.full(error.details.max), { class: "limit" });
    throw error;
  }
}

/** Checks the input against the schema of the option. The task's own schema is checked by the process that runs it. */
async function requireFitting(task: string, offer: Offer | undefined, input: StartInput["input"] = {}): Promise<void> {
  const { issues } = (await offer?.input?.["~standard"].validate(input)) ?? {};
  if (issues === undefined) return;
  const problems = issues.slice(0, 8).map(({ message, path = [] }) => {
    const at = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
    return at === "" ? message : `${at}: ${message}`;
  });
  throw refused("operation.input", TEXTS.wrongInput(task, problems.join("; ")));
}

export async function signalJob({ id, name, payload }: SignalInput, context: ToolContext): Promise<Sent> {
  const { jobs, idempotencyKey: key } = context;
  await requireShown(jobs, id);
  try {
    // The key prevents a second signal when the call runs again after a crash.
    await jobs.signal(id, name, payload, { key });
    return { id, sent: name };
  } catch (error) {
    if (hasCode(error, "job.over")) throw refused(error.code, TEXTS.overJob(id, error.details.state));
    if (hasCode(error, "job.signal")) throw refused(error.code, error.message);
    if (hasCode(error, "job.unknown") || hasCode(error, "job.foreign")) throw unknownJob(id);
    throw error;
  }
}

const refused = (code: string, words: string): ToolError => new ToolError(code, words, { class: "arguments" });
