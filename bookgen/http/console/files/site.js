// What the service offers: its public settings, read once and again whenever it was away.

import { get } from "./api.js";
import { signal } from "./signal.js";

export const NAME = document.title; // as it came with the page, before any view put its own before it

export const settings = Object.assign(signal(null), {
  async refresh() {
    try {
      settings.set((await get("/public-settings/")).data);
    } catch {
      // It can't be reached: the frame says so and asks again.
    }
  },
});
