// `node bench/fill.ts <side> <folder> <turns>` leaves a session in the folder, so that the measuring process did not
// write it itself.
import * as script from "./script.ts";
import { openerOf, type Side } from "./sides.ts";

const [side = "", dir = "", turns] = process.argv.slice(2);

const open = await openerOf(side as Side);
const agent = await open({ script, durable: true, dir });
for (let turn = 0; turn < Number(turns); turn++) await agent.turn("s", "loop:1");
await agent.close();
