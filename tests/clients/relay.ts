/**
 * A socket that stays while the server behind it is another one, as a port would. Ports that are free may be taken by
 * another process between two servers.
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

  /** Connects clients with the server from here on. */
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

  /** Refuses clients from here on. Their connections end with the server. */
  close(): void {
    this.#listener?.close();
  }
}
