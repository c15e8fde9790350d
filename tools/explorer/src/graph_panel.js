// The control-flow graph, laid out by dagre.

import { Graph, layout } from "../vendor/dagre.esm.js";
import { el, hex, num, svg } from "./dom.js";

const MOST = 160;

/** The blocks to draw: all that can be reached, or those nearest to one. */
function chosen(section, around) {
  const preds = section.preds();
  if (section.blocks.length <= MOST) {
    const seen = new Set();
    const work = section.functions.map((f) => section.instructions[f.start].block);
    while (work.length) {
      const b = work.pop();
      if (!seen.has(b)) seen.add(b), work.push(...section.blocks[b].edges.map(([s]) => s));
    }
    return seen;
  }
  const seen = new Set([around]);
  const work = [around];
  while (work.length && seen.size < MOST) {
    const b = work.shift();
    for (const n of [...section.blocks[b].edges.map(([s]) => s), ...preds[b]]) {
      if (seen.size < MOST && !seen.has(n)) seen.add(n), work.push(n);
    }
  }
  return seen;
}

/** A smooth path through the points of an edge. */
function curve(points) {
  const at = (p) => `${p.x.toFixed(1)},${p.y.toFixed(1)}`;
  const last = points.length - 1;
  let d = `M${at(points[0])}`;
  for (let k = 1; k < last; k++) {
    const end = k === last - 1 ? points[last] : { x: (points[k].x + points[k + 1].x) / 2, y: (points[k].y + points[k + 1].y) / 2 };
    d += `Q${at(points[k])} ${at(end)}`;
  }
  return last < 2 ? `${d}L${at(points[last])}` : d;
}

/** A jump of a block to itself, at its right side. */
function loopCurve(n) {
  const [x, low, high] = [n.x + n.width / 2, n.y + n.height * 0.3, n.y - n.height * 0.3];
  return `M${x},${low}C${x + 22},${low} ${x + 22},${high} ${x},${high}`;
}

/** The sign of a branch that splits warps. */
function fork(x, y) {
  return `M${x},${y - 5}V${y}M${x},${y}L${x - 4},${y + 5}M${x},${y}L${x + 4},${y + 5}`;
}

