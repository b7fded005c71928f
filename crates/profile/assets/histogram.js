// ---- how long waits and holds of the lock took ----

function drawHistograms(lock) {
  for (const [id, kind, name] of [
    ["wait-histogram", "bar-w", "wait"],
    ["hold-histogram", "bar-h", "hold"],
  ]) {
    const node = byId(id);
    const buckets = lock.charts?.[name] ?? [];
    node.replaceChildren(
      buckets.length ? histogram(node, buckets, kind, name) : element("p", { class: "empty" }, "none"),
    );
  }
}

/** A bar for each power of two, so that buckets of any width compare. */
function octaves(buckets) {
  const sums = new Map();
  for (const [bound, number] of buckets) {
    const octave = Math.ceil(Math.log2(Math.max(bound, 1)));
    sums.set(octave, (sums.get(octave) ?? 0) + number);
  }
  const places = [...sums.keys()];
  const [low, high] = [Math.min(...places), Math.max(...places)];
  return Array.from({ length: high - low + 1 }, (_, at) => ({ octave: low + at, number: sums.get(low + at) ?? 0 }));
}

function histogram(node, buckets, kind, name) {
  const bars = octaves(buckets);
  const [width, height] = [Math.max(node.clientWidth, 240), 150];
  const area = { left: 48, right: width - 4, top: 8, bottom: height - 24 };
  const most = Math.max(...bars.map(({ number }) => number));
  const all = bars.reduce((sum, { number }) => sum + number, 0);
  const each = (area.right - area.left) / bars.length;
  const y = (number) => area.bottom - ((area.bottom - area.top) * number) / most;
  const words = bars
    .filter(({ number }) => number)
    .map(({ octave, number }) => `${percent(number, all)} up to ${briefly(2 ** octave)}`);
  const svg = drawn("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${name} times: ${words.join(", ")}`,
  });
  for (const tick of ticks(0, most, 4)) {
    svg.append(
      drawn("line", { class: "grid", x1: area.left, x2: area.right, y1: y(tick), y2: y(tick) }),
      written(area.left - 8, y(tick) + 4, brief.format(tick), "end"),
    );
  }
  const every = Math.ceil(72 / each);
  bars.forEach(({ octave, number }, at) => {
    const x = area.left + at * each;
    // What is there at all can be seen.
    const top = number ? Math.min(y(number), area.bottom - 1.5) : area.bottom;
    const bar = drawn("rect", {
      class: kind,
      x: x + 1,
      y: top,
      width: Math.max(1, each - 2),
      height: area.bottom - top,
      rx: 2,
    });
    const text = `${count(number)} (${percent(number, all)}) took ${briefly(2 ** (octave - 1))} to ${briefly(2 ** octave)}`;
    bar.append(drawn("title", {}, text));
    svg.append(bar);
    if (at % every === 0) svg.append(below(x + each, area.bottom + 17, briefly(2 ** octave), width));
  });
  svg.append(drawn("line", { class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom }));
  return svg;
}

const brief = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
