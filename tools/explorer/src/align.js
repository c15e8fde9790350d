// Which instructions of two compiles belong together where no line says it: the longest common order of operations, by parts.

import { operation } from "./dom.js";
import { increasing } from "./difference.js";

const LARGEST = 600;

/** What stays of an instruction when registers, numbers and addresses are another compiler's. */
function essence(text) {
  const operands = text.replace(/^@\S+ /, "").replace(/^\S+/, "");
  return operation(text) + operands.replace(/[^,]*c\[[^\]]*\](\[[^\]]*\])?[^,]*/g, "c").replace(/\b(UR|UP|R|P|B|SB)(\d+|Z|T)(\.\w+)*/g, "$1").replace(/`\([^)]*\)|0x[0-9a-f]+/g, "n").replace(/[-~!| ]/g, "");
}

/** For each instruction of a the index of its partner in b, -1 for none. */
export function align(a, b) {
  const names = [a, b].map((rows) => rows.map((r) => essence(r.text)));
  const to = new Int32Array(a.length).fill(-1);
  pair(names[0], names[1], 0, a.length, 0, b.length, to, 3);
  return to;
}

/** Pairs a part of both: at instructions that occur once in each with their neighbours, and between these again. */
function pair(a, b, a0, a1, b0, b1, to, width) {
  while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) to[a0++] = b0++;
  while (a1 > a0 && b1 > b0 && a[a1 - 1] === b[b1 - 1]) to[--a1] = --b1;
  if (a0 === a1 || b0 === b1) return;
  const gram = (names, i, end) => (i + width <= end ? names.slice(i, i + width).join("|") : "");
  const once = (names, from, end) => {
    const found = new Map();
    for (let i = from; i + width <= end; i++) {
      const g = gram(names, i, end);
      found.set(g, found.has(g) ? -1 : i);
    }
    return found;
  };
  const inB = once(b, b0, b1);
  const pairs = [...once(a, a0, a1)].filter(([g, i]) => i >= 0 && inB.get(g) >= 0).map(([g, i]) => [i, inB.get(g)]).sort((x, y) => x[0] - y[0]);
  const kept = increasing(pairs.map((p) => p[1])).map((k) => pairs[k]);
  if (!kept.length) {
    if (width > 1) pair(a, b, a0, a1, b0, b1, to, width - 1);
    else common(a, b, a0, a1, b0, b1, to);
    return;
  }
  let [i, j] = [a0, b0];
  for (const [x, y] of kept) {
    if (x < i || y < j) continue;
    pair(a, b, i, x, j, y, to, width);
    to[x] = y;
    [i, j] = [x + 1, y + 1];
  }
  pair(a, b, i, a1, j, b1, to, width);
}

/** The longest common subsequence of two short parts; of long ones the first equal ones in order. */
function common(a, b, a0, a1, b0, b1, to) {
  const n = a1 - a0;
  const m = b1 - b0;
  if (n > LARGEST || m > LARGEST) {
    for (let i = a0, j = b0; i < a1; i++) {
      const at = b.indexOf(a[i], j);
      if (at >= 0 && at < Math.min(b1, j + 40)) (to[i] = at), (j = at + 1);
    }
    return;
  }
  const best = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) best[i][j] = a[a0 + i] === b[b0 + j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  for (let i = 0, j = 0; i < n && j < m; ) {
    if (a[a0 + i] === b[b0 + j]) to[a0 + i++] = b0 + j++;
    else if (best[i + 1][j] >= best[i][j + 1]) i++;
    else j++;
  }
}
