/** Time after which a test counts as hung, in milliseconds. It is long, since the machine may be busy. */
export const PATIENCE = 300_000;
