// The page of `orias perf --html`: runs, loops with a timeline, the code with its waits; of two reports also the comparison.

import { CAUSES, causeClass, count, el, hex, num } from "./dom.js";
import { start } from "./start.js";
import { sassTokens } from "./tokens.js";

function table(heads, rows, left) {
  return el("div", { class: "wideables" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((h, k) => el("th", { scope: "col", class: left.includes(k) ? "" : "n" }, h)))), el("tbody", {}, ...rows)));
}

function cells(values, left, code = []) {
  return el("tr", {}, ...values.map((v, k) => el("td", { class: `${left.includes(k) ? "" : "n"}${code.includes(k) ? " code" : ""}` }, v)));
}

function key(waits) {
  const shown = CAUSES.filter((c) => waits.some((w) => w[c]));
  return el("p", { class: "legend" }, ...shown.map((c) => [el("i", { class: `key ${causeClass(c)}` }), `${c} `]).flat());
}

/** A bar with a part for each cause, `scale` pixels a cycle. */
function waited(w, scale) {
  return el("span", { class: "waits" }, ...CAUSES.filter((c) => (w[c] || 0) * scale >= 0.5).map((c) => el("b", { class: causeClass(c), style: `width:${(w[c] * scale).toFixed(1)}px`, title: `${c}: ${num(w[c])} cycles` })));
}

const total = (w) => Object.values(w).reduce((a, b) => a + b, 0);

function runs(r) {
  const rows = r.runs.map((x) => cells([`${x.what}, ${x.memory}`, num(x.blocks), num(x.cycles), num(x.instructions), x.per_cycle.toFixed(2), num(x.loads_under_way), num(x.load_distance), num(x.bank_bubbles), x.bound,
    waited(x.waited, 240 / Math.max(1, total(x.waited)))], [0, 8, 9]));
  return el("section", {}, el("h2", {}, "Runs"), key(r.runs.map((x) => x.waited)),
    table(["run", "blocks", "cycles", "issued", "a cycle", "loads at a wait", "load to wait", "bank bubbles", "bound by", "what warps wait for"], rows, [0, 8, 9]));
}

const place = (a) => hex(a);

function loops(r) {
  const rows = r.loops.map((x) => cells([`${place(x.address)}-${place(x.end)}`, x.depth, num(x.instructions), num(x.one_warp), num(x.one_warp_far), num(x.full_sm), x.bound], [0, 6], [0]));
  return el("section", {}, el("h2", {}, "Loops ", el("small", {}, "cycles of a turn")),
    table(["loop", "depth", "instructions", "one warp", "one warp, far", "full SM", "bound by"], rows, [0, 6]),
    ...r.loops.filter((x) => x.timeline.length).map((x, k) => el("details", { open: k === 0 }, el("summary", {}, `Two turns of ${place(x.address)}, one warp, far memory`), timeline(x.timeline))));
}

/** Each instruction on a line: the cycle in which it issues, and the time until its late result is there. */
function timeline(rows) {
  const end = Math.max(1, ...rows.map((x) => x.cycle + Math.max(x.late, 1)));
  const part = (v) => `${((100 * v) / end).toFixed(2)}%`;
  return el("div", { class: "timeline", role: "img", "aria-label": `timeline of ${num(end)} cycles` }, ...rows.map((x) =>
    el("div", { class: "trow" }, el("span", { class: "addr" }, hex(x.address)), el("span", { class: "stext" }, ...sassTokens(x.text.slice(0, 52))), el("span", { class: "cycle" }, num(x.cycle)),
      el("span", { class: "time" }, x.late ? el("b", { class: "late", style: `left:${part(x.cycle)};width:${part(x.late)}`, title: `result after ${x.late} cycles` }) : null,
        el("b", { class: "issue", style: `left:${part(x.cycle)};width:max(2px, ${part(1)})`, title: `issues in cycle ${x.cycle}` })))));
}

function code(r) {
  const most = Math.max(1, ...r.hot.map((x) => total(x.waited)));
  const rows = r.hot.map((x) => cells([hex(x.address), el("span", {}, ...sassTokens(x.text)), num(x.count), waited(x.waited, 300 / most)], [0, 1, 3], [0, 1]));
  return el("section", {}, el("h2", {}, "Code ", el("small", {}, "full SM, far memory")), key(r.hot.map((x) => x.waited)), table(["address", "instruction", "executed", "cycles that warps waited before it"], rows, [0, 1, 3]));
}

function lines(r) {
  const most = Math.max(1, ...r.lines.map((x) => x.waited));
  const rows = r.lines.map((x) => cells([x.kind, `${x.file}:${x.line}`, num(x.count), el("span", { class: "waits" }, el("b", { class: causeClass("scoreboard"), style: `width:${((300 * x.waited) / most).toFixed(1)}px`, title: `${num(x.waited)} cycles` }))], [0, 1, 3]));
  return el("section", {}, el("h2", {}, "Lines ", el("small", {}, "full SM, far memory")), table(["kind", "line", "executed", "waited"], rows, [0, 1, 3]));
}

function report(r) {
  const o = r.occupancy;
  return el("article", {}, el("h1", {}, r.kernel, " ", el("small", {}, r.sm)),
    el("p", {}, `${count(r.instructions, "instruction")}, ${count(r.registers, "register")}, ${num(r.shared_bytes)} bytes of shared memory. Blocks of ${num(r.threads)} threads: ${o.blocks} an SM, ${o.warps} of ${o.most_warps} warps, limited by ${o.limit}.`),
    ...(r.runs.length ? [runs(r)] : []), ...(r.loops.length ? [loops(r)] : []), ...(r.hot?.length ? [code(r)] : []), ...(r.lines?.length ? [lines(r)] : []),
    el("p", { class: "faint wide" }, `Cycles are those of a model, not of a GPU. Guessed for this SM: ${r.guessed.join(", ")}.`));
}

/** `data`: {reports, comparison (rows of name, first, second; empty for one report)}. */
start((root, data) => {
  const rows = data.comparison.map(([name, a, b]) => cells([name, num(a), num(b), a ? (b / a).toFixed(3) : ""], [0]));
  root.replaceChildren(...(rows.length ? [el("section", {}, el("h1", {}, "Comparison ", el("small", {}, "second over first")), table(["", "first", "second", "second over first"], rows, [0]))] : []), ...data.reports.map(report));
});
