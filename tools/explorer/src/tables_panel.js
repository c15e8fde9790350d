// The panels that are tables: remarks, occupancy, memory, waits, comparison.

import { causeClass, el, hex, num, operation } from "./dom.js";

function table(heads, rows, name = "") {
  return el("table", { class: name }, el("thead", {}, el("tr", {}, ...heads.map((h) => (h ? el("th", { scope: "col" }, h) : el("td"))))), el("tbody", {}, ...rows));
}

function goes(action) {
  return { class: "go", tabindex: 0, onclick: action, onkeydown: (e) => e.key === "Enter" && action() };
}

export function remarksPanel(app) {
  const view = el("div", { class: "pad" });
  let only = "";
  function draw() {
    const here = new Set(app.section.functions.map((f) => f.name));
    const all = app.doc.remarks.filter((r) => here.has(r.function));
    const count = new Map();
    for (const r of all) count.set(r.kind, (count.get(r.kind) || 0) + 1);
    const shown = all.filter((r) => !only || r.kind === only);
    view.replaceChildren(
      el("div", { class: "bar", role: "group", "aria-label": "Kinds" },
        el("button", { class: "chip", "aria-pressed": !only, onclick: () => ((only = ""), draw()) }, `all ${all.length}`),
        ...[...count].map(([k, n]) => el("button", { class: "chip", title: app.doc.data.kinds[k], "aria-pressed": only === k, onclick: () => ((only = k), draw()) }, el("i", { class: `kind-${k}` }, "● "), `${k} ${n}`))),
      all.length ? table(["lines", "kind", "what and why", "phase"], grouped(shown).slice(0, 1000).map(([r, lines]) =>
        el("tr", goes(() => r.line && app.pin({ kind: "ptx", line: r.line }, "")),
          el("td", { class: "lines" }, lineLinks(app, lines)), el("td", {}, el("i", { class: `kind-${r.kind}` }, "● "), r.kind), el("td", { class: "wide" }, r.text),
          el("td", { class: "faint" }, el("button", { class: "link", onclick: (e) => (e.stopPropagation(), app.showPhaseNamed(r.phase)) }, r.phase))))) : el("p", { class: "faint" }, "No remarks: the file is a finished cubin, or there was nothing to decide."));
  }
  return { id: "remarks", title: "Remarks", element: view, draw };
}

export function occupancyPanel(app) {
  const view = el("div", { class: "pad cols" });
  function bars(rows, key, most, on) {
    return table([key, "warps", "", "blocks", "limited by"], rows.map((r) =>
      el("tr", { class: on(r) ? "on" : "" }, el("td", { class: "n" }, num(r[key])), el("td", { class: "n" }, r.warps),
        el("td", {}, el("span", { class: "meter" }, el("b", { style: `width:${((100 * r.warps) / most).toFixed(1)}%` }))), el("td", { class: "n" }, r.blocks), el("td", {}, r.limit))));
  }
  function draw() {
    const s = app.section;
    const o = s.occupancy;
    const share = Math.round((100 * o.warps) / o.most_warps);
    view.replaceChildren(
      el("div", {}, el("p", {}, el("strong", {}, `${o.warps} of ${o.most_warps} warps (${share} %)`), ` with blocks of ${num(s.threads)} threads${s.stated_threads ? "" : " (assumed: the kernel states none)"}, limited by `, el("strong", {}, o.limit), "."),
        el("p", {}, `${s.registers} registers a thread, ${num(s.shared)} bytes of static shared memory. `,
          o.next ? `With ${o.next.registers} registers (${s.registers - o.next.registers} fewer) ${o.next.warps} warps fit, limited by ${o.next.limit}.` : "Fewer registers give no more warps."),
        el("p", { class: "faint" }, "Dynamic shared memory is not counted: the launch decides it.")),
      el("div", {}, el("h2", {}, "For other register counts"), bars(o.by_registers, "registers", o.most_warps, (r) => r.registers === s.registers)),
      el("div", {}, el("h2", {}, "For other block sizes"), bars(o.by_threads, "threads", o.most_warps, (r) => r.threads === s.threads)));
  }
  return { id: "occupancy", title: "Occupancy", element: view, draw };
}

/** Units of a warp's access: of the run where there is one, else the estimate. */
function takes(side) {
  return side.runs ? side.runs.takes : side.takes;
}

function poor(side) {
  return takes(side) > 1.25 * side.least;
}

