/** The worker of a store whose engine has one thread. */

import type { Request } from "../codec/protocol.ts";
import { receive } from "./serve.ts";

self.onmessage = ({ data }: MessageEvent<Request[]>) => receive(data);
