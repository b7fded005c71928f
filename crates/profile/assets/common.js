const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 8;
const colour = (place) => `var(--c${place % COLOURS})`;

// ---- elements ----

function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const written = (x, y, text, anchor = "start", kind = "") =>
  drawn("text", { x, y, "text-anchor": anchor, class: kind }, text);

// ---- the tip at the pointer ----

const tip = byId("tip");

/** Shows it beside a point of the window, on whichever side there is room. */
function tell(x, y, ...children) {
  tip.replaceChildren(...children);
  tip.hidden = false;
  const left = x > innerWidth / 2 ? x - tip.offsetWidth - 14 : x + 14;
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - tip.offsetHeight - 4))}px`;
}

const hush = () => {
  tip.hidden = true;
};
addEventListener("scroll", hush, { passive: true });

/** Draws now and whenever the width changes. */
function whenResized(node, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (node.clientWidth === width) return;
    width = node.clientWidth;
    draw();
  }).observe(node);
}
