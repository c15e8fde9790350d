// Live ranges: one row a register, one stretch for each time that it holds a value.

import { colour, el, hex } from "./dom.js";
import { plot } from "./plot.js";

const HEIGHT = 9;

export function rangesPanel(app) {
  let names = [];
  const order = { R: 0, UR: 1, P: 2, UP: 3, B: 4 };
  const picture = plot(app, "Live ranges of registers", (c, w, h, x, left) => {
    const s = app.section;
    c.textAlign = "right";
    names.forEach((name, k) => {
      const flat = s.ranges[name];
      const y = 4 + k * HEIGHT;
      const kind = name.match(/^[A-Z]+/)[0];
      c.fillStyle = app.focus?.kind === "register" && app.focus.name === name ? colour("--hit-strong") : colour(kind === "R" ? "--accent" : kind === "UR" ? "--accent2" : "--accent3");
      for (let j = 0; j < flat.length; j += 2) c.fillRect(x(flat[j]), y, Math.max(1, x(flat[j + 1]) - x(flat[j]) - 0.6), HEIGHT - 2);
      c.fillStyle = colour("--faint");
      c.font = "9px ui-monospace, monospace";
      c.fillText(name, left - 5, y + HEIGHT - 2);
    });
  }, (i, y, click) => {
    const name = names[Math.floor((y - 4) / HEIGHT)];
    if (!name) return false;
    const range = app.section.rangeOf(name, i);
    if (!click) return `${name} at ${hex(app.section.instructions[i].address)}${range ? `: ${range[1] - range[0]} instructions` : ": free"}`;
    if (!range) return false;
    let at = i;
    while (at > range[0] && !app.section.instructions[at].writes.includes(name) && !app.section.instructions[at].reads.includes(name)) at--;
    app.pin({ kind: "register", name, index: at }, "");
    return true;
  });
  const scroll = el("div", { class: "scroll" }, picture.element);
  function draw() {
    const s = app.section;
    names = Object.keys(s.ranges).sort((a, b) => order[a.match(/^[A-Z]+/)[0]] - order[b.match(/^[A-Z]+/)[0]] || parseInt(a.match(/\d+/)[0]) - parseInt(b.match(/\d+/)[0]));
    picture.element.style.height = `${names.length * HEIGHT + 24}px`;
    picture.draw();
  }
  return { id: "ranges", title: "Live ranges", element: scroll, draw, mark: () => picture.draw() };
}
