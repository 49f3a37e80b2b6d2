/** Writes by hand to the store of a workload, beside that workload. */

import { AxeBuilder } from "@axe-core/playwright";
import { expect, test } from "./fixtures.ts";
import { readToTheEnd, simulated, type } from "./visualizer.ts";

for (const device of ["opfs", "memory"]) {
  test(`the store of a workload is written to by hand, and what comes of it is shown, ${device}`, async ({
    context,
    origin,
  }) => {
    const page = await context.newPage();
    await page.goto(`${origin}/demo/#v1&device=${device}&policy=tiered&load=3000&operations=1000`);
    await simulated(page);
    const store = page.getByRole("region", { name: "Writes by hand" });
    await type(store.getByRole("textbox", { name: "key" }), "zebra");
    await type(store.getByRole("textbox", { name: "value" }), "1");
    await store.getByRole("button", { name: "put" }).click();
    await expect(store.getByRole("status")).toContainText("zebra was put");
    await store.getByRole("button", { name: "flush" }).click();
    await expect(store.getByRole("status")).toContainText("are flushed");
    await page.keyboard.press("t");
    const table = page.locator(".tables tbody tr", { hasText: "zebra" });
    await expect(table.first()).toContainText(/flushed|merged/);
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    await store.getByRole("button", { name: "delete" }).click();
    await expect(store.getByRole("status")).toContainText("zebra was deleted");
    await page.keyboard.press("r");
    const reading = page.getByRole("region", { name: "Read a key" });
    await type(reading.getByRole("textbox", { name: "key", exact: true }), "zebra");
    await reading.getByRole("button", { name: /^Read/ }).click();
    expect(await readToTheEnd(reading)).toContain("The key is deleted");
    await expect(page.locator("[role=alert]")).toHaveCount(0);
  });
}
