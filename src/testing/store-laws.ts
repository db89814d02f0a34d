import type { StoreLaw } from "./law.ts";
import { acceptanceLaws } from "./store-laws/acceptance.ts";
import { agendaLaws } from "./store-laws/agenda.ts";
import { appendLaws } from "./store-laws/appends.ts";
import { blobLaws } from "./store-laws/blobs.ts";
import { cancelLaws } from "./store-laws/cancels.ts";
import { changeLaws } from "./store-laws/changes.ts";
import { claimLaws } from "./store-laws/claims.ts";
import { closingLaws } from "./store-laws/closing.ts";
import { commitLaws } from "./store-laws/commits.ts";
import { factLaws } from "./store-laws/facts.ts";
import { graphLaws } from "./store-laws/graph.ts";
import { injectedLaws } from "./store-laws/injected.ts";
import { inputLaws } from "./store-laws/inputs.ts";
import { jobLaws } from "./store-laws/jobs.ts";
import { journalLaws } from "./store-laws/journal.ts";
import { leaseLaws } from "./store-laws/leases.ts";
import { lineLaws } from "./store-laws/lines.ts";
import { listLaws } from "./store-laws/lists.ts";
import { liveLaws } from "./store-laws/live.ts";
import { noteLaws } from "./store-laws/notes.ts";
import { operationLaws } from "./store-laws/operations.ts";
import { optionLaws } from "./store-laws/options.ts";
import { overviewLaws } from "./store-laws/overview.ts";
import { parkingLaws } from "./store-laws/parking.ts";
import { sessionLaws } from "./store-laws/sessions.ts";
import { triggerLaws } from "./store-laws/triggers.ts";
import { turnLaws } from "./store-laws/turns.ts";
import { usageLaws } from "./store-laws/usage.ts";
import { waitedTurnLaws } from "./store-laws/waited-turns.ts";
import { waitLaws } from "./store-laws/waits.ts";

export type { StoreLaw } from "./law.ts";

export const storeLaws: readonly StoreLaw[] = [
  ...sessionLaws,
  ...listLaws,
  ...optionLaws,
  ...graphLaws,
  ...acceptanceLaws,
  ...inputLaws,
  ...claimLaws,
  ...injectedLaws,
  ...leaseLaws,
  ...journalLaws,
  ...noteLaws,
  ...commitLaws,
  ...turnLaws,
  ...cancelLaws,
  ...usageLaws,
  ...waitLaws,
  ...parkingLaws,
  ...waitedTurnLaws,
  ...agendaLaws,
  ...overviewLaws,
  ...factLaws,
  ...changeLaws,
  ...appendLaws,
  ...operationLaws,
  ...blobLaws,
  ...jobLaws,
  ...lineLaws,
  ...triggerLaws,
  ...liveLaws,
  ...closingLaws,
];
