import { PluginFactory } from "../shared/kernel/plugin.js";
interface PlanOptions {
  /** How many steps a plan can have. Default 100. */
  readonly stepsMax?: number | undefined;
  /** Whether child sessions have plans too. Default false: only root sessions do. */
  readonly inChildren?: boolean | undefined;
}
declare const STATUSES: readonly ["pending", "in_progress", "completed"];
interface PlanStep {
  readonly step: string;
  readonly status: (typeof STATUSES)[number];
}
interface Plan {
  readonly steps: readonly PlanStep[];
  /** Counts how often the plan was replaced or cleared. */
  readonly generation: number;
}
/** Lets the model keep a list of steps. The prompt of every round shows it. */
declare const plan: PluginFactory<PlanOptions, {
  readonly current: {
    readonly kind: "query";
    readonly input: undefined;
    readonly output: Plan;
  };
  readonly clear: {
    readonly kind: "command";
    readonly input: undefined;
    readonly output: Plan;
  };
}>;
export { Plan, PlanOptions, PlanStep, plan };
