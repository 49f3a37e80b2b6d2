/** The examples of the npm package, as they are. */

import { expect, test } from "./fixtures.ts";

const examples = {
  page: "2026-01 first\n2026-02 second\nclosed",
  worker: "c 3\nb 2\na 1\nclosed\n",
};

for (const [name, shown] of Object.entries(examples)) {
  test(`the ${name} example shows what it wrote, also after a reload`, async ({
    context,
    origin,
  }) => {
    const page = await context.newPage();
    await page.goto(`${origin}/terrane/examples/${name}/index.html`);
    const output = page.locator("pre");
    await expect(output).toContainText("closed");
    expect(await output.textContent()).toBe(shown);
    await page.reload();
    await expect(output).toContainText("closed");
    expect(await output.textContent()).toBe(shown);
  });
}
