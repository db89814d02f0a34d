// The thread that guests run in: one request at a time, with one answer each. `workerData` contains its start values.
// Nothing else of the process is accessible here.

import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { RuntimeError } from "../../model/errors.ts";
import { makeBaseline } from "./baseline.ts";
import { isSpent } from "./compile.ts";
import { discarded, postponeCollecting } from "./garbage.ts";
import { GuestVm } from "./guest.ts";
import type { Answer, Request, WorkerInput } from "./message.ts";

const port = parentPort;
if (port === null) throw new Error("This file is the entry of a worker.");

const { wasm, unwanted } = workerData as WorkerInput;
const baseline = await makeBaseline(wasm);
const guests = new Map<number, GuestVm>();

port.on("message", (request: Request) => void serve(request));
port.postMessage({ kind: "ready" } satisfies Answer);

/** How long the thread polls for the next request before it sleeps: waking it takes longer than most tools do. */
const LOOK_MS = 0.3;

async function serve(first: Request): Promise<void> {
  for (let request: Request | undefined = first; request !== undefined; request = next()) await answer(request);
}

function next(): Request | undefined {
  const until = performance.now() + LOOK_MS;
  do {
    const found = receiveMessageOnPort(port!) as { readonly message: Request } | undefined;
    if (found !== undefined) return found.message;
  } while (performance.now() < until);
  return undefined;
}

async function answer(request: Request): Promise<void> {
  postponeCollecting();
  let said: Answer;
  try {
    said = await perform(request);
  } catch (error) {
    said = failed(error);
  }
  if (isSpent()) said = { ...said, isLast: true };
  port!.postMessage(said, said.kind === "image" ? [said.delta.buffer as ArrayBuffer] : []);
}

async function perform(request: Request): Promise<Answer> {
  switch (request.kind) {
    case "open": {
      const isWanted = (): boolean => Atomics.load(unwanted, 0) !== request.guest;
      const guest = await GuestVm.open(baseline, request.deltas, request.bounds, isWanted);
      guests.set(request.guest, guest);
      return { kind: "opened", bytes: guest.bytes };
    }
    case "start": {
      const guest = requireGuest(request.guest);
      return { kind: "progress", progress: guest.start(request.cell), bytes: guest.bytes };
    }
    case "deliver": {
      const guest = requireGuest(request.guest);
      return { kind: "progress", progress: guest.deliver(request.delivery), bytes: guest.bytes };
    }
    case "image":
      return imageOf(requireGuest(request.guest));
    case "close":
      close(request.guest);
      return { kind: "closed" };
  }
}

function close(id: number): void {
  const guest = guests.get(id);
  guests.delete(id);
  discarded(guest?.bytes ?? 0);
  guest?.close();
}

function imageOf(guest: GuestVm): Answer {
  const { keeps, delta } = guest.image();
  // A copy in a separate buffer, because a transfer takes the whole buffer.
  return { kind: "image", keeps, delta: new Uint8Array(delta) };
}

function requireGuest(id: number): GuestVm {
  const guest = guests.get(id);
  if (guest === undefined) throw new RuntimeError("code.lost", {});
  return guest;
}

function failed(error: unknown): Answer {
  if (error instanceof RuntimeError)
    return { kind: "failed", code: error.code, details: error.details, message: error.message };
  return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
}
