/**
 * The worker of a store whose engine has threads: it does what the worker without them does, and starts
 * a pool of workers, which run this script. If the pool cannot be started, it is that worker.
 */

import type { Requests } from "../codec/flat.ts";
import { setThreads } from "../engine/engine.ts";
import { receive } from "../worker/serve.ts";
import { loadThreads, type PoolStart, work } from "./pool.ts";

setThreads(loadThreads);

self.onmessage = ({ data }: MessageEvent<Requests | PoolStart>) => {
  if (Array.isArray(data) || typeof data === "string") receive(data as Requests);
  else work(data as PoolStart);
};
