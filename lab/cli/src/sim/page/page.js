const { report, curves } = data;
const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const rounded = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const brief = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

// ---- what there is to see ----

const figures = (cell) => cell.result.Ok ?? null;
const acrossNodes = (f) => {
  const { same_thread, same_node, other_node } = f.handoffs;
  const all = same_thread + same_node + other_node;
  return all > 0 ? (100 * other_node) / all : null;
};
/** name, title, unit, value of a cell's figures */
const METRICS = [
  ["ops", "throughput", "operations/s", (f) => f.ops_per_s],
  ["p50", "wait, median", "ns", (f) => f.wait?.p50_ns ?? null],
  ["p99", "wait, 99th percentile", "ns", (f) => f.wait?.p99_ns ?? null],
  ["max", "longest wait", "ns", (f) => f.wait?.max_ns ?? null],
  ["fairness", "fairness", "least/busiest thread", (f) => f.fairness],
  ["across", "hand-offs across nodes", "% of acquisitions", acrossNodes],
  ["lines", "line transfers", "per operation", (f) => f.transfers_per_op],
  ["cpu", "CPU time", "ns/operation", (f) => f.cpu_ns],
].map(([name, title, unit, of]) => ({ name, title, unit, of }));

const axisTitle = curves.axis === "cpus" ? "CPUs" : "threads";
const lines = curves.series.map((line, place) => ({
  ...line,
  place,
  shown: true,
  colour: colour(place),
  points: line.cells.map((at) => report.cells[at]).map((cell) => ({ x: cell[curves.axis], cell })),
}));
const xs = [...new Set(lines.flatMap((line) => line.points.map((point) => point.x)))].sort((a, b) => a - b);

// ---- signs ----

/** A sign of its own for each curve, so that colour is not all that tells them apart. */
function sign(place, x, y, size = 4.5) {
  const fill = colour(place);
  const at = { transform: `translate(${x} ${y}) scale(${size / 4.5})`, fill, stroke: "var(--card)", "stroke-width": 1 };
  const shapes = [
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5.2l5 9h-10z",
    "M0 -5.6l5 5.6l-5 5.6l-5 -5.6z",
    "M0 5.2l5 -9h-10z",
    "M-1.8 -5h3.6v3.2h3.2v3.6h-3.2v3.2h-3.6v-3.2h-3.2v-3.6h3.2z",
    "M-5 -1.6l3.4 -3.4h3.2l3.4 3.4v3.2l-3.4 3.4h-3.2l-3.4 -3.4z",
  ];
  return drawn("path", { ...at, d: shapes[place % shapes.length] });
}

function swatch(place) {
  const line = drawn("line", { x1: 0, x2: 24, y1: 7, y2: 7, stroke: colour(place), "stroke-width": 2.25 });
  return drawn("svg", { width: 24, height: 14, "aria-hidden": "true" }, line, sign(place, 12, 7));
}

// ---- scales ----

function steps(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= raw);
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high * 1.0001; at++) ticks.push(at * step);
  return { ticks, step };
}

function linear(high, from, to) {
  const { ticks, step } = steps(0, high || 1, 6);
  const top = Math.max(high || 1, Math.ceil((high || 1) / step - 0.001) * step);
  if (ticks[ticks.length - 1] < top * 0.999) ticks.push(top);
  return { ticks, at: (value) => from + (value / top) * (to - from) };
}

function logarithmic(low, high, from, to) {
  const [a, b] = low < high ? [Math.log(low), Math.log(high)] : [Math.log(low / 2), Math.log(low * 2)];
  const decades = (b - a) / Math.LN10;
  const factors = decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 5, 7];
  const ticks = [];
  for (let power = Math.floor(a / Math.LN10); power <= b / Math.LN10 + 1; power++) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (Math.log(tick) >= a - 1e-9 && Math.log(tick) <= b + 1e-9) ticks.push(tick);
    }
  }
  return { ticks, at: (value) => from + ((Math.log(value) - a) / (b - a)) * (to - from) };
}

/** On a logarithmic axis the values that were simulated are the best ticks; on the other, round ones. */
function xScale(log, from, to) {
  const scale = log ? logarithmic(xs[0], xs[xs.length - 1], from, to) : linear(xs[xs.length - 1], from, to);
  if (log) scale.ticks = xs;
  let last = Infinity;
  scale.ticks = scale.ticks.slice().reverse().filter((tick) => {
    const room = last - scale.at(tick) > 12 + 7 * String(tick).length;
    if (room) last = scale.at(tick);
    return room;
  });
  return scale;
}

// ---- the chart ----

const chart = byId("chart");
const view = { metric: METRICS[0], xLog: xs[xs.length - 1] / xs[0] > 100, yLog: false, at: null, scale: null };

