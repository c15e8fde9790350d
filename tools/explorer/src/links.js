// What lights up where: from a thing under the pointer, or a chosen one, to rows of every column.

/** The rows to mark, by column: instruction -> class, PTX line -> class, uid -> class, source place -> class. */
export class Marks {
  constructor() {
    this.sass = new Map();
    this.ptx = new Map();
    this.uid = new Map(); // "history:uid" -> class
    this.oriLine = new Map(); // PTX line, for instructions that are not in the code any more
    this.source = new Map();
    this.name = ""; // a PTX register or an Ori value
  }

  instruction(section, i, kind) {
    const row = section.instructions[i];
    if (!this.sass.has(i) || kind === "hit" || kind === "def") this.sass.set(i, kind);
    if (row.line && !this.ptx.has(row.line)) this.ptx.set(row.line, kind);
    if (row.uid) this.uid.set(`${row.function.history}:${row.uid}`, kind);
    if (row.file) this.source.set(`${row.file}:${row.source_line}`, kind);
  }
}

/** The marks of a focus: {kind: sass|ptx|ori|source|register|name|block, ...}; `shown`: the history in the middle column. */
export function marksOf(focus, doc, section, shown) {
  const m = new Marks();
  if (!focus || !section) return m;
  const add = (list, kind) => (list || []).forEach((i) => m.instruction(section, i, kind));
  if (focus.kind === "sass") {
    const row = section.instructions[focus.index];
    if (!row) return m;
    m.instruction(section, focus.index, "hit");
    if (row.line) {
      m.oriLine.set(row.line, "kin");
      for (const i of section.byLine.get(row.line) || []) if (i !== focus.index) m.sass.set(i, "kin");
    }
    for (const [, s] of row.waits_for) m.sass.set(s, "sets");
    for (const s of section.setters.get(focus.index) || []) m.sass.set(s, "waits");
  } else if (focus.kind === "ptx") {
    m.ptx.set(focus.line, "hit");
    m.oriLine.set(focus.line, "hit");
    add(section.byLine.get(focus.line), "hit");
    m.ptx.set(focus.line, "hit");
  } else if (focus.kind === "ori") {
    const at = section.byUid.get(`${shown}:${focus.uid}`);
    if (focus.line) {
      m.ptx.set(focus.line, "hit");
      m.oriLine.set(focus.line, "kin");
      for (const i of section.byLine.get(focus.line) || []) m.sass.set(i, "kin");
    }
    if (at !== undefined) m.instruction(section, at, "hit");
    if (focus.uid) m.uid.set(`${shown}:${focus.uid}`, "hit");
  } else if (focus.kind === "source") {
    m.source.set(focus.place, "hit");
    add(section.byPlace.get(focus.place), "hit");
  } else if (focus.kind === "register") {
    const { defs, uses } = section.valueOf(focus.name, focus.index);
    add([...uses], "use");
    add([...defs], "def");
  } else if (focus.kind === "block") {
    const b = section.blocks[focus.block];
    for (let i = b.start; i < b.end; i++) m.instruction(section, i, "hit");
  } else if (focus.kind === "name") {
    m.name = focus.name;
    if (/^v\d+$/.test(focus.name) && doc.histories[shown]) {
      const word = new RegExp(`\\b${focus.name}\\b`);
      for (const [text, line, uid] of doc.histories[shown].lines) {
        if (!uid || !word.test(text)) continue;
        const at = section.byUid.get(`${shown}:${uid}`);
        if (at !== undefined) m.instruction(section, at, new RegExp(`^(@\\S+ )?[^=]*\\b${focus.name}\\b[^=]*=`).test(text) ? "def" : "use");
        if (line && !m.ptx.has(line)) m.ptx.set(line, "kin");
      }
    }
  }
  return m;
}