function accessRow(app, m, side, first) {
  const s = app.section;
  const row = s.instructions[m.instruction];
  const n = takes(side);
  const over = poor(side);
  const estimate = side.takes ?? "?";
  return el("tr", goes(() => app.pin({ kind: "sass", index: m.instruction }, "")), el("td", { class: "code" }, first ? hex(row.address) : ""), el("td", { class: "n" }, (first && row.line) || ""),
    el("td", {}, side.space || m.space), el("td", {}, first ? m.kind : ""), el("td", { class: "n" }, first ? m.bytes ?? "bulk" : ""),
    el("td", { class: `n${over ? " bad" : ""}`, title: side.unit ? `${side.unit} of a warp's access, and the least for as much data` : undefined }, side.unit ? `${n ?? "?"} of ${side.least}` : ""),
    el("td", {}, side.unit ? el("span", { class: "meter short" }, n ? el("b", { class: over ? "over" : "", style: `width:${Math.min(100, (100 * side.least) / n).toFixed(0)}%` }) : null) : null),
    s.run ? el("td", { class: "n", title: side.runs ? `estimate: ${estimate}` : undefined }, row.executed ? num(row.executed) : "0") : null,
    el("td", { class: "shape" }, side.shape || (m.bytes === null ? "the program decides the size" : "")), el("td", { class: "code" }, first ? row.text.slice(0, 40) : ""));
}

const MOST = 500;
const MOST_LINES = 16;

export function memoryPanel(app) {
  const view = el("div", { class: "pad cols two" });
  let only = false;
  function draw() {
    const s = app.section;
    const sum = new Map();
    for (const m of s.memory) {
      const key = `${m.space}|${m.kind}|${m.bytes ?? "bulk"}`;
      sum.set(key, (sum.get(key) || 0) + 1);
    }
    const spills = app.doc.remarks.filter((r) => (r.kind === "spilled" || r.kind === "rematerialised" || r.kind === "moved") && s.functions.some((f) => f.name === r.function));
    const local = s.memory.filter((m) => m.space === "local");
    const bad = s.memory.filter((m) => m.sides.some(poor));
    const shown = only ? bad : s.memory;
    const rows = shown.slice(0, MOST).flatMap((m) => (m.sides.length ? m.sides : [{}]).map((side, k) => accessRow(app, m, side, k === 0)));
    view.replaceChildren(
      el("div", { class: "narrow" },
        local.length || spills.length ? el("h2", {}, local.length ? `Spills: ${local.length} accesses of local memory` : "Values made again or later") : null,
        local.length && s.spill_loads !== undefined ? el("p", {}, `${num(s.spill_stores)} bytes stored, ${num(s.spill_loads)} loaded, ${num(s.stack)} of stack.`) : null,
        spills.length ? table(["lines", "kind", "value and reason"], grouped(spills).slice(0, 100).map(([r, lines]) => el("tr", goes(() => r.line && app.pin({ kind: "ptx", line: r.line }, "")), el("td", { class: "lines" }, lineLinks(app, lines)), el("td", {}, r.kind), el("td", { class: "wide" }, r.text)))) : null,
        el("h2", {}, "By width"), table(["space", "kind", "bytes", "count"],
        [...sum].sort().map(([key, n]) => el("tr", {}, ...key.split("|").map((x, k) => el("td", { class: k === 2 ? "n" : "" }, x)), el("td", { class: "n" }, n)))),
        el("p", { class: "faint" }, "Bytes a thread; 16 are the widest.")),
      el("div", { class: "rest" },
        el("div", { class: "bar" }, el("h2", {}, s.run ? `Accesses, in a run of ${num(s.run.warps)} warps` : "Accesses of a warp, estimated"),
          el("button", { class: "chip", "aria-pressed": !only, onclick: () => ((only = false), draw()) }, `all ${s.memory.length}`),
          el("button", { class: "chip", "aria-pressed": only, title: "accesses that take more than they need", onclick: () => ((only = true), draw()) }, `poor ${bad.length}`),
          el("span", { class: "faint" }, "sectors of 32 bytes, or turns of the shared-memory banks, of the least for as much data")),
        shown.length > MOST ? el("p", { class: "faint" }, `The first ${num(MOST)} of ${num(shown.length)}.`) : null,
        shown.length ? table(["address", "line", "space", "kind", "bytes", "takes", "", ...(s.run ? ["executed"] : []), "addresses of the threads", "instruction"], rows) : el("p", { class: "faint" }, "None.")));
  }
  return { id: "memory", title: "Memory", element: view, draw };
}

/** Remarks that say the same, once with all their lines: [first remark, lines]. */
function grouped(remarks) {
  const by = new Map();
  for (const r of remarks) {
    const key = `${r.kind}|${r.text}|${r.phase}`;
    if (by.has(key)) by.get(key)[1].push(r.line);
    else by.set(key, [r, [r.line]]);
  }
  return [...by.values()].map(([r, lines]) => [r, [...new Set(lines)].filter(Boolean).sort((a, b) => a - b)]);
}