function value(point) {
  const f = figures(point.cell);
  const found = f && view.metric.of(f);
  return found === null || (view.yLog && found <= 0) ? null : found;
}

function draw() {
  const [width, height] = [Math.max(chart.clientWidth, 280), chart.clientHeight];
  const area = { left: 62, right: width - 18, top: 26, bottom: height - 44 };
  const shown = lines.filter((line) => line.shown);
  const values = shown.flatMap((line) => line.points.map(value)).filter((v) => v !== null);
  const high = Math.max(...values, 0);
  const x = xScale(view.xLog, area.left, area.right);
  const low = Math.min(...values);
  const y = view.yLog && values.length
    ? logarithmic(low * 0.9, high * 1.1, area.bottom, area.top)
    : linear(high, area.bottom, area.top);
  view.scale = { x, y, area };
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...axes(x, y, area));
  for (const line of shown) svg.append(curve(line, x, y));
  if (!values.length) svg.append(written(width / 2, height / 2, "nothing to show", "middle", "empty"));
  svg.append(drawn("g", { id: "cross" }));
  chart.replaceChildren(svg);
  chart.setAttribute("aria-label", `${view.metric.title}, ${view.metric.unit}, over ${axisTitle}`);
  mark();
}

function axes(x, y, area) {
  const parts = [];
  for (const tick of y.ticks) {
    const at = y.at(tick);
    parts.push(drawn("line", { class: "grid", x1: area.left, x2: area.right, y1: at, y2: at }));
    parts.push(written(area.left - 8, at + 4, brief.format(tick), "end"));
  }
  for (const tick of x.ticks) {
    const at = x.at(tick);
    parts.push(drawn("line", { class: "axis", x1: at, x2: at, y1: area.bottom, y2: area.bottom + 5 }));
    parts.push(written(at, area.bottom + 19, exact.format(tick), "middle"));
  }
  parts.push(drawn("line", { class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom }));
  parts.push(written((area.left + area.right) / 2, area.bottom + 38, axisTitle, "middle"));
  parts.push(written(8, 13, `${view.metric.title} (${view.metric.unit})`, "start"));
  return parts;
}

function curve(line, x, y) {
  const group = drawn("g", { "data-line": line.name });
  const points = line.points.map((point) => ({ point, found: value(point) }));
  let path = "";
  for (const { point, found } of points) {
    // A run without a figure is a gap.
    path += found === null ? " " : `${path === "" || path.endsWith(" ") ? "M" : "L"}${x.at(point.x)} ${y.at(found)}`;
  }
  group.append(drawn("path", { class: "curve", d: path.trim(), stroke: line.colour }));
  for (const { point, found } of points) {
    if (found !== null) group.append(sign(line.place, x.at(point.x), y.at(found)));
  }
  return group;
}

// ---- exact values: at the pointer, or along the curves with the keys ----

function rows(at) {
  const found = lines.filter((line) => line.shown).map((line) => {
    const point = line.points.find((candidate) => candidate.x === at);
    return point && { line, stuck: !figures(point.cell), found: value(point) };
  });
  return found.filter(Boolean).sort((a, b) => (b.found ?? -1) - (a.found ?? -1));
}

const said = (row) => (row.stuck ? "stuck" : row.found === null ? "none" : exact.format(row.found));

/** The cross hair and the tip at `view.at`. */
function mark() {
  const cross = byId("cross");
  cross?.replaceChildren();
  const hidden = view.at === null || !cross;
  if (hidden) return hush();
  const { x, y, area } = view.scale;
  const at = x.at(view.at);
  cross.append(drawn("line", { class: "cross", x1: at, x2: at, y1: area.top, y2: area.bottom }));
  const found = rows(view.at);
  for (const row of found) {
    if (row.found !== null) cross.append(sign(row.line.place, at, y.at(row.found), 7));
  }
  const cells = found.map((row) => element("tr", {},
    element("td", {}, swatch(row.line.place)), element("td", {}, row.line.name), element("td", {}, said(row))));
  const box = chart.getBoundingClientRect();
  const title = `${view.at} ${axisTitle}: ${view.metric.title}, ${view.metric.unit}`;
  tell(box.left + at, box.top + 16, element("b", {}, title), element("table", {}, ...cells));
  return undefined;
}

function point(at) {
  view.at = at;
  mark();
}

function nearest(clientX) {
  const px = clientX - chart.getBoundingClientRect().left;
  const distance = (x) => Math.abs(view.scale.x.at(x) - px);
  return xs.reduce((best, x) => (distance(x) < distance(best) ? x : best));
}

