/** Changing the policy of a store that is shown. */

import type { OpenStore } from "../source/recording.ts";
import type { Settings } from "../source/settings.ts";
import type { Player } from "./player.svelte.ts";
import { messageOf } from "../message.ts";

/** Sets the policy of the store that a player shows to that of these settings, and continues to play. */
export function changePolicy(player: Player, store: OpenStore, settings: Settings): void {
  if (settings.policy !== player.settings.policy) {
    settings.parameters = store.parametersOf(settings.policy);
  }
  player.settings = settings;
  const report = (problem: string | undefined) => {
    if (player.store === store && player.file !== undefined) {
      player.file = { ...player.file, problem };
    }
  };
  store.setPolicy(settings).then(
    () => report(undefined),
    (error: unknown) => {
      // The store has kept its policy.
      if (player.store === store) player.settings = player.recording.settings;
      report(messageOf(error));
    },
  );
  player.playing = true;
}
