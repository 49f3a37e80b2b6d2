/** Serves the built demo, the npm package as it is, projects that use it, and the tests' own pages. */

import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Folders by path. */
const roots: Record<string, string> = {
  demo: join(here, "../../demo/dist"),
  terrane: join(here, "../../bindings-js"),
  pages: join(here, "pages"),
  // A site need not lie at the root of its server.
  "some/sub/path": join(here, "../packages"),
};

/**
 * Path under which everything is served a second time, for pages that are cross-origin isolated.
 */
export const ISOLATED = "/isolated";

/** Path whose response makes the browser clear the origin's storage. */
export const CLEARING = "/clearing";

/** Returns the path of a page that is served under a content security policy, with all that it loads. */
export function restricted(policy: string, path: string): string {
  return `/restricted/${encodeURIComponent(policy)}/${path}`;
}

const RESTRICTED = /^\/restricted\/([^/]*)/;

/** Headers that isolate a page, and let it start a worker. */
export const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

const types: Record<string, string> = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** Files that hosts of static files compress. */
const COMPRESSED = new Set([".css", ".html", ".js", ".svg", ".wasm"]);

/** Starts on a free port; `compress` sends files as hosts do, and `first` is sent before each page. */
export async function serve(
  compress: boolean = false,
  first: string = "",
): Promise<{ server: Server; port: number }> {
  const compressed = new Map<string, Promise<Buffer>>();
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    if (pathname === CLEARING) {
      response.writeHead(204, { "clear-site-data": '"storage"' }).end();
      return;
    }
    const isolated = pathname.startsWith(ISOLATED);
    const [prefix = "", policy] = RESTRICTED.exec(pathname) ?? [];
    const path = await resolve(pathname.slice(isolated ? ISOLATED.length : prefix.length));
    if (path === undefined) {
      response.writeHead(404).end();
      return;
    }
    const type = types[extname(path)] ?? "application/octet-stream";
    const packed = compress && COMPRESSED.has(extname(path));
    response.writeHead(200, {
      "content-type": type,
      "cache-control": "no-cache",
      // As a CDN lets any page import its modules.
      "access-control-allow-origin": "*",
      ...(isolated && isolation),
      ...(policy !== undefined && { "content-security-policy": decodeURIComponent(policy) }),
      ...(packed && { "content-encoding": "gzip" }),
    });
    if (packed) {
      const content = compressed.get(path) ?? readFile(path).then((file) => gzipSync(file));
      compressed.set(path, content);
      response.end(await content);
      return;
    }
    if (type === types[".html"]) response.write(first);
    createReadStream(path).pipe(response);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  return { server, port };
}

async function resolve(pathname: string): Promise<string | undefined> {
  const asked = normalize(decodeURIComponent(pathname));
  const found = Object.entries(roots).find(([prefix]) => asked.startsWith(`/${prefix}/`));
  if (found === undefined) return undefined;
  const [prefix, root] = found;
  const path = join(root, asked.slice(prefix.length + 1));
  const entry = await stat(path).catch(() => undefined);
  if (entry?.isDirectory()) return join(path, "index.html");
  return entry?.isFile() ? path : undefined;
}
