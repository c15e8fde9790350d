// The columns of the function after phases.  The strip works on the one that is active; a copy of it stays as it is.

import { oriColumn } from "./columns.js";
import { difference } from "./difference.js";
import { el } from "./dom.js";

export const MOST_PHASES = 3;

/** One column: the phase after which it shows the function, and the phase to which it shows the difference (null: none). */
export class PhaseColumn {
  constructor(app) {
    this.app = app;
    this.phase = null;
    this.base = null;
    this.list = oriColumn(app, this);
    this.hint = el("span", { class: "faint" });
    this.close = el("button", { class: "link close", title: "Close this column", "aria-label": "Close this column of Ori", onclick: (e) => (e.stopPropagation(), app.closePhases(this)) }, "×");
    this.head = el("div", { class: "head", onclick: () => app.activate(this) }, el("strong", {}, "Ori"), " ", this.hint, this.close);
  }

  /** Show a state; the columns without history are empty. */
  fill() {
    const { history } = this.app;
    if (!history || !this.phase) return this.list.set([]);
    const now = history.linesAfter(this.phase);
    this.list.set(this.base === null ? now.map((line) => ({ line })) : difference(history.linesAfter(history.phases[this.base]), now));
    this.hint.textContent = this.base === null ? `after ${this.phase.name}, PTX line at the right` : `${history.phases[this.base].name} → ${this.phase.name}`;
    this.head.title = this.hint.textContent;
  }

  revealChange() {
    if (this.base !== null) this.list.reveal(this.list.items.findIndex((x) => x.mark !== " "), true);
  }
}
