/** Runs operations one at a time: each starts when the one before it has ended. */
export function serialQueue(): <T>(operation: () => T | Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (operation) => {
    const result = last.then(operation);
    last = result.catch(() => undefined);
    return result;
  };
}
