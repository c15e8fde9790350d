// The columns: source, PTX, phases, SASS.

import { causeClass, el, hex } from "./dom.js";
import { ptxTokens, sassTokens } from "./tokens.js";
import { VirtualList } from "./virtual_list.js";

/** Makes the classes of a row from the marks of the pinned focus and of the one under the pointer. */
export function classes(app, pick, more = "") {
  const pinned = pick(app.pinned);
  const hover = pick(app.hovered);
  return `${more} ${pinned ? `p-${pinned}` : ""} ${hover || ""}`;
}

function clicked(app, event) {
  const name = event.target?.closest?.("[data-name]")?.dataset.name;
  return name || "";
}

export function sourceColumn(app) {
  const list = new VirtualList({
    label: "Source",
    render: (x) => (x.head ? [el("span", { class: "file" }, x.head)] : [el("span", { class: "ln" }, x.line), ...ptxTokens(x.text)]),
    rowClass: (x) => classes(app, (m) => m.source.get(x.place)),
    onHover: (i) => app.hover(i < 0 || !list.items[i].place ? null : { kind: "source", place: list.items[i].place }),
    onClick: (i) => list.items[i].place && app.pin({ kind: "source", place: list.items[i].place }, "source"),
  });
  return list;
}

export function ptxColumn(app) {
  const list = new VirtualList({
    label: "PTX",
    render: (text, i) => {
      const found = app.doc.remarksAt.get(i + 1);
      const kinds = found ? [...new Set(found.map((r) => r.kind))] : [];
      const title = found ? found.slice(0, 12).map((r) => `${r.kind}: ${r.text}`).join("\n") : undefined;
      return [
        el("span", { class: "ln" }, i + 1),
        el("span", { class: `dot${kinds.length ? ` kind-${kinds[0]}` : ""}`, title, "aria-label": title }, kinds.length ? "●" : " "),
        ...ptxTokens(text),
      ];
    },
    rowClass: (text, i) =>
      classes(app, (m) => m.ptx.get(i + 1) || (m.name && m.name[0] === "%" && contains(text, m.name) ? "kin" : ""), app.section?.byLine.has(i + 1) ? "" : "quiet"),
    onHover: (i) => app.hover(i < 0 ? null : { kind: "ptx", line: i + 1 }),
    onClick: (i, e) => {
      const name = clicked(app, e);
      app.pin(name ? { kind: "name", name, line: i + 1 } : { kind: "ptx", line: i + 1 }, "ptx");
    },
  });
  return list;
}

function contains(text, name) {
  const at = text.indexOf(name);
  return at >= 0 && !/[\w$]/.test(text[at + name.length] || "");
}

/** `column` has the state that is shown ({@link PhaseColumn}). */
export function oriColumn(app, column) {
  const list = new VirtualList({
    label: "Ori",
    render: (x) => {
      const [text, line, uid] = app.history.lines[x.line];
      const mark = column.base === null ? null : el("span", { class: `sign s-${x.mark === "+" ? "came" : x.mark === "-" ? "went" : "same"}` }, x.mark);
      const shown = text.replace(/ ; \{.*\}/, "");
      return [mark, uid ? el("span", { class: "code" }, "  ", ...sassTokens(shown)) : el("span", { class: "blockhead" }, ...sassTokens(shown)), line ? el("span", { class: "at" }, line) : null];
    },
    rowClass: (x) => {
      const [text, line, uid] = app.history.lines[x.line];
      const key = `${app.historyIndex}:${uid}`;
      const word = (m) => m.name && m.name[0] === "v" && new RegExp(`\\b${m.name}\\b`).test(text);
      const more = x.mark === "+" ? "came" : x.mark === "-" ? "went" : "";
      return classes(app, (m) => (uid && (m.uid.get(key) || (line && m.oriLine.get(line)))) || (word(m) ? "kin" : ""), more);
    },
    onHover: (i) => {
      const x = i < 0 ? null : app.history.lines[list.items[i].line];
      app.hover(x && x[2] ? { kind: "ori", line: x[1], uid: x[2] } : null);
    },
    onClick: (i, e) => {
      const x = app.history.lines[list.items[i].line];
      const name = clicked(app, e);
      app.activate(column);
      if (/^v\d/.test(name)) app.pin({ kind: "name", name }, "ori");
      else if (/^b\d/.test(name) && !x[2]) app.pin(null, "ori");
      else if (x[2]) app.pin({ kind: "ori", line: x[1], uid: x[2] }, "ori");
    },
  });
  return list;
}

