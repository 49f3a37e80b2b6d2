/**
 * A socket that stays the same while one server after another is behind it. A fixed port would not do: another process
 * may take it between two servers.
 */

import { once } from "node:events";
import { connect, createServer, type Server as Listener } from "node:net";
import type { Folder, Server } from "./server.ts";

export class Relay {
  /** Path of the socket. */
  readonly path: string;
  #listener: Listener | undefined;

  constructor(folder: Folder) {
    this.path = folder.file("relay");
  }

  /** Connects clients with a server until the relay is closed. */
  async open({ port }: Server): Promise<void> {
    const listener = createServer((client) => {
      const server = connect(port, "127.0.0.1");
      client.pipe(server).pipe(client);
      client.on("error", () => server.destroy());
      server.on("error", () => client.destroy());
    });
    listener.listen(this.path);
    await once(listener, "listening");
    this.#listener = listener;
  }

  /** Refuses further clients. Connections that are open end with their server. */
  close(): void {
    this.#listener?.close();
  }
}
