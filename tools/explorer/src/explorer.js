// The page of `orias explore`.

import { App } from "./app.js";
import { start } from "./start.js";

start((root, data) => (window.explorer = new App(root, data)));
