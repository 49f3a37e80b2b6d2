/** Pages under a content security policy, which every response has. */

import { expect, test } from "./fixtures.ts";
import { restricted } from "./server.ts";

/** The strictest policy that works. */
const LEAST = ["script-src 'self' 'wasm-unsafe-eval'", "worker-src 'self'", "connect-src 'self'"];

const WORKER =
  /^UnavailableError: the store's worker could not be loaded: .*\/worker\.js.*Bundlers/;
const ENGINE = /^UnavailableError: the engine could not be loaded: .*\.wasm.*Bundlers/;

for (const [what, sources, outcome] of [
  ["the least policy has a store", LEAST, "v"],
  ["a policy without WebAssembly has none", ["script-src 'self'", ...LEAST.slice(1)], ENGINE],
  ["a policy without workers has none", [LEAST[0]!, "worker-src 'none'", LEAST[2]!], WORKER],
  ["a policy without connections has none", LEAST.slice(0, 2), ENGINE],
] as const) {
  test(`a page under ${what}`, async ({ context, origin }) => {
    const page = await context.newPage();
    const policy = ["default-src 'none'", ...sources].join("; ");
    await page.goto(`${origin}${restricted(policy, "pages/restricted.html")}`);
    await page.waitForFunction(() => "outcome" in window);
    const found = await page.evaluate(() => (window as unknown as { outcome: unknown }).outcome);
    expect(found).toEqual(typeof outcome === "string" ? outcome : expect.stringMatching(outcome));
  });
}
