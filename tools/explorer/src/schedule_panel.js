// The schedule of a loop or of straight code as the machine model plays it: one warp, memory beyond the first cache.

import { CAUSES, causeClass, el, hex, num, operation } from "./dom.js";
import { sassTokens } from "./tokens.js";
import { VirtualList } from "./virtual_list.js";

export function schedulePanel(app) {
  let region = null;
  const list = new VirtualList({
    label: "Schedule",
    render: ([i, cycle, late]) => {
      const row = app.section.instructions[i];
      const scale = app.section && region.scale;
      const left = (c) => `left:${(c * scale).toFixed(1)}px`;
      const waits = row.waits_for.map(([sb, s]) => `waits for scoreboard ${sb}, set at ${hex(app.section.instructions[s].address)} ${app.section.instructions[s].text}`);
      const parts = [];
      let from = cycle - row.total;
      for (const [cause, v] of Object.entries(row.waited || {})) {
        parts.push(el("b", { class: causeClass(cause), style: `${left(Math.max(0, from))};width:${Math.max(1, v * scale).toFixed(1)}px`, title: `${cause}: ${v} cycles\n${waits.join("\n")}` }));
        from += v;
      }
      return [
        el("span", { class: "addr" }, hex(row.address)), el("span", { class: "stext" }, ...sassTokens(row.text.slice(0, 52))),
        el("span", { class: "cycle" }, num(cycle)), el("span", { class: "lost2" }, row.total ? `${num(row.total)}` : ""),
        el("span", { class: "time" }, ...parts,
          late ? el("b", { class: "late", style: `${left(cycle)};width:${Math.max(2, late * scale).toFixed(1)}px`, title: `result after ${late} cycles` }) : null,
          el("b", { class: "issue", style: `${left(cycle)};width:${Math.max(2, scale).toFixed(1)}px`, title: `issues in cycle ${cycle}` })),
      ];
    },
    rowClass: ([i]) => `${app.pinned.sass.has(i) ? `p-${app.pinned.sass.get(i)}` : ""} ${app.hovered.sass.get(i) || ""}`,
    onHover: (k) => app.hover(k < 0 ? null : { kind: "sass", index: list.items[k][0] }),
    onClick: (k) => app.pin({ kind: "sass", index: list.items[k][0] }, "schedule"),
  });
  const select = el("select", { "aria-label": "Loop or straight code", onchange: () => choose(Number(select.value)) });
  const zoom = el("select", { "aria-label": "Scale", onchange: () => choose(Number(select.value)) },
    el("option", { value: "0" }, "fit"), el("option", { value: "1" }, "1 px a cycle"), el("option", { value: "4" }, "4 px a cycle"));
  const text = el("div", { class: "note" });
  const caption = el("div", { class: "caption", "aria-hidden": "true" }, el("span", { class: "addr" }, "addr"), el("span", { class: "stext" }, "instruction"),
    el("span", { class: "cycle" }, "cycle"), el("span", { class: "lost2" }, "waits"), el("span", {}, "waiting, issue, and until the result is there"));
  let known = null;

  function describe(r) {
    if (r.kind === "straight") return `outside loops, ${num(r.one_warp_far)} cycles`;
    return `loop ${hex(app.section.instructions[r.header].address)}, depth ${r.depth}, ${num(r.one_warp_far)} cycles`;
  }

  function choose(k) {
    region = app.section.regions[k];
    select.value = k;
    const end = Math.max(1, ...region.timeline.map(([, c, late]) => c + late));
    const width = Math.max(200, list.view.clientWidth - 450);
    region.scale = Number(zoom.value) || width / end;
    list.body.style.minWidth = `${450 + end * region.scale}px`;
    const total = new Map();
    for (const [i] of region.timeline) for (const [c, v] of Object.entries(app.section.instructions[i].waited || {})) total.set(c, (total.get(c) || 0) + v);
    const sum = [...total.values()].reduce((a, b) => a + b, 0);
    const worst = [...region.timeline].sort((a, b) => app.section.instructions[b[0]].total - app.section.instructions[a[0]].total)[0];
    const row = worst && app.section.instructions[worst[0]];
    text.replaceChildren(
      ...(region.kind === "loop" ? [`${num(region.instructions)} instructions; a turn takes one warp ${num(region.one_warp)} cycles with near and ${num(region.one_warp_far)} with far data`,
        region.full_sm ? `, ${num(region.full_sm)} on a full SM (bound by ${region.bound}). ` : ". "] : [`${num(region.instructions)} instructions, ${num(region.one_warp_far)} cycles if each runs once. `]),
      ...(row && row.total ? ["Longest wait: ", el("button", { class: "link", onclick: () => app.pin({ kind: "sass", index: row.index }, "") }, `${hex(row.address)} ${row.text}`),
        ` for ${num(row.total)} cycles (${Object.entries(row.waited).map(([c]) => c).join(", ")}${row.waits_for.length ? `, ${row.waits_for.map(([sb, s]) => `SB${sb} of ${operation(app.section.instructions[s].text)} at ${hex(app.section.instructions[s].address)}`).join(", ")}` : ""}). `] : []),
      el("span", { class: "legend" }, ...CAUSES.filter((c) => total.get(c)).map((c) => [el("i", { class: `key ${causeClass(c)}` }), `${c} ${Math.round((100 * total.get(c)) / sum)} %`.replaceAll(" ", "\u00a0") + " "]).flat(),
        el("i", { class: "key late" }), "until the result is there"));
    list.set(region.timeline);
    list.refresh();
    list.reveal(Math.max(0, region.timeline.findIndex(([i]) => /hit/.test(app.pinned.sass.get(i) || ""))));
  }

  function draw() {
    if (known !== app.section) {
      known = app.section;
      const regions = app.section.regions.map((r, k) => [r, k]).filter(([r]) => r.timeline.length);
      regions.sort((a, b) => b[0].one_warp_far * 10 ** b[0].depth - a[0].one_warp_far * 10 ** a[0].depth);
      select.replaceChildren(...regions.map(([r, k]) => el("option", { value: k }, describe(r))));
      if (regions.length) choose(around() ?? regions[0][1]);
    } else if (region) choose(Number(select.value));
  }

  /** The innermost loop or the straight code in which the chosen instruction is; null if there is no such choice. */
  function around() {
    const at = app.side === "a" && app.focus?.kind === "sass" ? app.focus.index : -1;
    const found = app.section.regions.map((r, k) => [r, k]).filter(([r]) => r.timeline.some(([i]) => i === at)).sort((a, b) => b[0].depth - a[0].depth);
    return found.length ? found[0][1] : null;
  }

  function follow() {
    const k = around();
    if (k !== null && app.section.regions[k] !== region) choose(k);
    list.reveal(region ? region.timeline.findIndex(([i]) => i === app.focus?.index) : -1);
  }
  return {
    id: "schedule", title: "Schedule",
    element: el("div", { class: "schedule" }, el("div", { class: "bar" }, select, zoom, text), caption, list.element), draw, follow, mark: () => list.repaint(),
  };
}
