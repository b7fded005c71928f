// ---- the flame graph: callers above, the lock at the bottom of each stack ----

(() => {
  const ROW = 21;
  const LEAST = 0.6; // narrower boxes, in pixels, are not drawn
  const chart = byId("flame-chart");
  const { flame } = view;
  byId("flame").hidden = flame.names.length === 0;
  if (flame.names.length === 0) return;

  const root = { name: "all waits", module: "", wait: 0, waits: 0, depth: 0, children: [], parent: null, lock: false };
  const nodes = flame.names.map((name, at) => ({
    name: said(name),
    module: said(flame.modules[at]),
    wait: flame.wait_ns[at],
    waits: flame.waits[at],
    lock: flame.locks[at],
    inlined: flame.inlined[at],
    children: [],
    parent: null,
    depth: 0,
  }));
  nodes.forEach((node, at) => {
    node.parent = flame.parents[at] < 0 ? root : nodes[flame.parents[at]];
    node.parent.children.push(node);
    node.depth = node.parent.depth + 1;
    if (node.parent === root) {
      root.wait += node.wait;
      root.waits += node.waits;
    }
  });
  const modules = [...new Set(nodes.filter((node) => !node.lock).map((node) => node.module))];
  // Orange is for locks; modules share the other colours.
  const palette = [0, 2, 3, 4, 5, 7];
  const fill = (node) => {
    if (node === root) return "var(--grid)";
    return node.lock ? tinted(1) : tinted(palette[modules.indexOf(node.module) % palette.length]);
  };
  let [zoomed, here, wanted] = [root, root, ""];
  const pen = document.createElement("canvas").getContext("2d");
  const wide = (text) => pen.measureText(text).width;

  const matches = (node) =>
    wanted !== "" && (node.name.toLowerCase().includes(wanted) || node.module.toLowerCase().includes(wanted));
  const ancestors = (node) => (node.parent ? [...ancestors(node.parent), node.parent] : []);

  /** The boxes in sight: `{node, x, width}`. */
  function boxes(width) {
    const above = ancestors(zoomed).map((node) => ({ node, x: 0, width }));
    const found = [...above];
    const waiting = [{ node: zoomed, x: 0, width }];
    while (waiting.length) {
      const box = waiting.pop();
      found.push(box);
      let x = box.x;
      for (const node of box.node.children) {
        const share = (box.width * node.wait) / (box.node.wait || 1);
        if (share >= LEAST) waiting.push({ node, x, width: share });
        x += share;
      }
    }
    return found;
  }

  function draw() {
    const width = Math.max(chart.clientWidth, 240);
    const shown = boxes(width);
    const height = (1 + Math.max(...shown.map(({ node }) => node.depth))) * ROW;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    pen.font = `12.5px ${getComputedStyle(chart).fontFamily}`;
    for (const { node, x, width: across } of shown) {
      const dim = node.depth < zoomed.depth || (wanted !== "" && !matches(node));
      const box = drawn("rect", {
        class: `box${dim ? " dim" : ""}${node === here ? " here" : ""}`,
        x,
        y: node.depth * ROW,
        width: across,
        height: ROW - 1,
        rx: 2,
        style: `fill:${fill(node)}`,
      });
      box.node = node;
      svg.append(box);
      const text = fittingCall(node.name, across - 9, wide);
      if (text) svg.append(written(x + 5, node.depth * ROW + 14.5, text, "start", dim ? "dim" : ""));
    }
    chart.replaceChildren(svg);
  }

  function told(node) {
    const waits = plural(node.waits, "wait", "waits");
    const part = `${time(node.wait)}, ${percent(node.wait, root.wait)} of all waiting, in ${waits}`;
    const what = node.lock
      ? `lock ${node.name}`
      : `${node.name}${node.module ? ` in ${node.module}` : ""}${node.inlined ? ", inlined" : ""}`;
    return [what, part];
  }

  function go(node) {
    here = node;
    draw();
    byId("flame-shown").textContent = told(node).join(": ");
  }

  function zoom(node) {
    zoomed = node;
    go(node);
  }

  function search(text) {
    wanted = text.trim().toLowerCase();
    // What is under a match counts once.
    const sum = (node) => (matches(node) ? node.wait : node.children.reduce((all, child) => all + sum(child), 0));
    const found = wanted === "" ? 0 : sum(root);
    byId("flame-found").textContent = wanted === "" ? "" : `${time(found)} matched, ${percent(found, root.wait)}`;
    draw();
  }

  /** Where a key leads. */
  function next(key) {
    const siblings = here.parent?.children ?? [here];
    const place = siblings.indexOf(here);
    const places = {
      ArrowDown: here.children[0],
      ArrowUp: here.parent,
      ArrowRight: siblings[place + 1],
      ArrowLeft: siblings[place - 1],
      Home: zoomed,
    };
    return places[key] ?? here;
  }

  chart.addEventListener("click", (event) => event.target.node && zoom(event.target.node));
  chart.addEventListener("pointermove", (event) => {
    const { node } = event.target;
    if (!node) return hush();
    const [what, part] = told(node);
    return tell(event.clientX, event.clientY, element("b", {}, what), part);
  });
  chart.addEventListener("pointerleave", hush);
  chart.addEventListener("keydown", (event) => {
    if (event.key === "Enter") zoom(here);
    else if (event.key === "Escape") zoom(zoomed.parent ?? root);
    else if (["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home"].includes(event.key)) go(next(event.key));
    else return;
    event.preventDefault();
  });
  byId("flame-reset").addEventListener("click", () => zoom(root));
  byId("flame-search").addEventListener("input", (event) => search(event.target.value));
  byId("flame-shown").textContent = told(root).join(": ");
  whenResized(chart, draw);
})();
