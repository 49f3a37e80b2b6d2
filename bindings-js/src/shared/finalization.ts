/** Cleanup of objects that were never released, when the garbage collector finds them. */

const registry: FinalizationRegistry<() => void> = new FinalizationRegistry((clean) => clean());

/** Calls `clean`, which must not refer to `target`, once `target` has been garbage-collected. */
export function onForgotten(target: object, clean: () => void): void {
  registry.register(target, clean, target);
}

/** Cancels that: the object was released. */
export function notForgotten(target: object): void {
  registry.unregister(target);
}

/**
 * Advances a generator into its `try` block, to a first `yield` that is for nobody: its `finally`
 * block then runs even if the generator is returned before its first value.
 */
export function started<G extends { next(): unknown }>(generator: G): G {
  generator.next();
  return generator;
}
