// The phases as a strip: height is what changed, a click shows the state after a phase, a second one with shift the difference.

import { count, el, num } from "./dom.js";
import { MOST_PHASES } from "./phase_columns.js";

export function phaseStrip(app) {
  const strip = el("nav", { class: "strip", "aria-label": "Phases" });
  function draw() {
    strip.replaceChildren();
    const h = app.history;
    if (!h) return;
    const size = (p) => p.added + p.removed + p.moved;
    const amountText = (p) => [p.added || p.removed || !p.moved ? `+${num(p.added)} −${num(p.removed)}` : "", p.moved ? `${num(p.moved)} moved` : ""].filter(Boolean).join(", ");
    const most = Math.max(1, ...h.changed.slice(1).map(size));
    for (const p of h.phases) {
      const amount = p.changed ? size(p) : 0;
      const first = p === h.changed[0];
      const height = first ? 26 : amount ? 3 + 23 * Math.sqrt(amount / most) : 1;
      const state = p.changed ? `${num(p.instructions)} instructions, ${count(p.blocks, "block")}${p.live_words ? `, ${p.live_words} live words` : ""}` : "no change";
      const what = first ? "as lowered from PTX" : app.doc.data.phases[p.name];
      const change = p.changed && !first ? `${amountText(p)} lines\n` : "";
      strip.append(
        el("button", {
          class: `phase${p.changed ? "" : " same"}${p === app.phase ? " on" : ""}${p !== app.phase && app.phases.some((c) => c.phase === p) ? " kept" : ""}${p.index === app.diffWith ? " base" : ""}`,
          title: `${p.name}: ${what}\n${change}${state}`, "aria-label": `${p.name}, ${change || "no change"}`, "aria-pressed": p === app.phase,
          onclick: (e) => app.showPhase(p.index, e.shiftKey),
        }, el("span", { class: "amount", style: `height:${height.toFixed(0)}px` }))
      );
    }
    const p = app.phase;
    const text = p === h.changed[0] ? "as lowered from PTX" : app.doc.data.phases[p.name];
    const base = app.diffWith === null ? "" : ` against ${h.phases[app.diffWith].name}`;
    strip.append(
      el("div", { class: "about" },
        el("strong", {}, `${p.name}${base}`), " ", el("span", { class: "faint" }, text),
        el("div", { class: "faint" }, `${num(p.instructions)} instructions · ${count(p.blocks, "block")}${p.live_words ? ` · ${p.live_words} live words` : ""}${p.index && p.changed ? ` · ${amountText(p)}` : ""}`)),
      el("button", { class: "small", title: "Difference to the phase before that changed something (d)", "aria-pressed": app.diffWith !== null, onclick: () => app.toggleDiff() }, "diff"),
      el("button", { class: "small", title: "Keep what the column shows in a column of its own, and go on in a second one (p)", disabled: app.phases.length === MOST_PHASES, onclick: () => app.splitPhases() }, "keep"),
    );
  }
  return { element: strip, draw };
}
