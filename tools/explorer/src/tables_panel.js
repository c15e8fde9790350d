// The panels that are tables: remarks, occupancy, memory, waits, comparison.

import { causeClass, el, hex, num, operation } from "./dom.js";

function table(heads, rows, name = "") {
  return el("table", { class: name }, el("thead", {}, el("tr", {}, ...heads.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, ...rows));
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
      all.length ? table(["line", "kind", "what and why", "phase"], shown.slice(0, 2000).map((r) =>
        el("tr", goes(() => r.line && app.pin({ kind: "ptx", line: r.line }, "")),
          el("td", { class: "n" }, r.line || ""), el("td", {}, el("i", { class: `kind-${r.kind}` }, "● "), r.kind), el("td", { class: "wide" }, r.text),
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
      el("div", {}, el("h3", {}, "For other register counts"), bars(o.by_registers, "registers", o.most_warps, (r) => r.registers === s.registers)),
      el("div", {}, el("h3", {}, "For other block sizes"), bars(o.by_threads, "threads", o.most_warps, (r) => r.threads === s.threads)));
  }
  return { id: "occupancy", title: "Occupancy", element: view, draw };
}

export function memoryPanel(app) {
  const view = el("div", { class: "pad cols two" });
  function draw() {
    const s = app.section;
    const sum = new Map();
    for (const m of s.memory) {
      const key = `${m.space}|${m.kind}|${m.bytes ?? "bulk"}`;
      sum.set(key, (sum.get(key) || 0) + 1);
    }
    const spills = app.doc.remarks.filter((r) => (r.kind === "spilled" || r.kind === "rematerialised" || r.kind === "moved") && s.functions.some((f) => f.name === r.function));
    const local = s.memory.filter((m) => m.space === "local");
    view.replaceChildren(
      el("div", {}, el("h3", {}, "Accesses by width"), table(["space", "kind", "bytes a thread", "instructions"],
        [...sum].sort().map(([key, n]) => el("tr", {}, ...key.split("|").map((x, k) => el("td", { class: k === 2 ? "n" : "" }, x)), el("td", { class: "n" }, n)))),
        el("p", { class: "faint" }, "A warp moves 32 times the width: 128 bytes with 4 bytes a thread if its addresses are adjacent. 16 bytes are the widest."),
        el("h3", {}, `Spills: ${local.length} accesses of local memory`),
        s.spill_loads !== undefined ? el("p", {}, `${num(s.spill_stores)} bytes stored, ${num(s.spill_loads)} bytes loaded, ${num(s.stack)} bytes of stack.`) : null,
        spills.length ? table(["line", "kind", "value and reason"], spills.slice(0, 300).map((r) => el("tr", goes(() => r.line && app.pin({ kind: "ptx", line: r.line }, "")), el("td", { class: "n" }, r.line || ""), el("td", {}, r.kind), el("td", { class: "wide" }, r.text)))) : null),
      el("div", { class: "rest" }, el("h3", {}, "Every access"), table(["address", "line", "space", "kind", "bytes", "a warp", "instruction"], s.memory.slice(0, 3000).map((m) => {
        const row = s.instructions[m.instruction];
        return el("tr", goes(() => app.pin({ kind: "sass", index: m.instruction }, "")), el("td", { class: "code" }, hex(row.address)), el("td", { class: "n" }, row.line || ""), el("td", {}, m.space), el("td", {}, m.kind),
          el("td", { class: `n${m.bytes && m.bytes < 4 ? " bad" : ""}` }, m.bytes ?? "bulk"), el("td", { class: "n" }, m.bytes ? num(m.bytes * 32) : ""), el("td", { class: "code" }, row.text.slice(0, 60)));
      }))));
  }
  return { id: "memory", title: "Memory", element: view, draw };
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
          el("td", { class: "code" }, r.waits_for.slice(0, 3).map(([sb, i]) => `SB${sb} ${hex(s.instructions[i].address)} ${operation(s.instructions[i].text)}`).join(", "))))));
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
