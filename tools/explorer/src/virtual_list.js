// A list of many rows of one height, of which only those in sight are in the page.

import { el, colour } from "./dom.js";

export const ROW = 18;
const MORE = 12;
const LONG = 8000;

/** `options`: label, render(item, index) -> children, rowClass(item, index), onHover(index), onClick(index, event). */
export class VirtualList {
  constructor(options) {
    this.options = options;
    this.items = [];
    this.cursor = -1;
    this.rows = new Map();
    this.body = el("div", { class: "vbody", role: "presentation" });
    this.view = el("div", {
      class: "vlist", tabindex: "0", role: "listbox", "aria-label": options.label,
    }, this.body);
    this.ruler = el("canvas", { class: "ruler", "aria-hidden": "true" });
    this.element = el("div", { class: "vwrap" }, this.view, this.ruler);
    this.view.addEventListener("scroll", () => this.draw(), { passive: true });
    this.view.addEventListener("mouseover", (e) => this.options.onHover?.(this.indexOf(e.target), e));
    this.view.addEventListener("mouseleave", () => this.options.onHover?.(-1));
    this.view.addEventListener("click", (e) => {
      const i = this.indexOf(e.target);
      if (i >= 0) {
        this.cursor = i;
        this.options.onClick?.(i, e);
      }
    });
    this.view.addEventListener("keydown", (e) => this.key(e));
    this.ruler.addEventListener("click", (e) => {
      const box = this.ruler.getBoundingClientRect();
      this.reveal(Math.floor(((e.clientY - box.top) / box.height) * this.items.length), true);
    });
    new ResizeObserver(() => this.draw(true)).observe(this.view);
  }

  indexOf(target) {
    const row = target.closest?.("[data-index]");
    return row ? Number(row.dataset.index) : -1;
  }

  key(e) {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 }[e.key];
    if (!step || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    this.cursor = Math.max(0, Math.min(this.items.length - 1, this.cursor + step));
    this.reveal(this.cursor);
    this.options.onClick?.(this.cursor, e);
  }

  set(items) {
    this.items = items;
    this.cursor = Math.min(this.cursor, items.length - 1);
    this.body.style.height = `${items.length * ROW}px`;
    this.refresh();
  }

  /** Draw all rows in sight anew. */
  refresh() {
    this.body.replaceChildren();
    this.rows.clear();
    this.draw(true);
  }

  /** Give the rows in sight their classes anew; `brief`: what is under the pointer has changed, which a long list's ruler does not show. */
  repaint(brief = false) {
    for (const [i, row] of this.rows) row.className = `row ${this.options.rowClass?.(this.items[i], i) || ""}`;
    if (!brief || this.items.length < LONG) this.drawRuler();
  }

  draw(ruler = false) {
    const top = Math.max(0, Math.floor(this.view.scrollTop / ROW) - MORE);
    const end = Math.min(this.items.length, Math.ceil((this.view.scrollTop + this.view.clientHeight) / ROW) + MORE);
    for (const [i, row] of this.rows) {
      if (i < top || i >= end) {
        row.remove();
        this.rows.delete(i);
      }
    }
    const fresh = document.createDocumentFragment();
    for (let i = top; i < end; i++) {
      if (this.rows.has(i)) continue;
      const row = el("div", {
        class: `row ${this.options.rowClass?.(this.items[i], i) || ""}`, "data-index": i, role: "option",
        "aria-setsize": this.items.length, "aria-posinset": i + 1, style: `top:${i * ROW}px`,
      }, this.options.render(this.items[i], i));
      this.rows.set(i, row);
      fresh.append(row);
    }
    this.body.append(fresh);
    if (ruler) this.drawRuler();
  }

  drawRuler() {
    const { clientWidth: w, clientHeight: h } = this.ruler;
    if (!w || !h) return;
    const dpr = devicePixelRatio || 1;
    this.ruler.width = w * dpr;
    this.ruler.height = h * dpr;
    const c = this.ruler.getContext("2d");
    c.scale(dpr, dpr);
    const n = this.items.length || 1;
    const hit = colour("--hit-strong");
    const kin = colour("--kin-strong");
    const height = Math.max(2, h / n);
    for (const strong of [false, true]) {
      for (let i = 0; i < n; i++) {
        const name = this.options.rowClass?.(this.items[i], i) || "";
        const is = /\b(hit|found|sel)\b/.test(name);
        if (strong ? is : /\b(kin|sets|def|use|came|went)\b/.test(name) && !is) {
          c.fillStyle = strong ? hit : kin;
          c.fillRect(0, (i / n) * h, w, height);
        }
      }
    }
  }

  /** Scroll so that a row is in sight; to the middle if it is not yet, or if `middle`. */
  reveal(i, middle = false) {
    if (i < 0) return;
    const y = i * ROW;
    const { scrollTop: top, clientHeight: height } = this.view;
    if (middle || y < top || y + ROW > top + height) this.view.scrollLeft = 0;
    if (middle || y < top || y + ROW > top + height) this.view.scrollTop = Math.max(0, Math.round((y - height / 2) / ROW) * ROW);
    this.draw();
  }
}
