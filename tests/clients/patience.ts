/** A time that only ends what hangs, in milliseconds: the machine may be busy besides. */
export const PATIENCE = 300_000;