chart.addEventListener("pointermove", (event) => point(nearest(event.clientX)));
chart.addEventListener("pointerleave", () => point(null));
chart.addEventListener("blur", () => point(null));
chart.addEventListener("keydown", (event) => {
  const place = xs.indexOf(view.at);
  const last = xs.length - 1;
  const places = {
    ArrowRight: place < 0 ? 0 : Math.min(place + 1, last),
    ArrowLeft: place < 0 ? last : Math.max(place - 1, 0),
    Home: 0,
    End: last,
  };
  if (event.key === "Escape") return point(null);
  if (!(event.key in places)) return undefined;
  event.preventDefault();
  point(xs[places[event.key]]);
  byId("said").textContent =
    `${view.at} ${axisTitle}: ${rows(view.at).map((row) => `${row.line.name} ${said(row)}`).join(", ")}`;
  return undefined;
});
// The tip is hidden as the page scrolls; the cross hair's comes back at its new place.
addEventListener("scroll", mark, { passive: true });

// ---- controls ----

function controls() {
  for (const metric of METRICS) {
    if (lines.some((line) => line.points.some((p) => figures(p.cell) && metric.of(figures(p.cell)) !== null))) {
      byId("metric").append(element("option", { value: metric.name }, `${metric.title} (${metric.unit})`));
    }
  }
  byId("metric").addEventListener("change", (event) => {
    view.metric = METRICS.find((metric) => metric.name === event.target.value);
    draw();
  });
  for (const [id, key] of [["x-log", "xLog"], ["y-log", "yLog"]]) {
    byId(id).checked = view[key];
    byId(id).addEventListener("change", (event) => {
      view[key] = event.target.checked;
      draw();
    });
  }
  byId("legend").replaceChildren(...lines.map((line) => {
    const button = element("button", { type: "button", "aria-pressed": "true" }, swatch(line.place), line.name);
    button.addEventListener("click", () => {
      line.shown = !line.shown;
      button.setAttribute("aria-pressed", String(line.shown));
      draw();
    });
    return button;
  }));
}

// ---- the table of cells ----

const number = (of) => (cell) => (figures(cell) ? of(figures(cell)) : null);
/** title, value, what it is */
const COLUMNS = [
  ["lock", (cell) => cell.lock, "the lock"],
  ["CPUs", (cell) => cell.cpus, "CPUs that the threads may use"],
  ["threads", (cell) => cell.threads, "threads"],
  ["ops/s", number((f) => f.ops_per_s), "operations per simulated second"],
  ["ns/op", number((f) => f.op_ns), "length of the interval over the operations"],
  ["p50 ns", number((f) => f.wait?.p50_ns ?? null), "median wait, from asking to having the lock"],
  ["p99 ns", number((f) => f.wait?.p99_ns ?? null), "99% waited at most this long"],
  ["max ns", number((f) => f.wait?.max_ns ?? null), "nobody waited longer"],
  ["fair", number((f) => f.fairness), "operations of the least busy thread over the busiest's"],
  ["x-node %", number(acrossNodes), "acquisitions for which the lock came from another node"],
  ["lines/op", number((f) => f.transfers_per_op), "cache lines moved per operation"],
  ["vol.", number((f) => f.voluntary), "times that a thread slept or yielded"],
  ["invol.", number((f) => f.involuntary), "times that a thread was preempted"],
].map(([title, of, help]) => ({ title, of, help }));
const order = { column: null, sign: 1 };

function compared(a, b) {
  const [x, y] = [order.column.of(a), order.column.of(b)];
  if (x === null || y === null) return (x === null) - (y === null); // what has no value comes last, either way
  return order.sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
}

function fillTable() {
  const cells = order.column ? report.cells.slice().sort(compared) : report.cells;
  byId("cells").tBodies[0].replaceChildren(...cells.map((cell) => {
    const stuck = !figures(cell);
    const columns = stuck ? COLUMNS.slice(0, 3) : COLUMNS;
    const row = element("tr", {}, ...columns.map(({ title, of }) => {
      const found = of(cell);
      const text = found === null ? "–" : typeof found === "number" ? rounded.format(found) : found;
      return element("td", { class: title === "lock" ? "name" : "" }, text);
    }));
    if (stuck) row.append(element("td", { class: "stuck", colspan: COLUMNS.length - 3 }, `stuck: ${cell.result.Err.what}`));
    return row;
  }));
}

