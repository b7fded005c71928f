// ---- the recorded locks with more CPUs: a line for each design of locks ----

(() => {
  const { scaling } = view;
  if (!scaling) return;
  byId("scaling").hidden = false;
  const chart = byId("scaling-chart");
  const COLOURS = ["var(--c1)", "var(--c0)", "var(--c2)", "var(--c3)"];
  const UNITS = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  const rate = (value) => {
    const [size, unit] = UNITS.find(([least]) => value >= 0.9995 * least) ?? [1, ""];
    return `${three.format(value / size)}${unit && ` ${unit}`}`;
  };
  const KINDS = [
    { title: "Acquisitions a second", of: (point) => point[1], show: rate, text: (value) => `${rate(value)} acquisitions a second` },
    {
      title: "Share of time waiting",
      of: (point) => point[2],
      show: (value) => percent(value, 1),
      text: (value) => `${percent(value, 1)} of the time waiting`,
    },
  ];
  const designs = scaling.designs.map((design, place) => ({ ...design, colour: COLOURS[place % COLOURS.length], place }));
  const counts = designs[0].points.map(([cpus]) => cpus);
  const [recordedCpus, recordedRate] = scaling.recorded;
  let kind = KINDS[0];
  let chosen = null;
  let scale = null;

  byId("scaling-legend").append(
    ...designs.map(({ title, colour }) => element("span", {}, element("i", { style: `background:${colour}` }), title)),
  );
  byId("scaling-sentences").append(
    ...scaling.sentences.map((sentence) => element("li", {}, ...worded(sentence))),
  );
  byId("scaling-hint").textContent =
    `Simulated: a thread on each CPU of ${scaling.machine}, each as busy as a recorded one; seed ${scaling.seed}. ` +
    "A dotted line is where a lock becomes the wall, the ring is the recorded run. Arrow keys move along the curve.";

  /** A mark at a point: round for the first design, square for the second. */
  const mark = (x, y, { place, colour }) =>
    place % 2
      ? drawn("rect", { x: x - 4, y: y - 4, width: 8, height: 8, fill: colour, class: "point" })
      : drawn("circle", { cx: x, cy: y, r: 4.5, fill: colour, class: "point" });

  function grid(svg, top, { x, y, area }) {
    for (const tick of ticks(0, top, 5)) {
      svg.append(
        drawn("line", { class: "grid", x1: area.left, x2: area.right, y1: y(tick), y2: y(tick) }),
        written(area.left - 8, y(tick) + 4, kind.show(tick), "end"),
      );
    }
    svg.append(drawn("line", { class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom }));
    let free = -Infinity;
    for (const cpus of counts) {
      const label = `${cpus}${cpus === counts.at(-1) ? " CPUs" : ""}`;
      if (x(cpus) - free < 26) continue;
      svg.append(below(x(cpus), area.bottom + 18, label, area.right + 12));
      free = x(cpus);
    }
  }

  // Their names stand above the curves, a line each; the dotted lines are drawn first, so that none crosses a name.
  const NAME = 19;
  const walled = designs.filter(({ wall }) => wall);

  function walls(svg, { x, area }) {
    const names = walled.map(({ wall, title, colour }, row) => {
      const [at, y] = [x(wall[0]), NAME * (row + 1) - 4];
      const left = at > (area.left + area.right) / 2;
      svg.append(drawn("line", { class: "wall", x1: at, x2: at, y1: y - 11, y2: area.bottom, stroke: colour }));
      const room = left ? at - 6 : area.right - at - 6;
      const told = `wall: ${said(wall[1])}${walled.length > 1 ? ` (${title})` : ""}`;
      return written(left ? at - 6 : at + 6, y, fitting(told, Math.min(room, 420)), left ? "end" : "start", "wall-name");
    });
    svg.append(...names);
  }

  function curves(svg, { x, y }) {
    for (const design of designs) {
      const d = design.points.map((point, at) => `${at ? "L" : "M"}${x(point[0])} ${y(kind.of(point))}`).join("");
      svg.append(
        drawn("path", { d, stroke: design.colour, class: design.place % 2 ? "curve second" : "curve" }),
        ...design.points.map((point) => mark(x(point[0]), y(kind.of(point)), design)),
      );
    }
  }

  function draw() {
    const [width, height] = [Math.max(chart.clientWidth, 240), 280];
    const area = { left: 58, right: width - 14, top: 12 + NAME * walled.length, bottom: height - 26 };
    const values = designs.flatMap(({ points }) => points.map(kind.of));
    const top = kind === KINDS[0] ? Math.max(...values, recordedRate, 1) * 1.05 : 1;
    const [first, last] = [Math.min(counts[0], recordedCpus), counts.at(-1)].map(Math.log2);
    const x = (cpus) =>
      area.left + 14 + ((area.right - area.left - 28) * (Math.log2(cpus) - first)) / Math.max(last - first, 1e-9);
    const y = (value) => area.bottom - ((area.bottom - area.top) * value) / top;
    scale = { x, y, area };
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    grid(svg, top, scale);
    walls(svg, scale);
    curves(svg, scale);
    if (kind === KINDS[0]) {
      svg.append(drawn("circle", { class: "recorded", cx: x(recordedCpus), cy: y(recordedRate), r: 6 }));
    }
    svg.append(drawn("g", { id: "scaling-cross" }));
    chart.replaceChildren(svg);
  }

  const lines = (at) =>
    designs.map((design) => {
      const point = design.points[at];
      const mostly = point[3] === null ? "" : `, mostly for ${said(point[3])}`;
      return `${design.title}: ${KINDS.map(({ of, text }) => text(of(point))).join(", ")}${mostly}`;
    });

  function point(at) {
    chosen = at;
    byId("scaling-cross")?.replaceChildren();
    if (at === null) return hush();
    const middle = scale.x(counts[at]);
    byId("scaling-cross").append(
      drawn("line", { class: "cross", x1: middle, x2: middle, y1: scale.area.top, y2: scale.area.bottom }),
    );
    byId("scaling-shown").textContent = `${counts[at]} CPUs. ${lines(at).join(". ")}.`;
    const box = chart.getBoundingClientRect();
    return tell(
      box.left + middle,
      box.top + 10,
      element("b", {}, `${counts[at]} CPUs`),
      ...lines(at).map((line) => element("div", {}, line)),
    );
  }

  const buttons = KINDS.map((one) => {
    const button = element("button", { type: "button" }, one.title);
    button.addEventListener("click", () => show(one));
    return button;
  });
  byId("scaling-what").append(...buttons);

  function show(one) {
    kind = one;
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(KINDS[place] === kind)));
    draw();
  }

  chart.addEventListener("pointermove", (event) => {
    const at = event.clientX - chart.getBoundingClientRect().left;
    const far = counts.map((cpus) => Math.abs(scale.x(cpus) - at));
    point(far.indexOf(Math.min(...far)));
  });
  chart.addEventListener("pointerleave", () => point(null));
  chart.addEventListener("blur", () => point(null));
  chart.addEventListener("keydown", (event) => {
    const places = {
      ArrowRight: Math.min((chosen ?? -1) + 1, counts.length - 1),
      ArrowLeft: Math.max((chosen ?? 1) - 1, 0),
      Home: 0,
      End: counts.length - 1,
    };
    if (event.key === "Escape") return point(null);
    if (!(event.key in places)) return undefined;
    event.preventDefault();
    return point(places[event.key]);
  });
  show(KINDS[0]);
  whenResized(chart, draw);
})();
