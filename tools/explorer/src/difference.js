// The difference of two lists of line numbers: what stays in order, what went, what came.

/** Indices of a longest increasing subsequence. */
export function increasing(values) {
  const tails = [];
  const before = new Array(values.length);
  values.forEach((v, i) => {
    let lo = 0;
    let hi = tails.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (values[tails[mid]] < v) lo = mid + 1;
      else hi = mid;
    }
    before[i] = lo ? tails[lo - 1] : -1;
    tails[lo] = i;
  });
  const out = [];
  for (let i = tails.length ? tails[tails.length - 1] : -1; i >= 0; i = before[i]) out.push(i);
  return out.reverse();
}

/** Rows {mark, line}: mark is " ", "-" (only in `a`) or "+" (only in `b`).  Lines that occur once in each list are the anchors. */
export function difference(a, b) {
  const count = new Map();
  for (const x of a) count.set(x, (count.get(x) || 0) + 1);
  const inB = new Map();
  b.forEach((x, i) => inB.set(x, inB.has(x) ? -1 : i));
  const pairs = [];
  a.forEach((x, i) => {
    const j = inB.get(x);
    if (count.get(x) === 1 && j !== undefined && j >= 0) pairs.push([i, j]);
  });
  const kept = increasing(pairs.map((p) => p[1])).map((k) => pairs[k]);
  const out = [];
  let i = 0;
  let j = 0;
  for (const [ai, bj] of [...kept, [a.length, b.length]]) {
    while (i < ai && j < bj && a[i] === b[j]) out.push({ mark: " ", line: a[i++] }), j++;
    const tail = [];
    let ae = ai;
    let be = bj;
    while (ae > i && be > j && a[ae - 1] === b[be - 1]) tail.push({ mark: " ", line: a[--ae] }), be--;
    while (i < ae) out.push({ mark: "-", line: a[i++] });
    while (j < be) out.push({ mark: "+", line: b[j++] });
    out.push(...tail.reverse());
    i = ai;
    j = bj;
    if (ai < a.length) out.push({ mark: " ", line: a[i++] }), j++;
  }
  return out;
}
