import type { StoreLaw } from "../law.ts";
import { agendaLaws } from "./jobs/agenda.ts";
import { appendingLaws } from "./jobs/appending.ts";
import { awaitingLaws } from "./jobs/awaiting.ts";
import { childLaws } from "./jobs/children.ts";
import { claimingLaws } from "./jobs/claiming.ts";
import { closingLaws } from "./jobs/closing.ts";
import { parkingLaws } from "./jobs/parking.ts";
import { readingLaws } from "./jobs/reading.ts";
import { sendingLaws } from "./jobs/sending.ts";
import { ofSessionLaws } from "./jobs/sessions.ts";
import { spawningLaws } from "./jobs/spawning.ts";

/** The promises of `Store.jobs`, and of other methods about jobs. */
export const jobLaws: readonly StoreLaw[] = [
  ...spawningLaws,
  ...claimingLaws,
  ...appendingLaws,
  ...parkingLaws,
  ...sendingLaws,
  ...childLaws,
  ...ofSessionLaws,
  ...readingLaws,
  ...awaitingLaws,
  ...agendaLaws,
  ...closingLaws,
];
