/** Globals of Node that tape uses, for a page. The usual substitute runs callbacks by timers, which pages delay. */

globalThis.__dirname = "/";
globalThis.process = {
  browser: true,
  cwd: () => "/",
  env: {},
  nextTick: (call, ...values) => queueMicrotask(() => call(...values)),
};
