/** The page's elements, by id. */

/** The element with that id in index.html. */
export function element<T extends Element = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`index.html has no #${id}`);
  return found as Element as T;
}

/** Shows or hides. */
export function toggle(id: string, shown: boolean): void {
  element(id).hidden = !shown;
}

/** Sets an element's text. */
export function write(id: string, text: string): void {
  element(id).textContent = text;
}

/** Shows why something failed; undefined hides the message. */
export function showFailure(error: unknown): void {
  const box = element("failure");
  box.hidden = error === undefined;
  const text = error instanceof Error ? error.message : String(error ?? "");
  const [paragraph] = box.getElementsByTagName("p");
  if (paragraph !== undefined) paragraph.textContent = text;
}

/** Fills a select element; keeps the selected value if it is still available. */
export function fillSelect(id: string, options: [value: string, text: string][]): void {
  const select = element<HTMLSelectElement>(id);
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

/** Handles an event in place of the browser's default action. */
export function on(id: string, event: string, body: () => void): void {
  element(id).addEventListener(event, (happened) => {
    happened.preventDefault();
    body();
  });
}
