// Colours and clickable names in PTX, Ori and SASS text.

import { el } from "./dom.js";

const PTX = /(\/\/.*)|(%[\w$.]+)|(\.[A-Za-z_][\w:.]*)|(\b(?:0[xXdDfF][0-9a-fA-F]+|\d[\w.]*)\b)|([$\w]+:)|(^\s*[a-z]\w*)|(@!?)/g;
const SASS = /(\/\*.*?\*\/|:(?:UR|UP|R|P|B)\d*\b)|(\b(?:UR|UP|R|P|B)\d+\b)|(\b(?:RZ|URZ|PT|UPT|SRZ)\b)|(\bv\d+\b)|(`\([^)]*\)|\.L_\w+|\bb\d+\b)|(c\[[^\]]*\](?:\[[^\]]*\])?)|(\b(?:SR_[\w.]+|SB\d|desc)\b)|(-?\b0x[0-9a-f]+\b|-?\b\d[\d.e+-]*\b)|(\b[A-Za-z][\w.]*)/g;
const SASS_CLASSES = ["comment", "reg", "zero", "val", "label", "const", "special", "num", "op"];
const PTX_CLASSES = ["comment", "val", "mod", "num", "label", "op", "guard"];

function paint(text, pattern, classes, names) {
  const out = [];
  let last = 0;
  let first = true;
  for (const m of text.matchAll(pattern)) {
    if (m.index > last) out.push(text.slice(last, m.index));
    const k = m.findIndex((x, i) => i > 0 && x !== undefined) - 1;
    let kind = classes[k];
    if (kind === "op" && classes === SASS_CLASSES) {
      if (!first) kind = "mod";
      first = false;
    }
    const name = names.has(kind) ? m[0] : undefined;
    out.push(el("span", { class: `t-${kind}`, "data-name": name }, m[0]));
    last = m.index + m[0].length;
  }
  out.push(text.slice(last));
  return out;
}

const PTX_NAMES = new Set(["val"]);
const SASS_NAMES = new Set(["reg", "val", "label"]);

export function ptxTokens(text) {
  return paint(text.replaceAll("\t", "    "), PTX, PTX_CLASSES, PTX_NAMES);
}

export function sassTokens(text) {
  return paint(text, SASS, SASS_CLASSES, SASS_NAMES);
}