export function graphPanel(app) {
  const view = el("div", { class: "graph", role: "group", "aria-label": "Control-flow graph" });
  let drawn = null;
  let scale = 1;

  function weight(section, b) {
    let waited = 0;
    for (let i = b.start; i < b.end; i++) waited += section.instructions[i].total;
    return waited;
  }

  function draw() {
    const section = app.section;
    const key = section.blocks.length <= MOST ? section : `${section.name}:${app.block}`;
    if (drawn === key) return mark();
    drawn = key;
    const ids = chosen(section, Math.max(0, app.block));
    const g = new Graph();
    g.setGraph({ ranksep: 26, nodesep: 22, marginx: 8, marginy: 8 });
    g.setDefaultEdgeLabel(() => ({}));
    for (const id of ids) {
      const b = section.blocks[id];
      const lines = Math.min(b.end - b.start, 4);
      g.setNode(String(id), { width: 216, height: 34 + 13 * lines });
    }
    for (const id of ids) for (const [s] of section.blocks[id].edges) if (ids.has(s)) g.setEdge(String(id), String(s));
    layout(g);
    const xs = g.edges().flatMap((e) => g.edge(e).points.map((p) => p.x));
    const left = Math.min(0, ...xs.map((x) => x - 8));
    const width = Math.max(g.graph().width, ...xs.map((x) => x + 8)) - left;
    const { height } = g.graph();
    const most = Math.max(1, ...section.blocks.map((b) => weight(section, b)));
    const edges = [];
    for (const e of g.edges()) {
      const from = section.blocks[e.v];
      const kind = from.edges.find(([s]) => s === Number(e.w))?.[1] || "fall";
      const back = section.blocks[e.w].start <= from.start;
      const d = e.v === e.w ? loopCurve(g.node(e.v)) : curve(g.edge(e).points);
      edges.push(svg("path", { d, class: `edge ${kind}${back ? " back" : ""}`, "marker-end": "url(#arrow)" }));
    }
    const nodes = [];
    for (const id of ids) {
      const b = section.blocks[id];
      const n = g.node(String(id));
      const x = n.x - n.width / 2;
      const y = n.y - n.height / 2;
      const waited = weight(section, b);
      const why = section.splits.get(b.end - 1);
      const [came, split] = section.instructions[b.end - 1].splits || [0, 0];
      const splits = came ? split > 0 : why !== undefined;
      const text = [];
      for (let k = 0; k < Math.min(b.end - b.start, 4); k++) {
        const i = b.end - b.start > 4 && k === 3 ? b.end - 1 : b.start + k;
        const dots = b.end - b.start > 4 && k === 2;
        text.push(svg("text", { x: x + 8, y: y + 32 + 13 * k, class: "small" }, dots ? `… ${b.end - b.start - 3} more` : section.instructions[i].text.slice(0, 33)));
      }
      nodes.push(
        svg("g", { class: `node d${Math.min(3, section.depth[b.start])}`, "data-block": id, onclick: () => app.chooseBlock(id), tabindex: 0, role: "button",
          "aria-label": `block ${section.blockName(id)}, ${b.end - b.start} instructions`, onkeydown: (e) => e.key === "Enter" && app.chooseBlock(id) },
        svg("title", {}, `${section.blockName(id)}: 0x${hex(section.instructions[b.start].address)}, ${b.end - b.start} instructions, ${num(Math.round(waited))} cycles waited in a pass${why ? `\nthe condition of its branch depends on ${why}` : ""}${came ? `\nin the run it split ${num(split)} of ${num(came)} warps that came there` : ""}`),
        svg("rect", { x, y, width: n.width, height: n.height, rx: 5 }),
        svg("rect", { x: x + 1, y: y + n.height - 4, width: ((n.width - 2) * waited) / most, height: 3, class: "heat" }),
        svg("text", { x: x + 8, y: y + 16, class: "name" }, `${section.blockName(id)}  ${hex(section.instructions[b.start].address)}`),
        svg("text", { x: x + n.width - 8, y: y + 16, class: "right" }, `${num(b.end - b.start)} inst`), ...(splits ? [svg("path", { class: "splits", d: fork(x + n.width - 12, y + n.height - 14) })] : []), ...text)
      );
    }
    const picture = svg("svg", { width: width * scale, height: height * scale, viewBox: `${left} 0 ${width} ${height}` },
      svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0,0L8,4L0,8z", class: "head" }))),
      ...edges, ...nodes);
    const canvas = el("div", { class: "canvas", tabindex: "0" }, picture);
    const zoom = (to) => {
      scale = Math.max(0.25, Math.min(2, to));
      picture.setAttribute("width", width * scale);
      picture.setAttribute("height", height * scale);
    };
    const note = section.blocks.length > MOST ? `${ids.size} of ${section.blocks.length} blocks, around ${section.blockName(Math.max(0, app.block))}` : `${ids.size} block${ids.size > 1 ? "s" : ""}`;
    view.replaceChildren(
      el("div", { class: "bar" }, el("span", { class: "faint" }, note), " ",
        el("button", { class: "small", "aria-label": "smaller", onclick: () => zoom(scale * 0.8) }, "−"),
        el("button", { class: "small", "aria-label": "larger", onclick: () => zoom(scale * 1.25) }, "+"),
        el("button", { class: "small", title: "As large as the panel holds it whole", onclick: () => zoom(Math.min((canvas.clientWidth - 12) / width, (canvas.clientHeight - 12) / height)) }, "fit"),
        el("span", { class: "legend" }, el("i", { class: "key d1" }), "loop ", el("i", { class: "key d2" }), "inner loop ", el("i", { class: "key heat" }), "cycles waited ", svg("svg", { width: 14, height: 12, class: "keyfork" }, svg("path", { class: "splits", d: fork(7, 6) })), "splits warps")),
      canvas);
    mark();
    follow();
  }

  /** Bring the block of the chosen instruction into sight. */
  function follow() {
    const i = [...app.pinned.sass].find(([, k]) => /hit|def/.test(k))?.[0];
    const node = i === undefined ? null : view.querySelector(`.node[data-block="${app.section.instructions[i].block}"]`);
    const canvas = view.querySelector(".canvas");
    if (!node || !canvas) return;
    const [a, b] = [node.getBoundingClientRect(), canvas.getBoundingClientRect()];
    if (a.top < b.top || a.bottom > b.bottom || a.left < b.left || a.right > b.right) canvas.scrollBy(a.left + a.width / 2 - b.left - b.width / 2, a.top + a.height / 2 - b.top - b.height / 2);
  }

  function mark() {
    const hot = new Set();
    if (app.side === "a") for (const m of [app.hovered, app.pinned]) for (const [i, kind] of m.sass) if (kind === "hit") hot.add(app.section.instructions[i]?.block);
    for (const g of view.querySelectorAll(".node")) {
      const id = Number(g.dataset.block);
      g.classList.toggle("on", id === app.block);
      g.classList.toggle("hot", hot.has(id));
    }
  }
  return { id: "graph", title: "CFG", element: view, draw, mark, follow };
}
