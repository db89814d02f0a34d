// What the model and the person who is asked read of approvals.
export const TEXTS = {
  /** Shown to the person who is asked if the policy has no reason. */
  asks: (tool: string) => `A call of ${tool} needs approval.`,
  denies: "The rules of this app do not allow it.",
  deniedBefore: "It was not approved before, and that answer still holds.",
};
