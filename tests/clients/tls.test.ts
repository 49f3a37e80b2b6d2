/** TLS as curl, redis-cli and Node speak it. */

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { connect, type TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { certify } from "./certificate.ts";
import { Folder, Server, serveAll } from "./server.ts";
import { token, writeTokens } from "./tokens.ts";

const run = promisify(execFile);

let folder: Folder;
let ca: string;
const server = serveAll((own) => {
  folder = own;
  const certified = certify(own);
  ca = certified.ca;
  return certified.options;
});

describe("curl", () => {
  const curl = async (...args: string[]): Promise<string> =>
    (await run("curl", ["--silent", "--show-error", "--fail", ...args])).stdout;
  const trusting = () => ["--cacert", folder.file("cert.pem")];

  test("reads and writes values over TLS 1.2 and 1.3", async () => {
    expect(server().http.protocol).toBe("https:");
    const key = `https://localhost:${server().http.port}/v1/default/keys/curl`;
    for (const [version, value] of [
      ["--tlsv1.2", "2"],
      ["--tlsv1.3", "3"],
    ] as const) {
      const most = ["--tls-max", version.slice(-3)];
      await curl(...trusting(), version, ...most, "-X", "PUT", "--data-binary", value, key);
      expect(await curl(...trusting(), version, ...most, key)).toBe(value);
    }
    const tag = await curl(...trusting(), "--head", key);
    expect(tag).toMatch(/^etag: "\d+"/im);
  });

  test("is refused with an older version, and refuses what it does not trust", async () => {
    const key = new URL("/v1/default/keys/curl", server().http).href;
    const old = ["--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0", "--tlsv1.0"];
    await expect(curl(...trusting(), ...old, key)).rejects.toThrow(/\(35\)/);
    await expect(curl(key)).rejects.toThrow(/\(60\)/);
    const plain = key.replace("https:", "http:");
    await expect(curl(plain)).rejects.toThrow();
  });

  test("sends and receives values of megabytes", async () => {
    const key = new URL("/v1/default/keys/long", server().http).href;
    const [sent, received] = [folder.file("sent"), folder.file("received")];
    writeFileSync(sent, randomBytes(16 << 20));
    await curl(...trusting(), "--upload-file", sent, key);
    await curl(...trusting(), "--output", received, key);
    expect(readFileSync(received).equals(readFileSync(sent))).toBe(true);
  });
});

describe("redis-cli", () => {
  const options = (): string[] => {
    const address = ["-h", "localhost", "-p", server().resp.port];
    return [...address, "--tls", "--cacert", folder.file("cert.pem")];
  };
  const cli = async (...args: string[]): Promise<string> =>
    (await run("redis-cli", [...options(), ...args])).stdout.trimEnd();

  test.each(["-2", "-3"])("reads and writes values with %s", async (protocol) => {
    expect(await cli(protocol, "SET", "cli", "ä")).toBe("OK");
    expect(await cli(protocol, "--raw", "GET", "cli")).toBe("ä");
    expect(await cli(protocol, "-n", "3", "GET", "cli")).toBe("");
    expect(await cli(protocol, "--scan", "--pattern", "cli*")).toBe("cli");
    expect(await cli(protocol, "NOSUCH")).toContain("unknown command");
    expect(await cli(protocol, "INFO", "server")).toContain("redis_version:");
  });

  test("loads rows in bulk, and looks for the largest", async () => {
    const rows = Array.from({ length: 5000 }, (_, i) => `SET row:${i} ${"x".repeat(i % 100)}y\r\n`);
    const loading = run("redis-cli", [...options(), "-n", "7", "--pipe"]);
    loading.child.stdin!.end(rows.join(""));
    expect((await loading).stdout).toContain("errors: 0, replies: 5000");
    const largest = await cli("-n", "7", "--bigkeys", "-i", "0");
    expect(largest).toMatch(/Biggest string found '"row:\d*99"' has 100 bytes/);
  });

  test("has a benchmark that every command answers", async () => {
    const load = ["-q", "-n", "2000", "-c", "20", "-P", "8", "-t", "ping,set,get,incr,mset"];
    const { stdout, stderr } = await run("redis-benchmark", [...options(), ...load]);
    expect(stdout.match(/requests per second/g)).toHaveLength(6);
    expect(stdout + stderr).not.toMatch(/error|warning/i);
  });
});

describe("Node", () => {
  test("keeps a connection of https", async () => {
    const agent = new Agent({ ca, keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const ask = async (method: string, body?: string): Promise<[number, string, boolean]> => {
      const url = new URL("/v1/default/keys/node", server().http);
      const asked = request(url, { agent, method, servername: "localhost" }).end(body);
      const [reply] = await once(asked, "response");
      return [reply.statusCode, await text(reply), asked.reusedSocket];
    };
    expect(await ask("PUT", "ä")).toEqual([204, "", false]);
    expect(await ask("GET")).toEqual([200, "ä", true]);
    expect(await ask("DELETE")).toEqual([204, "", true]);
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)("speaks Redis's protocol over %s", async (version) => {
    const port = server().port;
    const socket: TLSSocket = connect({
      port,
      host: "127.0.0.1",
      servername: "localhost",
      ca,
      minVersion: version,
      maxVersion: version,
    });
    onTestFinished(() => void socket.destroy());
    await once(socket, "secureConnect");
    expect(socket.getProtocol()).toBe(version);
    expect(socket.authorized).toBe(true);
    socket.end("PING\r\nECHO hi\r\nQUIT\r\n");
    expect(await text(socket)).toBe("+PONG\r\n$2\r\nhi\r\n+OK\r\n");
  });

  test("resumes a session", async () => {
    const options = { port: server().port, host: "localhost", ca };
    const first = connect(options);
    onTestFinished(() => void first.destroy());
    const session = once(first, "session") as Promise<[Buffer]>;
    first.write("PING\r\n");
    const second = connect({ ...options, session: (await session)[0] });
    onTestFinished(() => void second.destroy());
    await once(second, "secureConnect");
    expect(second.isSessionReused()).toBe(true);
  });
});

test("curl and redis-cli send tokens", async () => {
  using own = new Folder();
  const ann = token("ann", "secret", "write", "db-3");
  const options = [...certify(own).options, ...writeTokens(own, ann)];
  await using guarded = await Server.on(own, ...options);
  const trust = ["--cacert", own.file("cert.pem")];
  const key = new URL("/v1/db-3/keys/a", guarded.http).href;
  const status = ["--silent", "--output", "/dev/null", "--write-out", "%{http_code}"];
  const curl = async (...args: string[]): Promise<string> =>
    (await run("curl", [...trust, ...status, ...args, key])).stdout;
  expect(await curl("--oauth2-bearer", "secret", "--upload-file", own.file("tokens"))).toBe("204");
  expect(await curl("--oauth2-bearer", "other")).toBe("401");
  expect(await curl()).toBe("401");
  const cli = async (uri: string, ...args: string[]): Promise<string> =>
    (await run("redis-cli", [...trust, "--no-auth-warning", "-u", uri, ...args])).stdout.trimEnd();
  const address = `localhost:${guarded.port}/3`;
  expect(await cli(`rediss://ann:secret@${address}`, "--raw", "GET", "a")).toBe(ann.trimEnd());
  expect(await cli(`rediss://${address}`, "GET", "a")).toContain("NOAUTH");
});
