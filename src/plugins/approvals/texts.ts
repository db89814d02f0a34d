// What the model, and whoever is asked, reads of approvals.
export const TEXTS = {
  /** Shown to whoever is asked, where the policy gives no reason. */
  asks: (tool: string) => `A call of ${tool} needs approval.`,
  denies: "The rules of this app do not allow it.",
  deniedBefore: "It was not approved before, and that answer still holds.",
};
