/** What tape uses of Node's globals, in a page. The usual substitute runs callbacks by timers, which pages delay. */

globalThis.__dirname = "/";
globalThis.process = {
  browser: true,
  cwd: () => "/",
  env: {},
  nextTick: (call, ...values) => queueMicrotask(() => call(...values)),
};
