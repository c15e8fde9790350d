// Opens a page: unpacks its data and builds its parts; marks it as ready.

import { unpack } from "./unpack.js";

/** `build(root, data)` fills the page. */
export function start(build) {
  const root = document.getElementById("page");
  unpack(document.getElementById("data").textContent)
    .then((data) => {
      build(root, data);
      requestAnimationFrame(() => setTimeout(() => (root.dataset.ready = Math.round(performance.now()))));
    })
    .catch((error) => {
      root.textContent = `The page cannot be shown: ${error.message}`;
      throw error;
    });
}
