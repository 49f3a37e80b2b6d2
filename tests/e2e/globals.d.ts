/** Globals that the pages set. */
interface Window {
  /** The package: of pages/store.html, and of the projects of tests/packages. */
  terrane: typeof import("../../bindings-js/dist/client/index.js");
  failure(
    body: () => unknown,
  ): Promise<{ name: string; code: string; message: string } | undefined>;
  /** Opens a store whose long calls stand still, between two of their steps, from `hold` to `release`. */
  openHeld(
    name: string,
    options?: Parameters<Window["terrane"]["open"]>[1],
  ): Promise<{ db: Window["db"]; hold(): Promise<unknown>; release(): Promise<unknown> }>;
  /** The projects of tests/packages: a worker that reads a key. */
  own: Worker;
  /** Milliseconds of each frame's callback, for frames.bench.ts. */
  frameCosts: number[];
  /** Elements that have jumped, by class or name. */
  shifted: string[];
  /** Shared state of the functions in papers.ts. */
  rows: {
    random: () => number;
    key: (number: number) => string;
    value: () => string;
    put: (number: number) => { type: "put"; key: string; value: string };
    settle: (db: Window["db"]) => Promise<void>;
  };
  /** The open store. */
  db: import("../../bindings-js/dist/client/index.js").Db;
}

/** Entry of Chromium's observer of layout shifts. */
interface LayoutShifts extends PerformanceEntry {
  sources: { node: Node | null; previousRect: DOMRect; currentRect: DOMRect }[];
}
