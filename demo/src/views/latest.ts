/** Work that ends in something shown, of which only the latest counts. */

/** Asks whether nothing else was asked for since. */
export type IsWanted = () => boolean;

/** The latest work, and what overtakes it. */
export class Latest {
  #asked = 0;

  /** Makes all work so far unwanted. */
  overtake(): void {
    this.#asked += 1;
  }

  /** Does work in the place of what was asked for before; if it is unwanted itself by its end, its failure is none. */
  async do(work: (isWanted: IsWanted) => Promise<void>): Promise<void> {
    this.overtake();
    const asked = this.#asked;
    const isWanted = () => asked === this.#asked;
    try {
      await work(isWanted);
    } catch (error) {
      if (isWanted()) throw error;
    }
  }
}
