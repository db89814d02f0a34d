import { ApprovalDecision, ApprovalRule, ApprovalsOptions } from "../shared/plugins/approvals/options.js";
import { ArgumentTest } from "../shared/plugins/approvals/check.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
import { RememberedAnswer } from "../shared/plugins/approvals/answers.js";
/**
 * Allows, denies or asks a person about calls, by rules or a function. If a person is asked, the call waits, also
 * across restarts. The session can remember the answer.
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
/** What to forget. One field is required, so that a value that is undefined by mistake does not delete all answers. */
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
