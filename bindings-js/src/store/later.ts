/** The parts of a store that a page loads when they are first used. */

export { decodeConflicts } from "../codec/conflicts.ts";
export { fromJson } from "../codec/json.ts";
export { exportStream } from "../shared/streams.ts";
export { changes } from "./changes.ts";
export { live } from "./live.ts";
export { transact } from "./transaction.ts";
