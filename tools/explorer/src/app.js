// The state of the page, and what changes it.

import { align } from "./align.js";
import { ptxColumn, sassColumn, sourceColumn } from "./columns.js";
import { el, num } from "./dom.js";
import { graphPanel } from "./graph_panel.js";
import { Marks, marksOf } from "./links.js";
import { Doc } from "./model.js";
import { MOST_PHASES, PhaseColumn } from "./phase_columns.js";
import { phaseStrip } from "./phase_strip.js";
import { pressurePanel } from "./pressure_panel.js";
import { rangesPanel } from "./ranges_panel.js";
import { schedulePanel } from "./schedule_panel.js";
import { advicePanel, comparePanel, memoryPanel, occupancyPanel, remarksPanel, waitsPanel } from "./tables_panel.js";
import { ROW } from "./virtual_list.js";

const HELP = [
  ["↑ ↓, j k", "previous and next row of the column in focus"], ["[ ]", "previous and next phase that changed something"], ["d", "difference to the phase before"], ["p", "keep the phase in a column of its own"],
  ["/", "search; Enter and Shift+Enter go on"], ["1 … 9", "panels"], ["m", "panel over most of the page, and back"], ["t", "light or dark"], ["Esc", "forget the choice, the filter and the search"], ["?", "this help"],
];

/** Call `move` with the events of the pointer while it drags a handle. */
function drag(handle, move) {
  handle.addEventListener("pointerdown", (e) => {
    handle.setPointerCapture(e.pointerId);
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), { once: true });
  });
}

export class App {
  constructor(root, data) {
    this.root = root;
    this.docs = data.map((d, k) => new Doc(d, k ? "b" : "a"));
    this.doc = this.docs[0];
    this.docB = this.docs[1] || null;
    this.doc.label = this.doc.title;
    if (this.docB) this.docB.label = this.docB.title;
    this.side = "a";
    this.focus = null;
    this.pinned = new Marks();
    this.hovered = new Marks();
    this.block = -1;
    this.historyIndex = -1;
    this.phases = [];
    this.shown = null;
    this.register = "";
    this.found = [];
    this.build();
    this.showSection(0);
    this.showTab(this.docB ? "compare" : "advice");
  }

  // --- the parts of the page

