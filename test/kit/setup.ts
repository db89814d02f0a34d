/**
 * Runs before every test file. A helper must not call `afterAll` itself: where files share a process it is loaded once,
 * so only the first of them would be cleaned up after.
 */
import { afterAll } from "vitest";
import { removeFiles } from "./files.ts";
import { stopServers } from "./programs.ts";

afterAll(removeFiles);
afterAll(stopServers);
