// The public settings of the service, loaded once, and again after it was unreachable.

import { get } from "./api.js";
import { signal } from "./signal.js";

export const NAME = document.title; // the title of the page itself, before a view adds its own

/** Whether the service has no language model, so that its books are sample text. */
export const isOffline = (site) => Boolean(site?.models?.every((name) => name.startsWith("offline")));

/** Whether plans, credits and add-ons can be bought. */
export const isSelling = (site) => site?.features.payments === true;

/** The guide to setting up a model. */
export const modelsGuide = new URL("../../api/v1/docs/models/", import.meta.url).href;

export const settings = Object.assign(signal(null), {
  async refresh() {
    try {
      settings.set((await get("/public-settings/")).data);
    } catch {
      // It is unreachable: the frame says so and retries.
    }
  },
});
