import { describe, expect, test } from "vitest";
import { cellLoop, toolLoop } from "../../../test/turn/drivers.ts";
import { asCallId, asTurnId, nodeId } from "../../model/ids.ts";
import type { Json, JsonObject } from "../../model/json.ts";
import { DEFAULT_LIMITS } from "../../model/limits.ts";
import { type Draft, type Part, type ToolCallPart, text } from "../../model/message.ts";
import type { Reply } from "../../model/request.ts";
import { OUTPUT_TOOL, projectOutput, type ToolOutput } from "../../model/tool.ts";
import { NO_USAGE } from "../../model/usage.ts";
import { protocolLaws } from "../../testing/protocol-laws.ts";
import type { Decision, PlacedResult, ProtocolDriver, RequestView, RoundView } from "../../turn/driver.ts";
import { driver } from "./driver.ts";

for (const { law, check } of protocolLaws) {
  test(`P4 tool-calls: ${law}`, () => check(driver));
  test(`P4 the drivers of our own tests: ${law}`, () => [toolLoop, cellLoop].forEach(check));
}
