// Opens the page: unpacks the data and builds the parts.

import { App } from "./app.js";
import { unpack } from "./unpack.js";

const root = document.getElementById("explorer");
unpack(document.getElementById("data").textContent)
  .then((data) => {
    window.explorer = new App(root, data);
    requestAnimationFrame(() => setTimeout(() => (root.dataset.ready = Math.round(performance.now()))));
  })
  .catch((error) => {
    root.textContent = `The page cannot be shown: ${error.message}`;
    throw error;
  });
