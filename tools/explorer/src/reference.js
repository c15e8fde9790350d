// The page of `orias reference`: all instructions; the chosen one with its forms, and the chosen form as a picture of its bits.

import { el, num } from "./dom.js";
import { start } from "./start.js";
import { sassTokens } from "./tokens.js";

const KINDS = ["opcode", "guard", "result", "source", "modifier", "control", "fixed"];

class Reference {
  constructor(root, data) {
    this.data = data;
    this.table = -1;
    this.chosen = null;
    this.form = null;
    for (const m of data.mnemonics) {
      m.tables = [...new Set(m.forms.flatMap((f) => f.tables))].sort((a, b) => a - b);
      m.seen = Math.max(0, ...data.tables.map((_, k) => m.forms.reduce((n, f) => n + (f.seen[f.tables.indexOf(k)] || 0), 0)));
      m.haystack = `${m.name} ${m.about} ${m.ptx.join(" ")} ${m.text} ${m.forms.map((f) => f.text).join(" ")}`.toLowerCase();
    }
    this.search = el("input", { type: "search", placeholder: "search: name, PTX, what it does  /", "aria-label": "Search", oninput: () => this.fill() });
    this.sm = el("select", { "aria-label": "SM", onchange: () => ((this.table = Number(this.sm.value)), this.fill(), this.show(this.chosen)) },
      el("option", { value: -1 }, "all SMs"), ...data.tables.map((t, k) => el("option", { value: k }, t)));
    this.pipe = el("select", { "aria-label": "Pipe", onchange: () => this.fill() },
      el("option", { value: "" }, "all pipes"), ...[...new Set(data.mnemonics.map((m) => this.pipeOf(m)))].filter(Boolean).sort().map((p) => el("option", { value: p }, p)));
    this.count = el("span", { class: "faint", role: "status" });
    this.list = el("div", { class: "names", role: "listbox", tabindex: "0", "aria-label": "Instructions", onkeydown: (e) => this.key(e) });
    this.detail = el("main", { class: "detail" });
    root.replaceChildren(
      el("header", {}, el("h1", {}, "SASS instructions"), this.search, this.sm, this.pipe, this.count,
        el("div", { class: "right" }, el("button", { class: "small", title: "light or dark (t)", "aria-label": "light or dark", onclick: () => this.theme() }, "◐"))),
      el("div", { class: "body" }, el("nav", { class: "side", "aria-label": "Instructions" }, this.list), this.detail));
    addEventListener("hashchange", () => this.follow());
    addEventListener("keydown", (e) => {
      if (/^(INPUT|SELECT)$/.test(e.target.tagName)) {
        if (e.key === "Escape") e.target.blur();
      } else if (e.key === "/") {
        e.preventDefault();
        this.search.focus();
      } else if (e.key === "t") this.theme();
    });
    this.fill();
    this.follow();
  }

  pipeOf(m) {
    return Object.values(m.times)[0]?.pipe || "";
  }

  theme() {
    const d = document.documentElement.dataset;
    d.theme = d.theme === "dark" ? "light" : "dark";
  }

  follow() {
    const [name, form] = decodeURIComponent(location.hash.slice(1)).split("/");
    const m = this.data.mnemonics.find((x) => x.name === name) || this.shown[0] || this.data.mnemonics[0];
    this.show(m, Number(form) || 0);
  }