  build() {
    this.columns = [];
    const column = (list, title, hint, size) => this.addColumn(list, title, el("div", { class: "head" }, el("strong", {}, title), " ", el("span", { class: "faint" }, hint)), size);
    const places = this.sourceRows();
    if (places.length) {
      this.source = sourceColumn(this);
      column(this.source, "Source", "", 24);
      this.source.set(places);
    }
    if (this.doc.ptx.length) {
      this.ptx = ptxColumn(this);
      column(this.ptx, "PTX", `${num(this.doc.ptx.length)} lines`, 27);
      this.ptx.set(this.doc.ptx);
    }
    if (this.doc.histories.length && !this.docB) {
      this.shown = new PhaseColumn(this);
      this.phases = [this.shown];
      this.addColumn(this.shown.list, "Ori", this.shown.head, 33);
      this.strip = phaseStrip(this);
    }
    this.sass = sassColumn(this, "a", this.docB ? `SASS of ${this.doc.label}` : "SASS");
    column(this.sass, this.docB ? `SASS ${this.doc.label}` : "SASS", "", 42);
    if (this.docB) {
      this.sassB = sassColumn(this, "b", `SASS of ${this.docB.label}`);
      column(this.sassB, `SASS ${this.docB.label}`, "", 42);
    }
    for (const c of this.columns) {
      if (c.list === this.sass || c.list === this.sassB) {
        c.element.insertBefore(
          el("div", { class: "caption", "aria-hidden": "true" }, el("span", { class: "addr" }, "addr"), el("span", { class: "loop" }), el("span", { class: "wait", title: "scoreboards that the instruction waits for" }, "wait"),
            el("span", { class: "bars", title: "scoreboards that it sets: w, released when the result is there; r, when the operands are read" }, "sets"), el("span", { class: "stall", title: "cycles until the next instruction may issue" }, "st"),
            el("span", { class: "lost", title: "cycles that a warp waits before the instruction, by the machine model" }, "waits"), el("span", { class: "live", title: "registers that hold a value" }, "regs"), el("span", {}, "instruction")),
          c.list.element);
      }
    }
    this.panels = [advicePanel(this), remarksPanel(this), pressurePanel(this), rangesPanel(this), schedulePanel(this), waitsPanel(this), occupancyPanel(this), memoryPanel(this), graphPanel(this)];
    if (this.docB) this.panels.unshift(comparePanel(this));
    this.tabs = el("div", { class: "tabs", role: "tablist" }, ...this.panels.map((p, k) =>
      el("button", { role: "tab", id: `tab-${p.id}`, "aria-controls": "panel", onclick: () => this.showTab(p.id), title: `key ${k + 1}` }, p.title)));
    this.panel = el("div", { class: "panel", id: "panel", role: "tabpanel", tabindex: "0" });
    this.main = el("main", { class: "columns" });
    this.placeColumns();
    const splitter = el("div", { class: "splitter", role: "separator", "aria-orientation": "horizontal", "aria-label": "Height of the panel", "aria-valuenow": 36, tabindex: "0" });
    this.taller = el("button", { class: "small", title: "Panel over most of the page, and back (m)", "aria-label": "Tall panel", "aria-pressed": false, onclick: () => this.tall() }, "⤢");
    const lower = el("section", { class: "lower", "aria-label": "Panels" }, splitter, el("div", { class: "tabbar" }, this.tabs, this.taller), this.panel);
    this.split(splitter, lower);
    this.top = el("header", {});
    this.root.replaceChildren(this.top, ...(this.strip ? [this.strip.element] : []), this.main, lower);
    this.header();
    addEventListener("keydown", (e) => this.key(e));
    addEventListener("resize", () => this.drawPanel());
  }

  /** A column with its head; placeColumns puts it into the page. */
  addColumn(list, title, head, size, at = this.columns.length) {
    const element = el("section", { class: "column", style: `flex:${size} 1 0`, "aria-label": title }, head, list.element);
    this.columns.splice(at, 0, { list, element, head, title });
    return element;
  }

  /** Put the columns into the page, with a handle between neighbours that gives width from one to the other. */
  placeColumns() {
    const parts = [];
    this.columns.forEach((c, k) => {
      if (k) parts.push(this.handle(this.columns[k - 1], c));
      parts.push(c.element);
    });
    this.main.replaceChildren(...parts);
  }

