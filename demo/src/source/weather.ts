/**
 * The bundled data set: hourly readings of weather stations, generated on the fly.
 *
 * They arrive in the order of time, but their keys start with the station: every hour's readings are
 * spread over the whole key space, so that the tree has work to do.
 */

import type { Source } from "./load.ts";

const STATIONS =
  "accra almaty athens auckland bergen bogota boston cairo cusco dakar delhi denver dublin fez " +
  "geneva hanoi harare havana helsinki hobart jakarta kigali kyoto lagos lima lisbon london " +
  "lusaka madrid malmo manila mumbai muscat nairobi naples odesa osaka oslo panama paris perth " +
  "prague quito riga rome seoul sofia tunis vienna zagreb";
const stations = STATIONS.split(" ");
const HOURS = 6000;
const HOURS_PER_CHUNK = 100;
const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 1);
const HEADER = "key\tvalue\n";

/** The number of readings. */
export const READINGS: number = stations.length * HOURS;

/** The readings as tab-separated text. */
export const weather: Source = {
  // All lines of a station have the same length.
  size: HEADER.length + HOURS * hourOf(0).length,
  stream() {
    let hour = 0;
    const encoder = new TextEncoder();
    return new ReadableStream({
      pull(controller) {
        let text = hour === 0 ? HEADER : "";
        const end = Math.min(hour + HOURS_PER_CHUNK, HOURS);
        for (; hour < end; hour++) text += hourOf(hour);
        controller.enqueue(encoder.encode(text));
        if (hour === HOURS) controller.close();
      },
    });
  },
};

/** The readings of one hour: `oslo/2026-01-01T00`, ` -3.1 C, 81 %, 1009 hPa`. */
function hourOf(hour: number): string {
  const time = new Date(START + hour * HOUR).toISOString().slice(0, 13);
  return stations.map((name, i) => `${name}/${time}\t${reading(i, hour)}\n`).join("");
}

function reading(station: number, hour: number): string {
  const year = Math.cos((2 * Math.PI * hour) / 8766);
  const day = Math.cos((2 * Math.PI * (hour - 14)) / 24);
  const front = Math.sin(hour / 41 + station * 1.7) * Math.sin(hour / 97 + station);
  const celsius = 8 + (station % 17) - 9 * year + 4 * day + 5 * front;
  const humidity = 65 - 4 * day - 20 * front;
  const pressure = 1013 + 14 * front;
  const column = (value: number, digits: number, width: number) =>
    value.toFixed(digits).padStart(width);
  return `${column(celsius, 1, 5)} C, ${column(humidity, 0, 2)} %, ${column(pressure, 0, 4)} hPa`;
}