  fill() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rank = (m) => (words[0] && m.name.toLowerCase() === words[0] ? 0 : words[0] && m.name.toLowerCase().startsWith(words[0]) ? 1 : words[0] && m.ptx.some((p) => p.startsWith(words[0])) ? 2 : 3);
    this.shown = this.data.mnemonics.filter((m) => (this.table < 0 || m.tables.includes(this.table)) && (!this.pipe.value || this.pipeOf(m) === this.pipe.value) && words.every((w) => m.haystack.includes(w)));
    if (words.length) this.shown = this.shown.map((m) => [rank(m), m]).sort((a, b) => a[0] - b[0]).map(([, m]) => m);
    this.count.textContent = `${this.shown.length} of ${this.data.mnemonics.length}`;
    this.list.replaceChildren(...this.shown.map((m) =>
      el("a", { href: `#${m.name}`, role: "option", "data-name": m.name, class: m === this.chosen ? "on" : "", title: m.about }, el("b", {}, m.name), el("span", {}, m.about))));
  }

  key(e) {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const at = this.shown.indexOf(this.chosen) + step;
    if (this.shown[at]) location.hash = this.shown[at].name;
  }

  show(m, form = 0) {
    this.chosen = m;
    for (const a of this.list.children) {
      const on = a.dataset.name === m.name;
      a.classList.toggle("on", on);
      a.setAttribute("aria-selected", on);
      if (on) a.scrollIntoView({ block: "nearest" });
    }
    const forms = m.forms.map((f, k) => [f, k]).filter(([f]) => this.table < 0 || f.tables.includes(this.table));
    const picked = forms.find(([, k]) => k === form) || forms[0] || [m.forms[0], 0];
    this.detail.replaceChildren(
      el("h2", {}, m.name), el("p", { class: "about" }, m.about), this.facts(m),
      el("h3", {}, "Bits"), this.bits(picked[0]),
      el("h3", {}, `Forms (${forms.length}${forms.length === m.forms.length ? "" : ` of ${m.forms.length}`})`), this.forms(m, forms, picked[1]),
      el("h3", {}, "What the simulator does"), this.semantics(m),
      el("details", {}, el("summary", {}, "The line of the table of operations"), el("code", {}, m.text || "none")));
    this.detail.scrollTop = 0;
  }

  facts(m) {
    const rows = [];
    const group = (name, of) => {
      const found = new Map();
      for (const t of this.data.tables) {
        if (!m.times[t] || (this.table >= 0 && this.data.tables[this.table] !== t)) continue;
        const text = of(m.times[t]);
        found.set(text, [...(found.get(text) || []), t.slice(3)]);
      }
      const texts = [...found].filter(([text]) => text);
      const one = found.size === 1;
      if (texts.length) rows.push(el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, ...texts.flatMap(([text, sms], k) => [k ? "; " : "", text, one ? "" : el("span", { class: "faint" }, ` (${sms.join(" ")})`)]))));
    };
    rows.push(el("tr", {}, el("th", { scope: "row" }, "SM"), el("td", {}, m.tables.map((k) => this.data.tables[k].slice(3)).join(" "))));
    group("pipe", (t) => t.pipe + (t.interval > 1 ? `, one every ${t.interval} cycles` : ""));
    group("latency", (t) => (t.late.includes("result") ? "variable: a scoreboard says when the result is there" : t.cycles ? `${t.cycles} cycles until an instruction of the same datapath may use the result${t.guess ? " (an upper bound, not measured)" : ""}` : ""));
    group("operands", (t) => (t.late.includes("source") ? "read late: a scoreboard says when their registers may be written" : "read at issue"));
    rows.push(el("tr", {}, el("th", { scope: "row" }, "from PTX"), el("td", {}, m.ptx.length ? m.ptx.map((p) => [el("code", {}, p), " "]).flat() : el("span", { class: "faint" }, "not seen in the programs that were compiled for this table"))));
    const seen = this.data.tables.map((t, k) => [t.slice(3), m.forms.reduce((n, f) => n + (f.seen[f.tables.indexOf(k)] || 0), 0)]).filter(([, n]) => n);
    rows.push(el("tr", {}, el("th", { scope: "row" }, "seen"), el("td", {}, seen.length ? `different words of compiler output: ${seen.map(([t, n]) => `${num(n)} (${t})`).join(", ")}` : el("span", { class: "faint" }, "not in the compiler output that was looked at"))));
    return el("table", { class: "factlist" }, el("tbody", {}, ...rows));
  }

  forms(m, forms, chosen) {
    return el("table", { class: "forms" }, el("thead", {}, el("tr", {}, ...["form", "opcode", "SM", "seen"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, ...forms.map(([f, k]) => {
        const go = () => (location.hash = `${m.name}/${k}`);
        return el("tr", { class: `go${k === chosen ? " on" : ""}`, tabindex: 0, onclick: go, onkeydown: (e) => e.key === "Enter" && go() },
          el("td", { class: "code form" }, ...sassTokens(f.text), f.alias ? el("span", { class: "faint" }, " another writing of a form above") : null), el("td", { class: "code" }, f.opcode),
          el("td", {}, f.tables.map((t) => this.data.tables[t].slice(3)).join(" ")), el("td", { class: "n" }, num(Math.max(0, ...f.seen))));
      })));
  }

  /** The 128 bits of a form, 32 in a row, a field a colour; then the fields. */
  bits(form) {
    const fields = [...form.fields.map((k) => this.data.fields[k]), ...this.data.decoded];
    const of = new Array(128).fill(null);
    fields.forEach((f, k) => f.bits.forEach((b) => (of[b] = k)));
    const mask = BigInt(`0x${form.mask}`);
    const value = BigInt(`0x${form.value}`);
    const cells = [];
    const mark = (k) => {
      for (const c of picture.querySelectorAll("[data-field]")) c.classList.toggle("hot", Number(c.dataset.field) === k);
      for (const r of rows) r.classList.toggle("hot", Number(r.dataset.field) === k);
    };
    for (let row = 3; row >= 0; row--) {
      cells.push(el("span", { class: "bitno" }, row * 32 + 31));
      for (let b = row * 32 + 31; b >= row * 32; b--) {
        const fixed = (mask >> BigInt(b)) & 1n;
        const k = of[b];
        const f = k === null ? null : fields[k];
        const kind = f && !(fixed && f.kind === "modifier") ? f.kind : fixed ? "fixed" : "free";
        const start = k !== null && (b % 32 === 31 || of[b + 1] !== k);
        cells.push(el("span", { class: `bit b-${kind}${start ? " first" : ""}`, "data-field": k ?? -1, title: `bit ${b}: ${f ? f.name : fixed ? "fixed" : "not used"}`, onmouseenter: () => mark(k ?? -2), onmouseleave: () => mark(-2) },
          fixed ? String((value >> BigInt(b)) & 1n) : start && run(of, b, k) > 2 ? el("small", {}, shortName(f.name)) : ""));
      }
      cells.push(el("span", { class: "bitno low" }, row * 32));
    }
    const picture = el("div", { class: "bits", role: "img", "aria-label": `128 bits of ${form.text}` }, ...cells);
    const rows = fields.map((f, k) => el("tr", { "data-field": k, onmouseenter: () => mark(k), onmouseleave: () => mark(-2) },
      el("td", {}, el("i", { class: `key b-${f.kind}` }), runs(f.bits)), el("td", {}, f.name), el("td", { class: "values" }, f.note || "", ...(f.values || []).map(([v, t]) => [el("code", {}, `${v}`), ` ${t || "–"}  `]).flat())));
    return el("div", {}, el("p", { class: "code form" }, ...sassTokens(form.text)), picture,
      el("p", { class: "legend" }, ...KINDS.map((k) => [el("i", { class: `key b-${k}` }), `${k} `]).flat(), ` · scoreboards that it may set: ${form.barriers.join(" and ") || "none"}.`, form.hidden ? ` Set by ptxas although no text shows it: 0x${form.hidden}.` : ""),
      el("details", { open: fields.length < 24 }, el("summary", {}, `${fields.length} fields`), el("table", { class: "fields" }, el("tbody", {}, ...rows))));
  }

  semantics(m) {
    const s = m.semantics;
    if (!s) return el("p", { class: "faint" }, "It is not simulated.");
    return el("div", {}, el("p", { class: "faint" }, `${s.file}, line ${s.line}. In it s.i32(o) and the like read an operand, m is the machine, a the threads that run.`), el("pre", { class: "source" }, s.code));
  }
}

/** Bits of a field from bit `b` down, in one row. */
function run(of, b, k) {
  let n = 0;
  while (b - n >= 0 && of[b - n] === k && (n === 0 || (b - n) % 32 !== 31)) n++;
  return n;
}

function shortName(name) {
  return name.split(":")[0].replace("result ", "d").replace("source ", "s").replace(/^of .*/, "").replace("stall count", "stall").replace("write barrier", "write").replace("read barrier", "read").replace("wait mask", "wait").replace("reuse flags", "reuse");
}

/** 74..75, 80 for bit numbers. */
function runs(bits) {
  const out = [];
  for (const b of [...bits].sort((x, y) => x - y)) {
    const last = out[out.length - 1];
    if (last && last[1] + 1 === b) last[1] = b;
    else out.push([b, b]);
  }
  return out.map(([a, b]) => (a === b ? `${a}` : `${a}..${b}`)).join(", ");
}

start((root, data) => (window.reference = new Reference(root, data)));
