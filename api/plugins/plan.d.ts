import { PluginFactory } from "../shared/kernel/plugin.js";
interface PlanOptions {
  /** 100 unless given. */
  readonly stepsMax?: number;
  /** Whether children plan too; only roots do unless given. */
  readonly inChildren?: boolean;
}
declare const STATUSES: readonly ["pending", "in_progress", "completed"];
interface PlanStep {
  readonly step: string;
  readonly status: (typeof STATUSES)[number];
}
interface Plan {
  readonly steps: readonly PlanStep[];
  /** How often it was replaced or cleared. */
  readonly generation: number;
}
/** A list of steps that the model keeps, and is shown in every round. */
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
