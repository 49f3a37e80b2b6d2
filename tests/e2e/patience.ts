/** Limits of time: they end what hangs, and are far above what takes long on a machine that is busy besides. */

/** Factor of all time limits; `cargo xtask test --stress` sets it. */
const FACTOR = Number(process.env["TERRANE_PATIENCE"] ?? 1);

/** A limit in milliseconds, on this machine. */
export const patient = (milliseconds: number): number => FACTOR * milliseconds;