  handle(left, right) {
    const bar = el("div", { class: "handle", role: "separator", "aria-orientation": "vertical", "aria-label": `Width of ${left.title} and ${right.title}`, "aria-valuenow": 50, tabindex: "0" });
    const move = (by) => {
      const widths = this.columns.map((c) => c.element.clientWidth);
      this.columns.forEach((c, k) => (c.element.style.flex = `${widths[k]} 1 0`));
      const [a, b] = [left, right].map((c) => widths[this.columns.indexOf(c)]);
      const d = Math.max(80 - a, Math.min(b - 80, by));
      left.element.style.flex = `${a + d} 1 0`;
      right.element.style.flex = `${b - d} 1 0`;
      bar.setAttribute("aria-valuenow", Math.round((100 * (a + d)) / (a + b)));
    };
    drag(bar, (m) => move(m.movementX));
    bar.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: -24, ArrowRight: 24 }[e.key];
      if (step) move(step);
    });
    return bar;
  }

  split(bar, lower) {
    const set = (h) => {
      this.tall(false);
      lower.style.height = `${Math.max(60, Math.min(innerHeight - 240, h))}px`;
      bar.setAttribute("aria-valuenow", Math.round((100 * lower.clientHeight) / innerHeight));
      this.drawPanel();
    };
    drag(bar, (m) => set(innerHeight - m.clientY - 3));
    bar.addEventListener("keydown", (e) => {
      const step = { ArrowUp: 24, ArrowDown: -24 }[e.key];
      if (step) set(lower.clientHeight + step);
    });
  }

  /** The panel over most of the page, or as high as before. */
  tall(on = !this.root.classList.contains("tall")) {
    if (on === this.root.classList.contains("tall")) return;
    this.root.classList.toggle("tall", on);
    this.taller.setAttribute("aria-pressed", on);
    this.drawPanel();
  }

  header() {
    this.functionSelect = el("select", { "aria-label": "Function", onchange: () => this.showSection(Number(this.functionSelect.value)) },
      ...this.doc.sections.map((s, k) => el("option", { value: k }, s.name)));
    this.partSelect = el("select", { "aria-label": "Part of the function", onchange: () => this.showPart(this.partSelect.value) });
    this.blockSelect = el("select", { "aria-label": "Block", onchange: () => this.chooseBlock(Number(this.blockSelect.value)) });
    this.registerInput = el("input", { type: "text", size: 5, placeholder: "reg", "aria-label": "Show only instructions with this register", onchange: () => this.filterRegister(this.registerInput.value.trim().toUpperCase()) });
    this.searchInput = el("input", { type: "search", placeholder: "search  /", "aria-label": "Search", oninput: () => this.search(this.searchInput.value), onkeydown: (e) => e.key === "Enter" && this.next(e.shiftKey ? -1 : 1) });
    this.foundText = el("span", { class: "faint found", role: "status" });
    this.facts = el("div", { class: "facts" });
    this.help = el("dialog", { "aria-label": "Keys" }, el("h2", {}, "Keys"), el("table", {}, ...HELP.map(([k, t]) => el("tr", {}, el("td", {}, el("kbd", {}, k)), el("td", {}, t)))),
      el("p", { class: "faint" }, "Point at a line to see where it ends up; click to keep it. Click a register or a value to follow it. Shift+click on a phase shows the difference to the chosen one."),
      el("form", { method: "dialog" }, el("button", {}, "Close")));
    this.top.replaceChildren(
      el("h1", {}, this.docB ? `${this.doc.label} · ${this.docB.label}` : this.doc.title), this.functionSelect, this.partSelect, this.blockSelect, this.registerInput, this.facts,
      el("div", { class: "right" }, this.searchInput, this.foundText, el("button", { class: "small", title: "light or dark (t)", "aria-label": "light or dark", onclick: () => this.theme() }, "◐"),
        el("button", { class: "small", title: "keys (?)", "aria-label": "help", onclick: () => this.help.showModal() }, "?")), this.help);
  }

  sourceRows() {
    const out = [];
    for (const [file, lines] of Object.entries(this.doc.sources)) {
      out.push({ head: file });
      lines.forEach((text, k) => out.push({ place: `${file}:${k + 1}`, line: k + 1, text }));
    }
    return out;
  }

  // --- what is shown

  showSection(k) {
    this.section = this.doc.sections[k];
    this.sectionB = this.docB ? this.docB.sections.find((s) => s.name === this.section.name) || this.docB.sections[Math.min(k, this.docB.sections.length - 1)] : null;
    this.alignment = null;
    if (this.sectionB && !this.linked()) {
      const to = align(this.section.instructions.slice(0, this.section.count), this.sectionB.instructions.slice(0, this.sectionB.count));
      const back = new Int32Array(this.sectionB.instructions.length).fill(-1);
      to.forEach((j, i) => j >= 0 && (back[j] = i));
      this.alignment = { a: to, b: back, count: to.reduce((n, j) => n + (j >= 0), 0) };
    }
    this.functionSelect.value = k;
    this.partSelect.replaceChildren(el("option", { value: "" }, "whole function"), ...this.section.functions.map((f, j) => el("option", { value: j }, f.name)));
    this.partSelect.hidden = this.section.functions.length < 2;
    this.blockSelect.replaceChildren(el("option", { value: -1 }, "all blocks"), ...this.section.blocks.map((b) => el("option", { value: b.id }, `${this.section.blockName(b.id)} (${b.end - b.start})`)));
    this.focus = null;
    this.pinned = new Marks();
    this.hovered = new Marks();
    this.block = -1;
    this.register = "";
    this.registerInput.value = "";
    this.part = null;
    this.showHistory(this.section.functions.find((f) => f.history !== undefined)?.history ?? -1);
    this.fillSass();
    this.drawFacts();
    if (this.ptx) this.ptx.reveal(this.doc.entryLine(this.section.name) - 1, true);
    this.drawPanel();
    this.repaint();
  }

  showPart(value) {
    this.part = value === "" ? null : this.section.functions[Number(value)];
    if (this.part && this.part.history !== undefined) this.showHistory(this.part.history);
    if (this.part && this.ptx) this.ptx.reveal(this.doc.entryLine(this.part.name) - 1, true);
    this.fillSass();
  }

  /** The list of the active column of phases, its phase, and the phase to which it shows the difference. */
  get ori() {
    return this.shown?.list;
  }

  get phase() {
    return this.shown?.phase;
  }

  get diffWith() {
    return this.shown.base;
  }

  showHistory(k) {
    this.historyIndex = k;
    this.history = (this.shown && this.doc.histories[k]) || null;
    if (!this.shown) return;
    this.show(this.history ? this.history.changed[this.history.changed.length - 1] : null);
    for (const c of this.phases.filter((x) => x !== this.shown)) this.closePhases(c);
  }

  /** What the active column shows. */
  show(phase, base = null) {
    this.shown.phase = phase;
    this.shown.base = base;
    this.shown.fill();
    this.strip.draw();
  }

  /** A copy of the active column at its left, which stays as it is. */
  splitPhases() {
    if (!this.history || this.phases.length === MOST_PHASES) return;
    const kept = new PhaseColumn(this);
    kept.phase = this.phase;
    kept.base = this.shown.base;
    const at = this.columns.findIndex((c) => c.list === this.shown.list);
    this.addColumn(kept.list, `Ori after ${kept.phase.name}`, kept.head, this.columns[at].element.style.flexGrow, at);
    this.phases.splice(this.phases.indexOf(this.shown), 0, kept);
    this.placePhases();
    kept.fill();
    kept.list.reveal(Math.round((this.shown.list.view.scrollTop + this.shown.list.view.clientHeight / 2) / ROW), true);
  }

  closePhases(column) {
    if (this.phases.length < 2) return;
    this.columns.splice(this.columns.findIndex((c) => c.list === column.list), 1);
    this.phases.splice(this.phases.indexOf(column), 1);
    if (this.shown === column) this.shown = this.phases[this.phases.length - 1];
    this.placePhases();
  }

  activate(column) {
    if (this.shown === column) return;
    this.shown = column;
    this.placePhases(false);
  }

  placePhases(moved = true) {
    if (moved) this.placeColumns();
    for (const c of this.phases) c.head.classList.toggle("active", this.phases.length > 1 && c === this.shown);
    this.main.classList.toggle("several", this.phases.length > 1);
    this.strip.draw();
  }

  fillSass() {
    const inside = (i) => (!this.part || (i >= this.part.start && i < this.part.end)) && (this.block < 0 || this.section.instructions[i].block === this.block) &&
      (!this.register || this.section.instructions[i].reads.includes(this.register) || this.section.instructions[i].writes.includes(this.register));
    this.sass.set(this.section.instructions.map((r) => r.index).filter(inside).filter((i) => i < this.section.count));
    this.sassB?.set(this.sectionB ? this.sectionB.instructions.map((r) => r.index).slice(0, this.sectionB.count) : []);
    const filters = [this.block >= 0 ? this.section.blockName(this.block) : "", this.register, this.part?.name].filter(Boolean).join(", ");
    this.setHint(this.sass, `${num(this.sass.items.length)} instructions${filters ? ` of ${filters}` : ""}`);
    if (this.sassB) this.setHint(this.sassB, this.sectionB ? `${num(this.sassB.items.length)} instructions${this.alignment ? `, ${num(this.alignment.count)} as in ${this.doc.label}` : ""}` : "no such function");
  }

  setHint(list, text) {
    const c = this.columns.find((x) => x.list === list);
    c.head.lastElementChild.textContent = text;
  }

  showPhase(k, compare = false) {
    const phases = this.history.phases;
    while (!phases[k].changed) k--;
    if (compare) {
      const [a, b] = [Math.min(k, this.phase.index), Math.max(k, this.phase.index)];
      this.show(phases[b], a === b ? null : a);
    } else this.show(phases[k], this.diffWith === null ? null : this.before(k));
    this.shown.revealChange();
    this.repaint();
  }

  showPhaseNamed(name) {
    const p = this.history?.phases.find((x) => x.name === name);
    if (!p) return;
    this.shown.base = p.changed ? this.before(p.index) : null;
    this.showPhase(p.index);
  }

  before(k) {
    const list = this.history.changed.filter((p) => p.index < k);
    return list.length ? list[list.length - 1].index : null;
  }

  toggleDiff() {
    this.show(this.phase, this.diffWith === null ? this.before(this.phase.index) : null);
    this.shown.revealChange();
  }

  stepPhase(d) {
    const list = this.history?.changed || [];
    const p = list[list.indexOf(this.phase) + d];
    if (p) this.showPhase(p.index);
  }

  drawFacts() {
    const s = this.section;
    const o = s.occupancy;
    const fact = (value, text, tab, bad) => el("button", { class: `fact${bad ? " bad" : ""}`, onclick: () => this.showTab(tab), title: text }, el("b", {}, value), el("span", {}, text));
    this.facts.replaceChildren(
      fact(s.target, "target", "occupancy"), fact(num(s.count), "instructions", "waits"), fact(s.registers, "registers", "pressure"),
      fact(`${Math.round((100 * o.warps) / o.most_warps)} %`, `occupancy (${o.limit})`, "occupancy", o.warps * 2 <= o.most_warps),
      ...(s.spill_loads ? [fact(num(s.spill_loads), "bytes spilled", "memory", true)] : []),
      ...(s.shared ? [fact(num(s.shared), "shared bytes", "occupancy")] : []));
  }

  // --- marks

  marks(focus) {
    const section = this.side === "b" && this.sectionB ? this.sectionB : this.section;
    return marksOf(focus, this.doc, section, this.historyIndex);
  }

  /** The mark of an instruction in the column whose section is not the one of the focus: by PTX or source line. */
  otherMark(m, section, i) {
    if (this.alignment) {
      const partner = (section === this.sectionB ? this.alignment.b : this.alignment.a)[i];
      return (partner >= 0 && m.sass.get(partner)) || "";
    }
    const row = section.instructions[i];
    return (row.line && m.ptx.get(row.line)) || (row.file && m.source.get(`${row.file}:${row.source_line}`)) || "";
  }

  /** Whether lines say which instructions of both compiles belong together. */
  linked() {
    const places = new Set(this.section.instructions.flatMap((r) => [r.line && `:${r.line}`, r.file && `${r.file}:${r.source_line}`].filter(Boolean)));
    return this.sectionB.instructions.some((r) => (r.line && places.has(`:${r.line}`)) || (r.file && places.has(`${r.file}:${r.source_line}`)));
  }

  /** Whether an instruction has no partner in the other compile. */
  alone(side, i) {
    return this.alignment !== null && (this.alignment[side][i] ?? -1) < 0;
  }

  hover(focus) {
    if (!focus && !this.hovering) return;
    const key = JSON.stringify(focus);
    if (key === this.hovering) return;
    this.hovering = key;
    this.hovered = this.marks(focus);
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.repaint(true));
  }

  pin(focus, from) {
    this.focus = focus;
    this.hovering = "";
    this.hovered = new Marks();
    this.pinned = this.marks(focus);
    this.follow(from);
    this.current()?.follow?.();
    this.repaint();
    this.drawPanel(true);
  }

  /** Scroll the columns to the first marked row, but for the one that was clicked. */
  follow(from) {
    const m = this.pinned;
    if (!m) return;
    const best = (map, wanted) => [...map].filter(([, k]) => wanted.test(k)).map(([x]) => x);
    const sass = best(m.sass, /hit|def/).sort((a, b) => a - b);
    if (from !== "sass" || this.side === "b") if (sass.length) this.sass.reveal(this.sass.items.indexOf(this.side === "a" ? sass[0] : -1));
    const lines = best(m.ptx, /hit|def/).concat(best(m.ptx, /./)).filter(Boolean);
    if (from !== "ptx" && this.ptx && lines.length) this.ptx.reveal(lines[0] - 1);
    if (this.sassB && (from !== "sass" || this.side === "a")) {
      const k = this.sassB.items.findIndex((i) => /hit|def/.test(this.side === "b" ? m.sass.get(i) || "" : this.otherMark(m, this.sectionB, i)));
      this.sassB.reveal(k);
    }
    if (this.sassB && this.side === "b" && from === "sass") this.sass.reveal(this.sass.items.findIndex((i) => /hit|def/.test(this.otherMark(m, this.section, i))));
    if (from !== "source" && this.source && m.source.size) this.source.reveal(this.source.items.findIndex((x) => m.source.has(x.place)));
    if (this.history) {
      const rank = (x) => {
        const [, line, uid] = this.history.lines[x.line];
        if (!uid) return 0;
        const k = m.uid.get(`${this.historyIndex}:${uid}`);
        return k ? 2 : line && m.oriLine.has(line) ? 1 : 0;
      };
      for (const { list } of this.phases) {
        if (from === "ori" && list === this.ori) continue;
        let at = list.items.findIndex((x) => rank(x) === 2);
        if (at < 0) at = list.items.findIndex((x) => rank(x) === 1);
        list.reveal(at);
      }
    }
  }

  repaint(brief = false) {
    for (const c of this.columns) c.list.repaint(brief);
    this.current()?.mark?.();
  }

  chooseBlock(b) {
    this.block = b === this.block ? -1 : b;
    this.blockSelect.value = this.block;
    this.side = "a";
    this.fillSass();
    this.pin(this.block < 0 ? null : { kind: "block", block: this.block }, "");
  }

  filterRegister(name) {
    this.register = this.section.ranges[name] ? name : "";
    this.registerInput.classList.toggle("bad", Boolean(name) && !this.register);
    this.fillSass();
  }

  /** Go to a label of the SASS. */
  jump(name, section) {
    const plain = name.replace(/^`\(|\)$/g, "");
    const at = Object.entries(section.labels).find(([, n]) => n === plain);
    if (at) {
      this.pin({ kind: "sass", index: Number(at[0]) }, "");
    }
  }

  // --- search

  search(text) {
    const wanted = text.toLowerCase();
    this.found = [];
    this.at = -1;
    if (wanted) {
      const look = (list, textOf) => list?.items.forEach((x, i) => textOf(x, i).toLowerCase().includes(wanted) && this.found.push([list, i]));
      look(this.source, (x) => x.text || "");
      look(this.ptx, (x) => x);
      if (this.history) for (const { list } of this.phases) look(list, (x) => this.history.lines[x.line][0]);
      look(this.sass, (i) => this.section.instructions[i].text);
      look(this.sassB, (i) => this.sectionB.instructions[i].text);
      const first = this.found.findIndex(([l]) => l === this.sass);
      this.at = Math.max(0, first) - 1;
      this.next(1);
    }
    this.foundText.textContent = wanted ? `${Math.max(0, this.at + 1)} of ${this.found.length}` : "";
  }

  next(d) {
    if (!this.found.length) return;
    this.at = (this.at + d + this.found.length) % this.found.length;
    const [list, i] = this.found[this.at];
    list.cursor = i;
    list.reveal(i, true);
    list.options.onClick(i, { target: list.view });
    this.foundText.textContent = `${this.at + 1} of ${this.found.length}`;
  }

  // --- panels

  current() {
    return this.panels?.find((p) => p.id === this.tab);
  }

  showTab(id) {
    this.tab = id;
    const p = this.current();
    for (const t of this.tabs.children) t.setAttribute("aria-selected", t.id === `tab-${id}`);
    this.panel.setAttribute("aria-labelledby", `tab-${id}`);
    this.panel.replaceChildren(p.element);
    this.panel.scrollTop = 0;
    p.draw();
  }

  /** Draw the open panel anew; `choice`: only the choice has changed. */
  drawPanel(choice = false) {
    const p = this.current();
    if (!p || !this.section) return;
    if (choice && p.id !== "pressure") p.mark?.();
    else p.draw();
  }

  comparison() {
    const [a, b] = [this.section, this.sectionB];
    if (!b) return [];
    const waits = (s) => s.instructions.reduce((n, r) => n + r.total * 10 ** s.depth[r.index], 0);
    const of = (s, kind) => s.memory.filter((m) => m.space === kind).length;
    const turn = (s) => Math.max(0, ...s.loops.filter((r) => r.depth === Math.max(...s.loops.map((x) => x.depth))).map((r) => r.one_warp_far));
    return [
      ["target", a.target, b.target], ["instructions", a.count, b.count], ["registers", a.registers, b.registers], ["most registers live at once", a.pressure.R, b.pressure.R],
      ["warps an SM", a.occupancy.warps, b.occupancy.warps], ["occupancy limited by", a.occupancy.limit, b.occupancy.limit], ["shared bytes", a.shared, b.shared],
      ["loops", a.loops.length, b.loops.length], ["longest turn of an innermost loop, one warp, cycles", turn(a), turn(b)], ["cycles waited, loops as ten turns", Math.round(waits(a)), Math.round(waits(b))],
      ["accesses of global memory", of(a, "global"), of(b, "global")], ["accesses of shared memory", of(a, "shared"), of(b, "shared")], ["accesses of local memory", of(a, "local"), of(b, "local")],
      ["basic blocks", a.blocks.length, b.blocks.length],
    ];
  }

  // --- keys

  theme() {
    const now = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    this.repaint();
    this.drawPanel();
  }

  key(e) {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) {
      if (e.key === "Escape") e.target.blur();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "/") {
      e.preventDefault();
      this.searchInput.focus();
    } else if (e.key === "[") this.stepPhase(-1);
    else if (e.key === "]") this.stepPhase(1);
    else if (e.key === "d" && this.history) this.toggleDiff();
    else if (e.key === "p") this.splitPhases();
    else if (e.key === "m") this.tall();
    else if (e.key === "t") this.theme();
    else if (e.key === "?") this.help.showModal();
    else if (e.key === "Escape") {
      this.block = -1;
      this.blockSelect.value = -1;
      this.register = this.registerInput.value = "";
      this.searchInput.value = "";
      this.search("");
      this.fillSass();
      this.pin(null, "");
    } else if (/^[1-9]$/.test(e.key) && this.panels[Number(e.key) - 1]) this.showTab(this.panels[Number(e.key) - 1].id);
  }
}
