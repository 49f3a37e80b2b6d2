/** Operands of merges. */

import type { Operand } from "../api/data.ts";
import { InvalidArgumentError } from "../api/errors.ts";
import { unknown } from "./options.ts";
import { invalid } from "./validate.ts";

/** The operators, by their numbers in a batch. */
const OPERATORS = ["add", "min", "max"] as const;
export const LEAST: bigint = -(2n ** 63n);
export const GREATEST: bigint = 2n ** 63n - 1n;

/** An operand: the number of its operator, and an integer of 64 bits with a sign. */
export interface Merge {
  operator: number;
  operand: bigint;
}

/** The names of an operand's fields. */
export const OPERAND: Readonly<Record<(typeof OPERATORS)[number], 0>> = { add: 0, min: 0, max: 0 };

/** Throws for an operand with another field: a mistyped name would do nothing. */
export function checkOperand(given: Operand): void {
  for (const name in given) if (!(name in OPERAND)) throw unknown("operand", name, [OPERAND]);
}

/** Returns the one operand that is given. */
export function toMerge(given: Operand): Merge {
  const fields = (given ?? {}) as Partial<Record<string, unknown>>;
  const names = OPERATORS.filter((name) => fields[name] !== undefined);
  const [name] = names;
  if (name === undefined || names.length > 1) {
    const found = names.length > 1 ? names.join(" and ") : "none";
    throw new InvalidArgumentError(`operand: expected one of add, min and max, found ${found}`);
  }
  const value = fields[name];
  const isInteger = typeof value === "bigint" || Number.isSafeInteger(value);
  const operand = isInteger ? BigInt(value as number | bigint) : GREATEST + 1n;
  if (operand < LEAST || operand > GREATEST) {
    const expected = "a safe integer, or a bigint of 64 bits with its sign";
    throw invalid(name, expected, value);
  }
  return { operator: OPERATORS.indexOf(name), operand };
}
