/** The worker of a store whose engine has one thread. */

import type { Requests } from "../codec/flat.ts";
import { receive } from "./serve.ts";

self.onmessage = ({ data }: MessageEvent<Requests>) => receive(data);
