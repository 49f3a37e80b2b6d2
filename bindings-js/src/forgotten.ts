/** Cleaning up after objects whose owner forgot to: when the garbage collector finds them. */

const registry: FinalizationRegistry<() => void> = new FinalizationRegistry((clean) => clean());

/** Has `clean`, which must not refer to `target`, called when nobody has `target` any more. */
export function whenForgotten(target: object, clean: () => void): void {
  registry.register(target, clean, target);
}

/**
 * Takes a generator into its `try` block, up to a first `yield` that nobody sees: its `finally` block
 * runs even if it is left before its first step.
 */
export function entered<G extends { next(): unknown }>(steps: G): G {
  steps.next();
  return steps;
}

/** Its owner did not forget it. */
export function wasRemembered(target: object): void {
  registry.unregister(target);
}