/** The numbers of PTX lines, each of which goes to its line; the first few of many. */
function lineLinks(app, lines) {
  const out = lines.slice(0, MOST_LINES).map((n) => [el("button", { class: "link", onclick: (e) => (e.stopPropagation(), app.pin({ kind: "ptx", line: n }, "")) }, n), " "]);
  return [...out.flat(), lines.length > MOST_LINES ? el("span", { class: "faint" }, `and ${num(lines.length - MOST_LINES)} more`) : null];
}

const ADVICE_MARK = { registers: "registers", spills: "spilled", occupancy: "registers", waits: "moved", divergence: "not-unrolled", coalescing: "spilled", banks: "spilled" };
const ADVICE_PANEL = { registers: "pressure", spills: "memory", occupancy: "occupancy", waits: "waits", divergence: "graph", coalescing: "memory", banks: "memory" };

export function advicePanel(app) {
  const view = el("div", { class: "pad" });
  function draw() {
    const s = app.section;
    const kinds = app.doc.data.advice_kinds;
    view.replaceChildren(
      table(["about", "what the code shows", "line", "panel"], s.advice.map((a) =>
        el("tr", goes(() => (a.instruction >= 0 ? app.pin({ kind: "sass", index: a.instruction }, "") : app.showTab(ADVICE_PANEL[a.kind]))),
          el("td", { title: kinds[a.kind] }, el("i", { class: `kind-${ADVICE_MARK[a.kind]}` }, "● "), a.kind), el("td", { class: "wide" }, a.text), el("td", { class: "n" }, a.line || ""),
          el("td", {}, el("button", { class: "link", onclick: (e) => (e.stopPropagation(), app.showTab(ADVICE_PANEL[a.kind])) }, app.panels.find((p) => p.id === ADVICE_PANEL[a.kind]).title))))),
      el("p", { class: "faint wide" }, s.run ? `Sectors and bank turns are those of a run of ${num(s.run.warps)} warps in the simulator; ` : "Sectors and bank turns are estimates for the first warp of a block; ", "cycles are those of a model of the SM, not of a GPU."));
  }
  return { id: "advice", title: "Advice", element: view, draw };
}

export function waitsPanel(app) {
  const view = el("div", { class: "pad" });
  function draw() {
    const s = app.section;
    const weight = (i) => 10 ** s.depth[i];
    const rows = s.instructions.filter((r) => r.total).map((r) => [r, r.total * weight(r.index)]).sort((a, b) => b[1] - a[1]);
    const sum = rows.reduce((a, [, w]) => a + w, 0) || 1;
    view.replaceChildren(
      el("p", { class: "faint wide" }, `Cycles that one warp waits before an instruction in a turn of its loop, data beyond the first cache; the share counts a loop as ten turns. By a model of the SM, not a GPU.`, s.guessed.length ? el("span", { title: s.guessed.join(", ") }, ` ${s.guessed.length} of its numbers for ${s.target} are guesses.`) : null),
      table(["share", "cycles", "", "address", "instruction", "why", "waits for"], rows.slice(0, 300).map(([r, w]) =>
        el("tr", goes(() => app.pin({ kind: "sass", index: r.index }, "")), el("td", { class: "n" }, `${((100 * w) / sum).toFixed(1)} %`), el("td", { class: "n" }, num(r.total)),
          el("td", {}, el("span", { class: "lost wide" }, ...Object.entries(r.waited).map(([k, v]) => el("b", { class: causeClass(k), style: `width:${Math.max(1, (v / s.longest) * 90).toFixed(1)}px` })))),
          el("td", { class: "code" }, hex(r.address)), el("td", { class: "code" }, r.text.slice(0, 64)), el("td", {}, Object.keys(r.waited).join(", ")),
          el("td", { class: "code waitsfor" }, r.waited.barrier && r.index ? `${hex(s.instructions[r.index - 1].address)} ${operation(s.instructions[r.index - 1].text)} ` : "", r.waits_for.slice(0, 3).map(([sb, i]) => `SB${sb} ${hex(s.instructions[i].address)} ${operation(s.instructions[i].text)}`).join(", "))))));
  }
  return { id: "waits", title: "Waits", element: view, draw };
}

export function comparePanel(app) {
  const view = el("div", { class: "pad" });
  function draw() {
    const rows = app.comparison();
    view.replaceChildren(
      table(["", app.doc.label, app.docB.label, "second over first"], rows.map(([name, a, b]) =>
        el("tr", {}, el("td", {}, name), el("td", { class: "n" }, typeof a === "number" ? num(a) : a), el("td", { class: "n" }, typeof b === "number" ? num(b) : b),
          el("td", { class: "n" }, typeof a === "number" && typeof b === "number" && a ? (b / a).toFixed(3) : "")))));
  }
  return { id: "compare", title: "Compare", element: view, draw };
}
