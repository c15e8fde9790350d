// Small helpers for elements.

/** An element with attributes, and children that are elements or texts. */
export function el(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) out.addEventListener(name.slice(2), value);
    else if (name === "class") out.className = value;
    else if (name === "style") out.style.cssText = value;
    else out.setAttribute(name, value === true ? "" : value);
  }
  out.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return out;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  const out = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) out.addEventListener(name.slice(2), value);
    else out.setAttribute(name, value);
  }
  out.append(...children.flat());
  return out;
}

/** A number with separators of thousands. */
export function num(n) {
  return Number.isInteger(n) ? n.toLocaleString("en") : n.toLocaleString("en", { maximumFractionDigits: 1 });
}

/** A number with its noun. */
export function count(n, noun) {
  return `${num(n)} ${noun}${n === 1 ? "" : "s"}`;
}

export function hex(n) {
  return n.toString(16).padStart(4, "0");
}

/** The value of a colour variable of the style sheet. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const CAUSES = ["stall count", "scoreboard", "barrier", "branch", "unit", "memory queue", "register ports", "other warps"];

/** The operation of an instruction text, without its guard. */
export function operation(text) {
  return text.replace(/^@\S+ /, "").split(" ")[0];
}

export function causeClass(name) {
  return `cause-${CAUSES.indexOf(name)}`;
}
