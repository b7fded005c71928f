const view = data;
const said = (number) => view.strings[number] ?? "";
const tinted = (place) => `color-mix(in srgb, ${colour(place)} var(--tint), var(--card))`;

// ---- figures ----

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const exact = new Intl.NumberFormat("en", {
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
  useGrouping: false,
});
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const UNITS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
  [1, "ns"],
];

function time(ns, format = exact) {
  if (ns === 0) return "0";
  const [size, unit] = UNITS.find(([least]) => ns >= 0.9995 * least) ?? UNITS[3];
  return `${(size === 1 ? whole : format).format(ns / size)} ${unit}`;
}

/** For axes: `5 ms`. */
const briefly = (ns) => time(ns, three);

const count = (number) => whole.format(number);

function percent(part, all) {
  if (!all || !part) return "0%";
  const share = (100 * part) / all;
  return share < 0.1 ? "<0.1%" : `${share < 10 ? share.toFixed(1) : share.toFixed(0)}%`;
}

// ---- texts that must fit ----

/** A text below an axis, kept within its ends. */
function below(x, y, text, right) {
  const half = text.length * 3.4;
  return x + half > right ? written(right, y, text, "end") : written(Math.max(x, half), y, text, "middle");
}

/** Words with names between backquotes. */
const worded = (text) => text.split("`").map((part, place) => (place % 2 ? element("code", {}, part) : part));

/** As much of a text as fits into so many pixels; the middle goes first, as names differ at both ends. */
function fitting(text, width, each = 7) {
  const room = Math.floor(width / each);
  if (text.length <= room) return text;
  if (room < 4) return "";
  const head = Math.ceil((room - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (room - 1 - head))}`;
}

/** One thing, several things: `1 wait`, `2 waits`. */
const plural = (number, one, more) => `${count(number)} ${number === 1 ? one : more}`;

/** As much of a call as fits: without its place, without its end. `wide` tells how wide a text is. */
function fittingCall(text, width, wide) {
  const LEAST = 28; // nothing narrower says anything
  if (width < LEAST) return "";
  if (wide(text) <= width) return text;
  const call = text.replace(/ \([^()]*:\d+\)$/, "");
  if (wide(call) <= width) return call;
  let [fits, not] = [0, call.length];
  while (not - fits > 1) {
    const middle = (fits + not) >> 1;
    if (wide(`${call.slice(0, middle)}…`) <= width) fits = middle;
    else not = middle;
  }
  return fits < 3 ? "" : `${call.slice(0, fits)}…`;
}

/** Round numbers from 0 or `low` up to `high`, about so many. */
function ticks(low, high, about) {
  const span = Math.max(high - low, 1e-9);
  const power = 10 ** Math.floor(Math.log10(span / about));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => span / n <= about) ?? 10 * power;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) found.push(at);
  return found;
}