function controlCells(row) {
  const c = row.control;
  const wait = c.wait.length
    ? el("span", { class: "wait", title: `waits for scoreboard ${c.wait.join(", ")}` }, ...c.wait.map((b) => el("i", { class: `sb${b}` }, b)))
    : el("span", { class: "wait" }, "");
  return [
    wait,
    el("span", { class: "bars", title: barTitle(c) },
      c.write_barrier === null ? " " : el("i", { class: `sb${c.write_barrier}` }, `w${c.write_barrier}`),
      c.read_barrier === null ? " " : el("i", { class: `sb${c.read_barrier}` }, `r${c.read_barrier}`)),
    el("span", { class: `stall${c.stall > 4 ? " long" : ""}`, title: `issues the next instruction after ${c.stall} cycles${c.yield ? ", yields" : ""}` }, c.stall),
  ];
}

function barTitle(c) {
  const out = [];
  if (c.write_barrier !== null) out.push(`scoreboard ${c.write_barrier} is released when the result is there`);
  if (c.read_barrier !== null) out.push(`scoreboard ${c.read_barrier} is released when the operands are read`);
  return out.join("; ") || undefined;
}

function waitTitle(row) {
  return Object.entries(row.waited || {}).map(([k, v]) => `${k}: ${v} cycles`).join("\n");
}

/** `side`: a or b; the column of the second compile has its own section. */
export function sassColumn(app, side, label) {
  const section = () => (side === "a" ? app.section : app.sectionB);
  const marks = (m, i) => (side === app.side ? m.sass.get(i) : app.otherMark(m, section(), i));
  const list = new VirtualList({
    label,
    render: (i) => {
      const s = section();
      const row = s.instructions[i];
      const name = s.labels[i];
      const widest = Math.max(1, s.pressure.R);
      return [
        el("span", { class: "addr", title: `block ${s.blockName(row.block)}` }, hex(row.address)),
        el("span", { class: `loop d${Math.min(3, s.depth[i])}`, title: s.depth[i] ? `in a loop, depth ${s.depth[i]}` : undefined }, s.blocks[row.block].start !== i ? "" : name ? "▸" : "·"),
        ...controlCells(row),
        el("span", { class: "lost", title: waitTitle(row) || undefined },
          ...Object.entries(row.waited || {}).map(([k, v]) => el("b", { class: causeClass(k), style: `width:${Math.max(1, (v / s.longest) * 34).toFixed(1)}px` }))),
        el("span", { class: "live", title: `${row.live} registers hold a value` }, el("b", { style: `width:${((row.live / widest) * 22).toFixed(1)}px` })),
        el("span", { class: "code" }, ...sassTokens(row.text)),
      ];
    },
    rowClass: (i) => classes(app, (m) => marks(m, i), `${section().blocks[section().instructions[i].block].start === i ? "leader" : ""}${app.alone(side, i) ? " lone" : ""}`),
    onHover: (k) => {
      app.side = side;
      app.hover(k < 0 ? null : { kind: "sass", index: list.items[k] });
    },
    onClick: (k, e) => {
      const i = list.items[k];
      const name = clicked(app, e);
      app.side = side;
      if (/^(R|UR|P|UP|B)\d/.test(name)) app.pin({ kind: "register", name, index: i }, "sass");
      else if (name) app.jump(name, section());
      else app.pin({ kind: "sass", index: i }, "sass");
    },
  });
  list.section = section;
  return list;
}
