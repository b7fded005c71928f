// The contrast of each colour with the cards that it is on, as WCAG defines it; and how light these are, from 0 to 1.
(() => {
  const linear = (byte) => (byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [red, green, blue] = colour.match(/\d+/g).map(Number).map(linear);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const back = light(getComputedStyle(document.querySelector("section")).backgroundColor);
  const probe = document.createElement("i");
  document.body.append(probe);
  const rates = { back };
  for (const name of ["--ink", "--soft", "--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"]) {
    probe.style.color = `var(${name})`;
    const fore = light(getComputedStyle(probe).color);
    rates[name] = (Math.max(fore, back) + 0.05) / (Math.min(fore, back) + 0.05);
  }
  probe.remove();
  return rates;
})()
