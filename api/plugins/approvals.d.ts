import { ApprovalDecision, ApprovalRule, ApprovalsOptions } from "../shared/plugins/approvals/options.js";
import { ArgumentTest } from "../shared/plugins/approvals/check.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
import { RememberedAnswer } from "../shared/plugins/approvals/answers.js";
/**
 * Allows, denies or asks a person about calls, by rules or a function. A call that is asked about waits, as long as it
 * takes and over restarts; answers can be remembered in the session.
 */
declare const approvals: PluginFactory<ApprovalsOptions, {
  readonly remembered: {
    readonly kind: "query";
    readonly input: undefined;
    readonly output: readonly RememberedAnswer[];
  };
  readonly forget: {
    readonly kind: "command";
    readonly input: Forget;
    readonly output: {
      readonly forgotten: number;
    };
  };
}>;
/** What to forget. One of these must be given, so that a name that is undefined by mistake does not mean all. */
type Forget = {
  readonly id: string;
} | {
  readonly tool: string;
} | {
  readonly all: true;
};
export {
  type ApprovalDecision,
  type ApprovalRule,
  type ApprovalsOptions,
  type ArgumentTest,
  type RememberedAnswer,
  approvals,
};
