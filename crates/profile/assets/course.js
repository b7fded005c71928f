// ---- waiting over time: how many threads wait, by lock ----

(() => {
  const SHOWN = 6;
  const chart = byId("course-chart");
  const busy = view.locks
    .map((lock, place) => ({ lock, place }))
    .filter(({ lock }) => lock.charts?.wait_ns.length && lock.figures.wait[0] > 0);
  byId("course").hidden = busy.length === 0;
  if (busy.length === 0) return;
  const step = busy[0].lock.charts.step_ns;
  const same = busy.filter(({ lock }) => lock.charts.step_ns === step);
  const steps = Math.max(...same.map(({ lock }) => lock.charts.wait_ns.length));
  // How many threads waited, on average, in a step.
  const threads = (lock, at) => (lock.charts.wait_ns[at] ?? 0) / step;
  const named = same.slice(0, same.length > SHOWN ? SHOWN - 1 : SHOWN);
  const layers = named.map(({ lock, place }) => ({
    name: lock.name,
    colour: colour(place),
    at: (step) => threads(lock, step),
  }));
  const rest = same.slice(named.length);
  if (rest.length) {
    layers.push({
      name: plural(rest.length, "other lock", "other locks"),
      colour: "var(--c7)",
      at: (step) => rest.reduce((sum, { lock }) => sum + threads(lock, step), 0),
    });
  }
  const sums = Array.from({ length: steps }, (_, at) => layers.reduce((sum, layer) => sum + layer.at(at), 0));
  const top = Math.max(...sums, 1e-9);
  let chosen = null;
  let scale = null;

  byId("course-legend").append(
    ...layers.map((layer) => element("span", {}, element("i", { style: `background:${layer.colour}` }), layer.name)),
  );

  function draw() {
    const [width, height] = [Math.max(chart.clientWidth, 240), 220];
    const area = { left: 44, right: width - 8, top: 10, bottom: height - 26 };
    const x = (at) => area.left + ((area.right - area.left) * at) / steps;
    const y = (value) => area.bottom - ((area.bottom - area.top) * value) / top;
    scale = { x, area };
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    for (const tick of ticks(0, top, 5)) {
      svg.append(
        drawn("line", { class: "grid", x1: area.left, x2: area.right, y1: y(tick), y2: y(tick) }),
        written(area.left - 8, y(tick) + 4, three.format(tick), "end"),
      );
    }
    let floor = Array(steps).fill(0);
    for (const layer of layers) {
      const above = floor.map((sum, at) => sum + layer.at(at));
      const upper = above.map((sum, at) => `L${x(at)} ${y(sum)}L${x(at + 1)} ${y(sum)}`).join("");
      const lower = floor
        .map((sum, at) => `L${x(at + 1)} ${y(sum)}L${x(at)} ${y(sum)}`)
        .reverse()
        .join("");
      svg.append(
        drawn("path", {
          d: `M${x(0)} ${y(floor[0])}${upper}${lower}Z`,
          fill: layer.colour,
          "fill-opacity": 0.82,
          "data-layer": layer.name,
        }),
      );
      floor = above;
    }
    svg.append(drawn("line", { class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom }));
    for (const tick of ticks(0, steps * step, width / 130)) {
      svg.append(below(x(tick / step), area.bottom + 18, briefly(tick), width));
    }
    svg.append(drawn("g", { id: "course-cross" }));
    chart.replaceChildren(svg);
  }

  function point(at) {
    chosen = at;
    byId("course-cross")?.replaceChildren();
    if (at === null) return hush();
    const middle = scale.x(at + 0.5);
    byId("course-cross").append(
      drawn("line", { class: "cross", x1: middle, x2: middle, y1: scale.area.top, y2: scale.area.bottom }),
    );
    const lines = layers
      .map((layer) => ({ layer, value: layer.at(at) }))
      .filter(({ value }) => value > 0)
      .reverse();
    const box = chart.getBoundingClientRect();
    return tell(
      box.left + middle,
      box.top + 10,
      element("b", {}, `${time(at * step)} to ${time((at + 1) * step)}: ${three.format(sums[at])} threads waited`),
      ...lines.map(({ layer, value }) => element("div", {}, `${three.format(value)} for ${layer.name}`)),
    );
  }

  chart.addEventListener("pointermove", (event) => {
    const part =
      (event.clientX - chart.getBoundingClientRect().left - scale.area.left) / (scale.area.right - scale.area.left);
    point(Math.max(0, Math.min(steps - 1, Math.floor(part * steps))));
  });
  chart.addEventListener("pointerleave", () => point(null));
  chart.addEventListener("blur", () => point(null));
  chart.addEventListener("keydown", (event) => {
    const from = chosen ?? -1;
    const places = {
      ArrowRight: Math.min(from + 1, steps - 1),
      ArrowLeft: Math.max(from - 1, 0),
      Home: 0,
      End: steps - 1,
    };
    if (event.key === "Escape") return point(null);
    if (!(event.key in places)) return undefined;
    event.preventDefault();
    return point(places[event.key]);
  });
  whenResized(chart, draw);
})();
