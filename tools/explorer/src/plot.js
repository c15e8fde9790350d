// Plots over the instructions of a section: one canvas, with the chosen and the marked instructions.

import { colour, el } from "./dom.js";

/** `paint(c, width, height, x)` draws; `x(i)` is the place of instruction i. */
export function plot(app, label, paint, onMove) {
  const canvas = el("canvas", { class: "plot", tabindex: "0", role: "img", "aria-label": label });
  const box = el("div", { class: "plotbox" }, canvas);
  const left = 46;
  const right = 96;
  let width = 0;
  let height = 0;
  const x = (i) => left + (i / Math.max(1, app.section.count)) * (width - left - right);
  const at = (e) => {
    const r = canvas.getBoundingClientRect();
    const i = Math.floor(((e.clientX - r.left - left) / (width - left - right)) * app.section.count);
    return [Math.max(0, Math.min(app.section.count - 1, i)), e.clientY - r.top];
  };
  canvas.addEventListener("click", (e) => onMove?.(...at(e), true) || app.pin({ kind: "sass", index: at(e)[0] }, ""));
  canvas.addEventListener("mousemove", (e) => {
    const [i, y] = at(e);
    canvas.title = onMove?.(i, y, false) || "";
  });

  function draw() {
    width = box.clientWidth;
    height = box.clientHeight;
    if (!width || !height) return;
    const dpr = devicePixelRatio || 1;
    canvas.width = width * dpr;
    canvas.height = height * dpr;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const c = canvas.getContext("2d");
    c.scale(dpr, dpr);
    c.font = "11px system-ui, sans-serif";
    const loops = app.section.loops;
    for (const r of loops) {
      c.fillStyle = colour(`--loop${Math.min(3, r.depth)}`);
      c.fillRect(x(r.start), 0, Math.max(1, x(r.end) - x(r.start)), height - 16);
    }
    paint(c, width, height, x, left, right);
    for (const [marks, strong] of [[app.hovered, false], [app.pinned, true]]) {
      for (const [i, kind] of marks.sass) {
        if (!/hit|def|use/.test(kind)) continue;
        c.fillStyle = colour(strong ? "--hit-strong" : "--kin-strong");
        c.globalAlpha = 0.55;
        c.fillRect(x(i), 0, Math.max(1.5, x(i + 1) - x(i)), height - 16);
        c.globalAlpha = 1;
      }
    }
  }
  new ResizeObserver(draw).observe(box);
  return { element: box, draw, canvas };
}
