/** What a store tells of itself. */

/** To come. */
export type Stats = {};
export type CheckReport = {};
