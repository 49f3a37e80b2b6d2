/** Policies beside each other on the visualizer: their trees, their figures, and one that takes over another's tree. */

import { AxeBuilder } from "@axe-core/playwright";
import { expect, test } from "./fixtures.ts";
import { openSimulated, simulated, slider } from "./visualizer.ts";

test("policies are compared side by side, at the same bytes accepted or the same second", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=spooky&at=900000");
  await expect(page.locator(".right section").nth(2)).not.toContainText("not there yet");
  await page.keyboard.press("c");
  const trees = page.locator(".compare figure");
  await expect(trees).toHaveCount(3);
  await expect(trees.locator("strong")).toHaveText(["Spooky", "leveled", "tiered"]);
  // What the table beside says of the rivals at the same number of bytes, these say.
  const row = page.locator(".right section").nth(2).locator("tbody tr").nth(1);
  const [, , written = "", space = "", runs = ""] = await row.locator("th, td").allInnerTexts();
  const figures = () => trees.nth(1).locator("dd").allInnerTexts();
  expect((await figures()).join(" ")).toMatch(new RegExp(`^${written}.* ${space}.* ${runs}\\b`));
  // Each says what it does, and why, as the page does of the recording.
  await expect(trees.first().locator(".now")).toHaveText(await page.locator("h1").innerText());
  for (const why of await trees.locator(".why").all()) await expect(why).toHaveText(/\.$/);
  await expect(trees.nth(2).locator(".axis span")).toHaveCount(5);
  // A key is pointed at in all of them.
  await trees
    .first()
    .locator(".frame")
    .hover({ position: { x: 60, y: 200 } });
  await expect(page.locator(".compare .key")).toHaveCount(3);
  await expect(page.locator(".compare .head")).toContainText(/key [0-9a-f]{4}/);
  const results = await new AxeBuilder({ page }).analyze();
  expect(results.violations).toEqual([]);
  // A table is selected in all of them: it is outlined in its own, and named.
  const named = page.locator(".compare .table");
  const before = await named.innerText();
  const rival = await trees.nth(1).locator(".frame").boundingBox();
  if (rival === null) throw new Error("no tree");
  for (let y = 0; y < rival.height && (await named.innerText()) === before; y += 6)
    await page.mouse.move(rival.x + rival.width / 2, rival.y + y);
  await expect(named).toHaveText(/^leveled: Table \d+, level \d/);
  await page.keyboard.press("Escape");
  await expect(named).toHaveText("");
  await page.getByRole("combobox", { name: "at the same" }).selectOption("seconds");
  await expect(trees).toHaveCount(3);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByRole("status")).toContainText("link to this moment");
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(other.locator(".compare figure")).toHaveCount(3);
  await expect(other.getByRole("combobox", { name: "at the same" })).toHaveValue("seconds");
  await other.close();
  await page.bringToFront();
  await page.keyboard.press("c");
  await expect(page.locator(".compare")).toHaveCount(0);
});

test("rivals are chosen, and take over the tree of a moment", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=700000");
  const others = page.locator(".right section").nth(2);
  const there = () => expect(others).not.toContainText("not there yet");
  const figures = async () => {
    const rows = await others.locator("tbody tr").all();
    return Promise.all(rows.map(async (row) => row.locator("td").allInnerTexts()));
  };
  await page.getByRole("combobox", { name: "Rival 1" }).selectOption("universal");
  await there();
  const [own, apart] = await figures();
  expect(apart).not.toEqual(own);
  await page.getByRole("button", { name: "switch here" }).click();
  await there();
  await expect(page.locator(".switch")).toBeVisible();
  // The policy is changed with the simulator's last step before that moment.
  const coarse = (row: string[] | undefined) => [row?.at(1), row?.at(3)];
  await expect
    .poll(async () => (await figures()).map(coarse))
    .toEqual([coarse(own), coarse(own), coarse(own)]);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByRole("status")).toContainText("link to this moment");
  await slider(page).press("End");
  await there();
  const [ended, later] = await figures();
  expect(later).not.toEqual(ended);
  const other = await context.newPage();
  await other.goto(page.url());
  await simulated(other);
  await expect(other.locator(".switch")).toBeVisible();
  await expect(other.getByRole("combobox", { name: "Rival 1" })).toHaveValue("universal");
  await page.getByRole("button", { name: "from the start" }).click();
  await expect(page.locator(".switch")).toHaveCount(0);
});

test("on the engine, too, rivals take over the tree of a moment", async ({ context, origin }) => {
  const page = await context.newPage();
  // What each worker that opens a store is asked for: the policy it starts with, writes, other policies.
  await page.addInitScript(() => {
    const stores: string[][] = [];
    Object.assign(window, { stores });
    const own = new WeakMap<Worker, string[]>();
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function (this: Worker, message: unknown, ...rest: never[]) {
      for (const request of Array.isArray(message) ? message : []) {
        const { op, method, policy, args } = request as Record<string, unknown>;
        const asked = own.get(this);
        // The message of a single write is an array of its fields.
        const isWrite = op === "write" || request instanceof Uint8Array;
        if (op === "open") stores.push(own.set(this, [String(policy)]).get(this) ?? []);
        else if (method === "set_policy") asked?.push(String((args as unknown[])[1]));
        else if (isWrite && asked?.at(-1) !== "writes") asked?.push("writes");
      }
      postMessage.call(this, message, ...rest);
    };
  });
  const fragment = "device=memory&policy=leveled&load=6000&operations=6000&cmp=universal,tiered";
  await page.goto(`${origin}/demo/#v1&${fragment}`);
  await simulated(page);
  const others = page.locator(".right section").nth(2);
  const there = async () => {
    await expect(others).not.toContainText("not there yet");
    await expect(others).not.toContainText("failed");
  };
  await there();
  // The first decision is neither before the first memtable is full nor after the last.
  await slider(page).press("Home");
  await page.keyboard.press("k");
  await page.getByRole("button", { name: "switch here" }).click();
  await expect(page.locator(".switch")).toBeVisible();
  await slider(page).press("End");
  await there();
  const names = ["leveled", "universal", "tiered"];
  const asked = await page.evaluate(() => (window as unknown as { stores: string[][] }).stores);
  const steps = asked.map((store) =>
    store.map((step) => names.find((name) => step.includes(`"${name}"`)) ?? step),
  );
  expect(steps).toEqual([
    ["leveled", "writes"],
    ["universal", "writes"],
    ["tiered", "writes"],
    ["leveled", "writes", "universal", "writes"],
    ["leveled", "writes", "tiered", "writes"],
  ]);
  await page.getByRole("button", { name: "from the start" }).click();
  await expect(page.locator(".switch")).toHaveCount(0);
  await there();
});
