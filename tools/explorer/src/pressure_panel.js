// Register pressure along the code, with the register counts where an SM holds fewer warps.

import { colour, el, hex, num } from "./dom.js";
import { plot } from "./plot.js";

export function pressurePanel(app) {
  const side = el("div", { class: "aside" });
  const picture = plot(app, "Registers that hold a value, instruction by instruction", (c, w, h, x, left, right) => {
    const s = app.section;
    const rows = s.instructions;
    const steps = s.occupancy.by_registers;
    const top = Math.max(s.registers, s.pressure.R) * 1.12 + 2;
    const floor = h - 16;
    const y = (n) => floor - (n / top) * (floor - 6);
    c.fillStyle = colour("--accent-soft");
    c.strokeStyle = colour("--accent");
    c.beginPath();
    c.moveTo(x(0), y(0));
    for (let i = 0; i < s.count; i++) {
      c.lineTo(x(i), y(rows[i].live));
      c.lineTo(x(i + 1), y(rows[i].live));
    }
    c.lineTo(x(s.count), y(0));
    c.fill();
    c.stroke();
    c.lineWidth = 1;
    let lastLabel = 1e9;
    for (let k = 0; k < steps.length; k++) {
      const step = steps[k];
      const next = steps[k + 1];
      if (next && next.warps === step.warps) continue;
      if (step.registers > top) break;
      c.strokeStyle = colour("--faint");
      c.setLineDash([3, 4]);
      c.beginPath();
      c.moveTo(left, y(step.registers));
      c.lineTo(w - right, y(step.registers));
      c.stroke();
      c.setLineDash([]);
      if (lastLabel - y(step.registers) >= 12) {
        lastLabel = y(step.registers);
        c.fillStyle = colour("--faint");
        c.textAlign = "left";
        c.fillText(`≤${step.registers}: ${step.warps} warps`, w - right + 4, y(step.registers) + 4);
        c.textAlign = "right";
        c.fillText(step.registers, left - 5, y(step.registers) + 4);
      }
    }
    c.strokeStyle = colour("--bad");
    c.beginPath();
    c.moveTo(left, y(s.registers));
    c.lineTo(w - right, y(s.registers));
    c.stroke();
    c.textAlign = "left";
    const allocated = `allocated: ${s.registers}`;
    c.fillStyle = colour("--bg");
    c.fillRect(left + 3, y(s.registers) - 14, c.measureText(allocated).width + 6, 13);
    c.fillStyle = colour("--bad");
    c.fillText(allocated, left + 6, y(s.registers) - 4);
    c.fillStyle = colour("--faint");
    c.textAlign = "right";
    if (lastLabel > 1e8) for (let n = 0, step = Math.max(2, Math.ceil(top / 5)); n < top; n += step) c.fillText(n, left - 5, y(n) + 4);
    c.textAlign = "center";
    for (let k = 0; k <= 8; k++) {
      const i = Math.floor((s.count * k) / 8);
      if (rows[i]) c.fillText(hex(rows[Math.min(i, s.count - 1)].address), x(i), h - 3);
    }
  }, (i, y, click) => (click ? false : `${hex(app.section.instructions[i].address)}: ${app.section.instructions[i].live} registers\n${app.section.instructions[i].text}`));

  /** Which lines made the values that are live at an instruction. */
  function makers(at) {
    const s = app.section;
    const found = new Map();
    for (const name of Object.keys(s.ranges)) {
      if (!/^R\d/.test(name) || !s.live(name, at)) continue;
      let key = "before the loop or the block";
      let line = 0;
      const { defs } = s.valueOf(name, nearestUse(s, name, at));
      // In a loop, what the loop itself writes counts, not the value that it starts from.
      const depth = s.depth[at];
      const inner = [...defs].filter((d) => s.depth[d] === depth);
      const before = (inner.length ? inner : [...defs]).filter((d) => d <= at);
      const d = before.length ? Math.max(...before) : Math.max(-1, ...inner, ...defs);
      if (name === "R1") key = "stack pointer";
      else if (d >= 0) {
        line = s.instructions[d].line;
        key = line ? `line ${line}` : s.instructions[d].text;
      }
      const entry = found.get(key) || { line, names: [], at: d };
      entry.names.push(name);
      found.set(key, entry);
    }
    return [...found.entries()].sort((a, b) => b[1].names.length - a[1].names.length);
  }

  function nearestUse(s, name, at) {
    const [start, end] = s.rangeOf(name, at);
    for (let i = at; i < end; i++) if (s.instructions[i].reads.includes(name)) return i;
    for (let i = at; i >= start; i--) if (s.instructions[i].writes.includes(name) || s.instructions[i].reads.includes(name)) return i;
    return at;
  }

  function draw() {
    picture.draw();
    const s = app.section;
    const peak = s.instructions.reduce((a, b) => (b.live > a.live ? b : a)).index;
    const chosen = app.focus?.kind === "sass" ? app.focus.index : peak;
    const row = s.instructions[chosen];
    const occ = s.occupancy;
    const list = makers(chosen).slice(0, 40);
    side.replaceChildren(
      el("p", {}, el("strong", {}, `${s.registers} registers`), ` allocated; at most ${s.pressure.R} hold a value at once, at `,
        el("button", { class: "link", onclick: () => app.pin({ kind: "sass", index: peak }, "") }, hex(s.instructions[peak].address)), ". ",
        occ.next ? `With ${occ.next.registers} (${s.registers - occ.next.registers} fewer) an SM would hold ${occ.next.warps} warps instead of ${occ.warps}.` : "Fewer registers give no more warps."),
      ...app.doc.remarks.filter((r) => r.kind === "registers" && r.function === s.name).map((r) => el("p", { class: "faint" }, `Line ${r.line}: ${r.text}.`)),
      el("p", {}, `${row.live} live at `, el("code", {}, hex(row.address)), chosen === peak ? " (the peak)" : "", ", made by:"),
      el("table", {}, ...list.map(([key, x]) =>
        el("tr", { class: "go", tabindex: 0, onclick: () => (x.line ? app.pin({ kind: "ptx", line: x.line }, "") : x.at >= 0 && app.pin({ kind: "sass", index: x.at }, "")) },
          el("td", { class: "n" }, num(x.names.length)), el("td", {}, key),
          el("td", { class: "code" }, x.line && app.doc.ptx.length ? app.doc.ptx[x.line - 1].trim().slice(0, 60) : x.names.slice(0, 8).join(" "))))));
  }
  return { id: "pressure", title: "Registers", element: el("div", { class: "split" }, picture.element, side), draw, mark: () => picture.draw() };
}
