/** A certificate and tokens that are read again while clients of both doors are at work. */

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { Redis } from "ioredis-6";
import { expect, onTestFinished, test } from "vitest";
import { certify, install, newCertificate } from "./certificate.ts";
import { PATIENCE } from "./patience.ts";
import { Folder, Server } from "./server.ts";
import { token, writeTokens } from "./tokens.ts";

const ROUNDS = 8;
/** The token of the clients that are at work all the time. */
const STAYS = "the token that stays";

test("a hangup takes nothing from the clients that are at work", async () => {
  using folder = new Folder();
  const first = certify(folder);
  const later = Array.from({ length: ROUNDS }, newCertificate);
  // A client at work may meet any of them.
  const all = [first.ca, ...later.map(({ certificate }) => certificate)];
  const stays = token("stays", STAYS, "write");
  const files = [...first.options, ...writeTokens(folder, stays)];
  await using server = await Server.on(folder, ...files);

  const redis = (password: string, ca: string | string[]): Redis => {
    const tls = { ca, servername: "localhost" };
    const { port } = server;
    const times = { connectTimeout: PATIENCE, retryStrategy: () => null };
    const made = new Redis({ port, password, tls, ...times });
    made.on("error", () => {});
    onTestFinished(() => made.disconnect());
    return made;
  };
  const ask = async (agent: Agent, secret: string, method = "GET", body?: string) => {
    const headers = { authorization: `Bearer ${secret}` };
    const url = new URL("/v1/default/keys/http", server.http);
    for (;;) {
      const asked = request(url, { agent, method, headers, servername: "localhost" }).end(body);
      const reply = await once(asked, "response").catch((error: NodeJS.ErrnoException) => {
        // The server may close a kept connection that was idle for long.
        if (!asked.reusedSocket || error.code !== "ECONNRESET") throw error;
      });
      if (reply !== undefined)
        return [reply[0].statusCode as number, await text(reply[0])] as const;
    }
  };
  const agent = (ca: string | string[], keepAlive = false): Agent => {
    const made = new Agent({ ca, keepAlive });
    onTestFinished(() => made.destroy());
    return made;
  };

  let isOver = false;
  const done = [0, 0, 0, 0];
  const repeat = async (client: number, work: () => Promise<void>): Promise<void> => {
    for (; !isOver; done[client]! += 1) await work();
  };
  const kept = { redis: redis(STAYS, all), agent: agent(all, true) };
  await kept.redis.ping();
  const load = Promise.all([
    repeat(0, async () => void (await kept.redis.incr("kept"))),
    repeat(1, async () => {
      const connection = redis(STAYS, all);
      await connection.incr("new");
      await connection.quit();
    }),
    repeat(2, async () => expect((await ask(kept.agent, STAYS, "PUT", "1"))[0]).toBe(204)),
    repeat(3, async () => {
      const once = agent(all);
      expect((await ask(once, STAYS))[0]).not.toBe(401);
      once.destroy();
    }),
  ]);
  // Its failure is reported below, where it is awaited.
  load.catch(() => {});

  for (const [round, certificate] of later.entries()) {
    const before = [...done];
    const secret = `the token of round ${round}`;
    writeTokens(folder, stays, token("round", secret, "write"));
    expect(await server.reload()).toBe("read the files again");
    const open = redis(secret, all[round]!);
    expect(await open.set("round", String(round))).toBe("OK");

    // The certificate changes, and the token of the round is gone.
    install(folder, certificate);
    writeTokens(folder, stays);
    expect(await server.reload()).toBe("read the files again");
    await expect(open.get("round")).rejects.toThrow("NOAUTH");
    const newest = certificate.certificate;
    expect(await redis(STAYS, newest).get("round")).toBe(String(round));
    expect((await ask(agent(newest), secret))[0]).toBe(401);
    await expect(ask(agent(all[round]!), STAYS)).rejects.toThrow("self-signed certificate");

    // Malformed files change nothing.
    writeFileSync(folder.file("cert.pem"), "no certificate");
    expect(await server.reload()).toContain("cert.pem");
    writeFileSync(folder.file("cert.pem"), newest);
    writeTokens(folder, "no line of tokens\n");
    expect(await server.reload()).toContain("tokens");
    expect(await redis(STAYS, newest).get("round")).toBe(String(round));
    const isAtWork = (): boolean => done.every((count, client) => count > before[client]!);
    await Promise.race([expect.poll(isAtWork).toBe(true), load]);
  }
  isOver = true;
  await load;
  expect(Number(await kept.redis.get("kept"))).toBe(done[0]);
  expect(Number(await kept.redis.get("new"))).toBe(done[1]);
});
