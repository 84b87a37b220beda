// node ace.js ACE-CLI FOLDER EPUB...: Ace's report on each book in a folder of its name below FOLDER, by one Chromium.
"use strict";
const { createRequire } = require("node:module");
const { realpathSync } = require("node:fs");
const { basename, join } = require("node:path");

const [program, folder, ...books] = process.argv.slice(2);
const installed = createRequire(realpathSync(program));
const ace = installed("@daisy/ace-core");
const browser = installed("@daisy/ace-axe-runner-puppeteer");
const opened = { ...browser, launch: async () => {}, close: async () => {} };

(async () => {
  await browser.launch();
  try {
    for (const book of books) {
      await ace(book, { cwd: process.cwd(), outdir: join(folder, basename(book, ".epub")), silent: true }, opened);
    }
  } finally {
    await browser.close();
  }
})();