function tableHead() {
  const head = COLUMNS.map((column) => {
    const button = element("button", { type: "button", title: column.help }, column.title);
    const th = element("th", { scope: "col", class: column.title === "lock" ? "name" : "" }, button);
    button.addEventListener("click", () => {
      order.sign = order.column === column ? -order.sign : 1;
      order.column = column;
      for (const other of th.parentNode.children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", order.sign > 0 ? "ascending" : "descending");
      fillTable();
    });
    return th;
  });
  byId("cells").tHead.append(element("tr", {}, ...head));
}

// ---- profiles: a bar for each number of CPUs, a colour for each function ----

/** Shares by function, the rarest of them together. */
function functions(line) {
  const sums = new Map();
  for (const { cell } of line.points) {
    for (const row of figures(cell)?.profile ?? []) {
      sums.set(row.function, (sums.get(row.function) ?? 0) + (row.kind === "idle" ? 0 : row.share));
    }
  }
  const busy = [...sums].filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return busy.slice(0, busy.length > COLOURS ? COLOURS - 1 : COLOURS);
}

function groups(line) {
  const named = functions(line).map((name, place) => ({ name, colour: colour(place) }));
  return [...named, { name: "other functions", colour: "var(--soft)" }, { name: "idle", colour: "var(--idle)" }];
}

function groupOf(row, parts) {
  if (row.kind === "idle") return parts[parts.length - 1];
  return parts.find((part) => part.name === row.function) ?? parts[parts.length - 2];
}

const short = (name) => name.split("::").slice(-2).join("::");

function profile(line) {
  const parts = groups(line);
  const used = new Set();
  const bars = line.points.filter(({ cell }) => figures(cell)).map(({ x, cell }) => {
    const shares = new Map(parts.map((part) => [part, 0]));
    for (const row of figures(cell).profile) {
      const part = groupOf(row, parts);
      shares.set(part, shares.get(part) + row.share);
    }
    const present = [...shares].filter(([, share]) => share > 0);
    const told = present.map(([part, share]) => `${short(part.name)} ${(100 * share).toFixed(1)}%`);
    const pieces = present.map(([part, share], place) => {
      used.add(part);
      return element("i", { style: `flex:${share} 1 0;background:${part.colour}`, title: told[place] });
    });
    return element("div", { class: "bar" }, element("span", {}, `${x} ${axisTitle}`),
      element("div", { role: "img", "aria-label": told.join(", ") }, ...pieces));
  });
  byId("profile").replaceChildren(...bars);
  byId("profile-key").replaceChildren(...parts.filter((part) => used.has(part)).map((part) =>
    element("span", { title: part.name }, element("i", { style: `background:${part.colour}` }), short(part.name))));
  profileTable(line);
}

function profileTable(line) {
  const body = line.points.flatMap(({ x, cell }) => (figures(cell)?.profile ?? []).map((row) => element("tr", {},
    element("td", {}, String(x)), element("td", {}, `${(100 * row.share).toFixed(2)}%`),
    ...[row.kind, row.function, row.place ?? ""].map((text) => element("td", { class: "name" }, text)))));
  const titles = [axisTitle, "share", "kind", "function", "place"];
  const head = titles.map((title, place) => element("th", { scope: "col", class: place > 1 ? "name" : "" }, title));
  byId("profile-table").tHead.replaceChildren(element("tr", {}, ...head));
  byId("profile-table").tBodies[0].replaceChildren(...body);
}

function profiles() {
  const choice = byId("profile-lock");
  choice.append(...lines.map((line) => element("option", { value: line.place }, line.name)));
  choice.addEventListener("change", () => profile(lines[choice.value]));
  if (lines.length) profile(lines[0]);
}

// ---- what was run, and what went wrong ----

function head() {
  const { machine } = report;
  byId("title").textContent = `Locks on ${machine.name}, simulated`;
  byId("subtitle").textContent = `${machine.title}: ${machine.cpus} CPUs, ${machine.nodes} nodes`;
  const about = [
    ["workload", report.workload],
    ["measured", `${exact.format(report.duration_ns / 1e6)} ms of simulated time, after ${exact.format(report.warm_up_ns / 1e6)} ms`],
    ["seed", String(report.seed)],
    ["repeat", element("code", {}, report.command)],
    ["provisional numbers of the machine", machine.provisional.join(", ") || "none"],
    ["fingerprint of the machine", element("code", {}, machine.fingerprint)],
    ["commit of turnwise", report.commit ?? "unknown"],
  ];
  for (const cell of report.cells) {
    const where = `${cell.lock} on ${cell.cpus} CPUs, ${cell.threads} threads`;
    for (const note of figures(cell)?.notes ?? []) about.push([where, note]);
  }
  byId("about").append(...about.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

function failures() {
  const stuck = report.cells.filter((cell) => !figures(cell));
  byId("stuck").hidden = stuck.length === 0;
  byId("stuck-list").append(...stuck.flatMap((cell) => {
    const { what, who, replay } = cell.result.Err;
    return [
      element("p", {}, `${cell.lock} on ${cell.cpus} CPUs, ${cell.threads} threads, seed ${cell.seed}: ${what}`),
      element("pre", {}, `${replay}\n${who}`),
    ];
  }));
}

head();
failures();
controls();
tableHead();
fillTable();
profiles();
new ResizeObserver(draw).observe(chart);
draw();
