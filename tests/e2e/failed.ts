/**
 * Names each test that failed, in lines that `cargo xtask` reads: when it has failed, before the list of all
 * details, and last of all with the folder in which its trace and its screenshots are kept.
 */

import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reporter, TestCase, TestResult } from "@playwright/test/reporter";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The project, the file and the titles of a test, without the line, which changes. */
const nameOf = (test: TestCase) => {
  const [, project, file, ...titles] = test.titlePath();
  return [`[${project}]`, file, ...titles.filter((title) => title !== "")].join(" › ");
};

export default class Failed implements Reporter {
  readonly #failed: Map<TestCase, TestResult> = new Map();

  onTestEnd(test: TestCase, result: TestResult): void {
    if (result.status === test.expectedStatus || result.status === "skipped") return;
    this.#failed.set(test, result);
    console.log(`a try failed: ${nameOf(test)}`);
  }

  onEnd(): void {
    for (const [test, { attachments }] of this.#failed) {
      const word = test.outcome() === "flaky" ? "flaky" : "failed";
      const path = attachments.find(({ path }) => path !== undefined)?.path;
      const kept = path === undefined ? "" : `, kept in ${relative(root, dirname(path))}`;
      console.log(`${word} test: ${nameOf(test)}${kept}`);
    }
  }

  printsToStdio(): boolean {
    return false;
  }
}
