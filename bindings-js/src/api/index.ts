/** The types, limits and errors of stores, which every entry of the packages exports. */

export * from "./data.ts";
export * from "./errors.ts";
export type * from "./events.ts";
export type * from "./options.ts";
export type * from "./policies.ts";
export type * from "./stats.ts";
export type * from "./store.ts";
export type * from "./trace.ts";
