// ---- one lock closely: who holds it and who waits, over time ----

let showLock = () => {};

(() => {
  const [ROW, TOP, QUEUE] = [18, 4, 54];
  const MOST_THREADS = 40;
  const SINGLY = 700; // more waits than this are not drawn one by one
  const STRIP = 3;
  const LEAST_BINS = 100; // fewer bins in sight are too coarse
  const LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"; // of a share, as afar.rs has them
  const AT_FIRST = 250; // waits in sight at first, about: single ones can be seen
  const chart = byId("timeline-chart");
  const picked = byId("timeline-lock");
  const closely = view.locks
    .map((lock, place) => ({ lock, place, timeline: view.timelines.find((one) => one.lock === place) }))
    .filter(({ lock, timeline }) => timeline || lock.charts?.wait.length || lock.charts?.hold.length);
  byId("timeline").hidden = closely.length === 0;
  if (closely.length === 0) return;
  picked.append(
    ...closely.map(({ lock, place }) =>
      element("option", { value: place }, `${lock.name}: ${time(lock.figures.wait[0])}`),
    ),
  );

  let waits = [];
  let lanes = [];
  let afar = null; // sums over all waits, where not all are here one by one
  let [whole, from, to] = [[0, 1], 0, 1];
  let chosen = null;
  let drag = null;
  let area = { left: 120, right: 800 };

  /** From the page's rows to records, and a row for each thread that appears. */
  function load(place) {
    const { lock, timeline } = closely.find((one) => one.place === place) ?? closely[0];
    afar = timeline?.afar ?? null;
    waits = (timeline?.waits ?? []).map(([thread, site, began, acquired, released, holder, holderSite, gaveUp]) => ({
      thread,
      site,
      began,
      acquired,
      released,
      holder,
      holderSite,
      gaveUp: gaveUp === 1,
    }));
    const spent = new Map();
    for (const wait of waits) spent.set(wait.thread, (spent.get(wait.thread) ?? 0) + wait.acquired - wait.began);
    const rows = afar?.rows.map((row) => [row.thread]) ?? [...spent].sort((a, b) => b[1] - a[1]);
    const all = rows.map(([thread]) => thread);
    const threads = afar?.threads ?? all.length;
    lanes = all.slice(0, MOST_THREADS).sort((a, b) => a - b);
    const ends = waits.map((wait) => Math.max(wait.acquired, wait.released));
    const last = ends.reduce((a, b) => Math.max(a, b), 0);
    whole = waits.length ? [waits[0].began, last] : [0, view.program.duration_ns || 1];
    if (afar) whole = [afar.began_ns, afar.began_ns + afar.bin_ns * afar.wait_ns.length];
    [from, to] = whole;
    chosen = null;
    const left = [];
    const ever = lock.figures.contended;
    const kept = `${plural(timeline?.kept ?? 0, "wait", "waits")}${timeline?.kept < ever ? ` of ${count(ever)}` : ""}`;
    if (timeline?.kept < ever) left.push(`Kept one by one: ${kept}; nothing of the others is drawn.`);
    if (afar)
      left.push(
        `From afar all ${count(timeline.kept)} are drawn; closely only the ${count(waits.length)} longest are, with gaps.`,
      );
    if (threads > lanes.length) left.push(`The ${lanes.length} threads of ${threads} that waited longest are shown.`);
    if (!waits.length) left.push("No wait for this lock was kept one by one.");
    byId("timeline-omitted").textContent = left.join(" ");
    // Where the longest wait is, there is something to see.
    const longest = waits.reduce(
      (most, wait) => (most && wait.acquired - wait.began <= most.acquired - most.began ? most : wait),
      null,
    );
    byId("timeline-shown").textContent = longest ? `The longest wait: ${words(longest).join(" ")}` : "";
    const length = Math.max(
      (whole[1] - whole[0]) * Math.min(1, AT_FIRST / Math.max(1, waits.length)),
      longest ? 3 * (longest.acquired - longest.began) : 0,
    );
    const middle = longest ? (longest.began + longest.acquired) / 2 : 0;
    range(middle - length / 2, middle + length / 2);
  }

  const names = new Map();
  for (const { name } of view.threads) names.set(name, (names.get(name) ?? 0) + 1);
  /** With its number, where others have its name. */
  function threadName(thread) {
    const { name, tid } = view.threads[thread];
    return names.get(name) > 1 || !name ? `${name} ${tid}`.trim() : name;
  }

  const x = (at) => area.left + ((area.right - area.left) * (at - from)) / (to - from);
  const timeAt = (px) => from + ((to - from) * (px - area.left)) / (area.right - area.left);

  /** How many waited: a step at each change. */
  function queue() {
    const changes = waits
      .flatMap((wait) => [
        [wait.began, 1],
        [wait.acquired, -1],
      ])
      .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let now = 0;
    return changes.map(([at, change]) => ({ at, number: (now += change) }));
  }

  /** The bins in sight of the sums over all waits; `null`: so close, or with nothing left out, that waits tell more. */
  function binsInSight() {
    if (!afar || to - from < LEAST_BINS * afar.bin_ns) return null;
    const first = Math.max(0, Math.floor((from - afar.began_ns) / afar.bin_ns));
    const last = Math.min(afar.wait_ns.length, Math.ceil((to - afar.began_ns) / afar.bin_ns));
    return Array.from({ length: last - first }, (_, at) => first + at);
  }
  const binAt = (bin) => Math.max(from, afar.began_ns + bin * afar.bin_ns);
  const levelOf = (row, bin) => LEVELS.indexOf(row[bin]) / (LEVELS.length - 1);

  /** The steps in sight; from afar the mean of each strip, or of each bin. */
  function queueInSight(many, bins) {
    if (bins) return bins.map((bin) => ({ at: binAt(bin), number: afar.wait_ns[bin] / afar.bin_ns }));
    if (!many) {
      const steps = queue();
      const before = steps.filter(({ at }) => at < from).at(-1)?.number ?? 0;
      return [{ at: from, number: before }, ...steps.filter(({ at }) => at >= from && at <= to)];
    }
    const strips = Math.floor((area.right - area.left) / STRIP);
    const sums = Array(strips).fill(0);
    for (const wait of waits) shareOut(sums, wait.began, wait.acquired);
    return sums.map((sum, at) => ({ at: from + (at * (to - from)) / strips, number: (sum * strips) / (to - from) }));
  }

  function drawQueue(svg, many, bins) {
    const steps = queueInSight(many, bins);
    const top = Math.max(1, ...steps.map(({ number }) => number));
    const y = (number) => (TOP + QUEUE - (QUEUE - 6) * (number / top)).toFixed(1);
    const line = steps.map(({ at, number }) => `H${x(at).toFixed(1)}V${y(number)}`).join("");
    const path = `M${area.left} ${y(0)}${line}H${area.right}V${y(0)}Z`;
    svg.append(
      drawn("path", { class: "queue", d: path }),
      written(area.left - 10, TOP + QUEUE / 2 + 4, `≤ ${three.format(top)} waiting`, "end"),
    );
  }

  /** Adds the time from `begin` to `end` to the strips that it lies in. */
  function shareOut(sums, begin, end) {
    const each = (to - from) / sums.length;
    const first = Math.max(0, Math.floor((begin - from) / each));
    for (let at = first; at < sums.length && from + at * each < end; at++) {
      sums[at] += Math.max(0, Math.min(end, from + (at + 1) * each) - Math.max(begin, from + at * each));
    }
  }

  /** A span on a thread's row, unless the pixel has one of its kind already. */
  function span(svg, seen, wait, kind, begin, end, top) {
    if (end < from || begin > to) return;
    const [left, right] = [Math.max(area.left, x(begin)), Math.min(area.right, x(end))];
    const key = `${top} ${kind}`;
    if (right - left < 1 && left - (seen.get(key) ?? -9) < 1) return;
    seen.set(key, left);
    const [height, y] = kind === "hold" ? [ROW - 6, top + 2] : [ROW - 10, top + 4];
    const box = drawn("rect", {
      class: `${kind}${wait === chosen ? " chosen" : ""}`,
      x: left,
      y,
      width: Math.max(1, right - left),
      height,
      rx: right - left > 4 ? 2 : 0,
    });
    box.wait = wait;
    svg.append(box);
  }

  function draw() {
    const width = Math.max(chart.clientWidth, 240);
    area = { left: width < 600 ? 92 : 130, right: width - 10 };
    const rows = TOP + QUEUE + 8;
    const height = rows + lanes.length * ROW + 26;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    const place = new Map(lanes.map((thread, row) => [thread, rows + row * ROW]));
    for (const [thread, top] of place) {
      svg.append(
        drawn("rect", {
          class: "lane",
          x: area.left,
          y: top + 1,
          width: area.right - area.left,
          height: ROW - 4,
          rx: 3,
        }),
      );
      svg.append(written(area.left - 10, top + 13, fitting(threadName(thread), area.left - 16), "end", "name"));
    }
    const inSight = waits.filter((wait) => Math.max(wait.acquired, wait.released) >= from && wait.began <= to);
    const bins = binsInSight();
    if (waits.length) drawQueue(svg, inSight.length > SINGLY, bins);
    if (bins) return drawBins(svg, bins, place, height);
    if (inSight.length > SINGLY) return drawShares(svg, inSight, place, height);
    const seen = new Map();
    for (const wait of inSight) {
      const top = place.get(wait.thread);
      if (top === undefined) continue;
      if (wait.released >= 0) span(svg, seen, wait, "hold", wait.acquired, wait.released, top);
      span(svg, seen, wait, wait.gaveUp ? "gave-up" : "wait", wait.began, wait.acquired, top);
    }
    return finish(svg, height);
  }

  /** From afar: in each strip of a row, as high as the share of its time that the thread held (below) and waited. */
  function drawShares(svg, inSight, place, height) {
    const strips = Math.floor((area.right - area.left) / STRIP);
    const each = (to - from) / strips;
    const rows = new Map(
      [...place.keys()].map((thread) => [thread, { wait: Array(strips).fill(0), hold: Array(strips).fill(0) }]),
    );
    for (const wait of inSight) {
      const row = rows.get(wait.thread);
      if (!row) continue;
      shareOut(row.wait, wait.began, wait.acquired);
      if (wait.released >= 0) shareOut(row.hold, wait.acquired, wait.released);
    }
    for (const [thread, { wait, hold }] of rows) {
      const strip = (_, at) => ({ left: area.left + at * STRIP, hold: hold[at] / each, wait: wait[at] / each });
      drawStrips(svg, place.get(thread), Array.from({ length: strips }, strip), STRIP);
    }
    return finish(svg, height);
  }

  /** The same of the sums over all waits. */
  function drawBins(svg, bins, place, height) {
    for (const row of afar.rows) {
      const strip = (bin) => ({ left: x(binAt(bin)), hold: levelOf(row.hold, bin), wait: levelOf(row.wait, bin) });
      drawStrips(svg, place.get(row.thread), bins.map(strip), x(from + afar.bin_ns) - area.left);
    }
    return finish(svg, height);
  }

  /** A row of strips: from its bottom the share held, above it the share waited. */
  function drawStrips(svg, top, strips, wide) {
    const bottom = top + ROW - 3;
    const paths = { hold: "", wait: "" };
    for (const { left, hold, wait } of strips) {
      const [begin, width] = [left.toFixed(1), Math.min(wide, area.right - left).toFixed(2)];
      const high = ((ROW - 5) * Math.min(1, hold)).toFixed(1);
      const more = ((ROW - 5) * Math.max(0, Math.min(wait, 1 - Math.min(1, hold)))).toFixed(1);
      if (hold > 0) paths.hold += `M${begin} ${bottom}v-${high}h${width}v${high}z`;
      if (wait > 0) paths.wait += `M${begin} ${bottom - high}v-${more}h${width}v${more}z`;
    }
    svg.append(drawn("path", { class: "hold", d: paths.hold }), drawn("path", { class: "wait", d: paths.wait }));
  }

  function finish(svg, height) {
    const width = area.right + 10;
    for (const tick of ticks(from, to, width / 140))
      svg.append(below(x(tick), height - 8, briefly(Math.round(tick)), width));
    if (drag)
      svg.append(
        drawn("rect", {
          class: "range",
          x: Math.min(drag.start, drag.end),
          y: 0,
          width: Math.abs(drag.end - drag.start),
          height,
        }),
      );
    chart.replaceChildren(svg);
  }

  function words(wait) {
    const who = view.threads[wait.thread];
    const holder =
      wait.holder < 0
        ? "the holder was not seen"
        : `held by ${view.threads[wait.holder].name} ${view.threads[wait.holder].tid}, which took it in ${said(wait.holderSite)}`;
    if (!view.recorded && !view.live) {
      const waker =
        wait.holder < 0
          ? "its waker was not seen"
          : `woken by ${view.threads[wait.holder].name} ${view.threads[wait.holder].tid} in ${said(wait.holderSite)}`;
      return [
        `${who.name} ${who.tid} waited ${time(wait.acquired - wait.began)} at ${time(wait.began)}`,
        `in ${said(wait.site)}; ${wait.gaveUp ? "not woken: timed out, interrupted, or still waiting" : waker}.`,
      ];
    }
    const end = wait.gaveUp
      ? "then gave up"
      : wait.released < 0
        ? "then held it; its release was not seen"
        : `then held it for ${time(wait.released - wait.acquired)}`;
    return [
      `${who.name} ${who.tid} waited ${time(wait.acquired - wait.began)} at ${time(wait.began)}`,
      `in ${said(wait.site)}; ${holder}; ${end}.`,
    ];
  }

  function range(low, high) {
    const length = Math.max(Math.min(high - low, whole[1] - whole[0]), 100);
    from = Math.max(whole[0], Math.min(low, whole[1] - length));
    to = from + length;
    const part =
      length < whole[1] - whole[0]
        ? `${time(length)} of ${time(whole[1] - whole[0])}, from ${time(Math.round(from))}`
        : "all";
    byId("timeline-range").textContent = `Shown: ${part}`;
    draw();
  }

  const zoom = (factor, around = (from + to) / 2) =>
    range(around - (around - from) * factor, around + (to - around) * factor);
  const move = (part) => range(from + (to - from) * part, to + (to - from) * part);

  function choose(wait) {
    if (!wait) return;
    chosen = wait;
    if (wait.began < from || wait.acquired > to)
      range(wait.began - (to - from) / 3, wait.began + (2 * (to - from)) / 3);
    else draw();
    byId("timeline-shown").textContent = words(wait).join(" ");
  }

  const shown = () => waits.filter((wait) => lanes.includes(wait.thread));
  const beside = (by) => {
    const all = shown();
    return all[
      chosen
        ? Math.max(0, Math.min(all.length - 1, all.indexOf(chosen) + by))
        : Math.max(
            0,
            all.findIndex((wait) => wait.began >= from),
          )
    ];
  };
  const KEYS = {
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    0: () => range(...whole),
    Home: () => range(...whole),
    ArrowLeft: () => move(-0.25),
    ArrowRight: () => move(0.25),
    n: () => choose(beside(1)),
    p: () => choose(beside(-1)),
  };

  chart.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  const at = (event) => Math.max(area.left, Math.min(area.right, event.clientX - chart.getBoundingClientRect().left));
  chart.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType !== "touch")
      drag = { start: at(event), end: at(event), wait: event.target.wait };
  });
  chart.addEventListener("pointermove", (event) => {
    if (drag) {
      drag.end = at(event);
      hush();
      return draw();
    }
    const { wait } = event.target;
    if (!wait) return hush();
    const [what, more] = words(wait);
    return tell(event.clientX, event.clientY, element("b", {}, what), more);
  });
  addEventListener("pointerup", () => {
    if (!drag) return;
    const { start, end, wait } = drag;
    drag = null;
    if (Math.abs(end - start) > 4) range(...[timeAt(start), timeAt(end)].sort((a, b) => a - b));
    else choose(wait) ?? draw();
  });
  chart.addEventListener("pointerleave", hush);
  chart.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.7 : 1.43, timeAt(at(event)));
    },
    { passive: false },
  );
  byId("zoom-in").addEventListener("click", () => zoom(0.5));
  byId("zoom-out").addEventListener("click", () => zoom(2));
  byId("zoom-all").addEventListener("click", () => range(...whole));

  showLock = (place) => {
    if (!closely.some((one) => one.place === place)) return false;
    picked.value = String(place);
    load(place);
    drawHistograms(view.locks[place]);
    return true;
  };
  picked.addEventListener("change", () => showLock(Number(picked.value)));
  whenResized(chart, draw);
  showLock(closely[0].place);
  const histograms = () => drawHistograms(view.locks[Number(picked.value)]);
  whenResized(byId("wait-histogram"), histograms);
  // The paper's width: no observer tells of it in time.
  for (const event of ["beforeprint", "afterprint"]) addEventListener(event, histograms);
})();
