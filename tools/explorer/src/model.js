// What the page knows of one compile: the sections with their instructions, the histories of functions, and the ways between them.

/** Adds an item to the list of a key. */
function put(map, key, item) {
  const list = map.get(key);
  if (list) list.push(item);
  else map.set(key, [item]);
}

/** One function with a section of its own. */
export class Section {
  constructor(data, side) {
    Object.assign(this, data);
    this.side = side;
    this.byLine = new Map(); // PTX line -> instructions
    this.byPlace = new Map(); // file:line -> instructions
    this.byUid = new Map(); // function:uid -> instruction
    this.memoryAt = new Map(this.memory.map((m) => [m.instruction, m]));
    this.splits = new Map(this.divergent.map(([i, why]) => [i, { thread: "the thread index", stride: "the thread index and numbers of the launch", data: "loaded data" }[why]])); // branch -> what it depends on
    this.setters = new Map(); // instruction -> instructions that wait for it
    this.loops = this.regions.filter((r) => r.kind === "loop");
    this.depth = new Uint8Array(this.instructions.length);
    for (const r of this.loops) for (let i = r.start; i < r.end; i++) this.depth[i] = Math.max(this.depth[i], r.depth);
    for (const f of this.functions) for (let i = f.start; i < f.end; i++) this.instructions[i].function = f;
    this.instructions.forEach((row, i) => {
      row.index = i;
      row.total = row.waited ? Object.values(row.waited).reduce((a, b) => a + b, 0) : 0;
      if (row.line) put(this.byLine, row.line, i);
      if (row.file) put(this.byPlace, `${row.file}:${row.source_line}`, i);
      if (row.uid) this.byUid.set(`${row.function.history}:${row.uid}`, i);
      for (const [, s] of row.waits_for) put(this.setters, s, i);
    });
    this.longest = Math.max(1, ...this.instructions.map((r) => r.total));
    this.padding = 0;
    for (let i = this.instructions.length - 1; i >= 0 && this.instructions[i].text.startsWith("NOP"); i--) this.padding++;
    this.count = this.instructions.length - this.padding;
  }

  /** The stretch of code around an instruction in which a register holds a value: [start, end). */
  rangeOf(register, at) {
    const flat = this.ranges[register] || [];
    let low = 0;
    let high = flat.length / 2;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (flat[2 * mid + 1] <= at) low = mid + 1;
      else high = mid;
    }
    return 2 * low < flat.length && flat[2 * low] <= at ? [flat[2 * low], flat[2 * low + 1]] : null;
  }

  /** Instructions that share a value of a register with one instruction: its definitions and uses. */
  valueOf(register, at) {
    const rows = this.instructions;
    const reads = (i) => rows[i].reads.includes(register);
    const writes = (i) => rows[i].writes.includes(register);
    const defs = new Set();
    const uses = new Set();
    const blocks = this.blocks;
    const preds = this.preds();
    // Back to the definitions from a use, forward to the uses from a definition, until nothing new is found.  A walk ends at a use from
    // which one of its kind has gone on before, so that each instruction is looked at once a use and not once for all of them.
    const from = { back: [], forward: [] };
    const went = { back: new Set(), forward: new Set() };
    const back = (start) => {
      const work = [[rows[start].block, start - 1]];
      while (work.length) {
        const [b, last] = work.pop();
        let open = true;
        for (let i = last; i >= blocks[b].start && open; i--) {
          if (writes(i)) {
            if (!defs.has(i)) defs.add(i), from.forward.push(i);
            if (!rows[i].text.startsWith("@")) open = false;
          } else if (went.back.has(i)) open = false;
        }
        if (open) for (const p of preds[b]) if (!went.back.has(`b${p}`) && this.live(register, blocks[p].end - 1)) went.back.add(`b${p}`), work.push([p, blocks[p].end - 1]);
      }
    };
    const forward = (start) => {
      const work = [[rows[start].block, start + 1]];
      while (work.length) {
        const [b, first] = work.pop();
        let open = true;
        for (let i = first; i < blocks[b].end && open; i++) {
          if (reads(i)) {
            if (went.forward.has(i)) open = false;
            went.forward.add(i);
            if (!uses.has(i)) uses.add(i), from.back.push(i);
          }
          if (writes(i) && !rows[i].text.startsWith("@")) open = false;
        }
        if (open) for (const [s] of blocks[b].edges) if (!went.forward.has(`b${s}`) && this.live(register, blocks[s].start)) went.forward.add(`b${s}`), work.push([s, blocks[s].start]);
      }
    };
    if (reads(at)) uses.add(at), from.back.push(at);
    if (writes(at)) defs.add(at), from.forward.push(at);
    while (from.back.length || from.forward.length) {
      if (from.back.length) {
        const i = from.back.pop();
        back(i);
        went.back.add(i);
      } else forward(from.forward.pop());
    }
    return { defs, uses };
  }

  live(register, i) {
    return this.rangeOf(register, i) !== null;
  }

  preds() {
    if (!this._preds) {
      this._preds = this.blocks.map(() => []);
      for (const b of this.blocks) for (const [s] of b.edges) this._preds[s].push(b.id);
    }
    return this._preds;
  }

  blockName(b) {
    return this.labels[this.blocks[b].start] || `B${b}`;
  }
}

/** The states of one function. */
export class History {
  constructor(data) {
    Object.assign(this, data);
    this.changed = [];
    this.phases.forEach((p, k) => {
      p.index = k;
      if (p.changed) this.changed.push(p);
    });
    this._lines = new Map();
  }

  /** Numbers of the lines after a phase that changed something. */
  linesAfter(phase) {
    let found = this._lines.get(phase.index);
    if (!found) {
      found = [];
      for (const [first, count] of phase.lines) for (let k = 0; k < count; k++) found.push(first + k);
      this._lines.set(phase.index, found);
    }
    return found;
  }
}

/** A compile, or a finished cubin. */
export class Doc {
  constructor(data, side) {
    this.data = data;
    this.side = side;
    this.title = data.title;
    this.ptx = data.ptx;
    this.sources = data.sources;
    this.remarks = data.remarks;
    this.sections = data.sections.map((s) => new Section(s, side));
    this.histories = data.histories.map((h) => new History(h));
    this.remarksAt = new Map();
    for (const r of this.remarks) if (r.line) put(this.remarksAt, r.line, r);
  }

  /** The line of the PTX where a function begins, 0 if it is not there. */
  entryLine(name) {
    const plain = name.replace(/^\$[^$]+\$/, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const at = this.ptx.findIndex((t) => new RegExp(`\\.(entry|func)\\b.*[\\s)]${plain}\\b`).test(t));
    return at + 1;
  }
}
