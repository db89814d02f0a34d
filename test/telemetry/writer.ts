/** A process that runs turns and appends what it does to a file: `node writer.ts <path> <turns> <word>`. */
import { createRuntime } from "../../src/index.ts";
import { demo } from "../../src/providers/demo.ts";
import { memory } from "../../src/stores/memory.ts";
import { jsonl } from "../../src/telemetry/jsonl.ts";

const [path = "", turns = "", word = ""] = process.argv.slice(2);
const telemetry = jsonl(path, { content: true });
const runtime = await createRuntime({ store: memory(), model: demo(), telemetry });
for (let nth = 0; nth < Number(turns); nth++) await (await runtime.session()).turn(word.repeat(2_000)).result();
await runtime.close();
