// The text of a chapter while it is edited. Every change is stored on this device at once and stays there until the
// service has saved it. The service is read before each save: if someone else has changed the text, the conflict is
// shown as two texts, and nothing is overwritten unseen.

const REST_SECONDS = 30; // every save adds a version to the history, so saves are delayed
const RETRY_SECONDS = 5;
const PREFIX = "bookgen:draft";

// This page load. Its lock tells other pages that it is open (in browsers with locks).
const PAGE = Array.from(crypto.getRandomValues(new Uint32Array(3)), (part) => part.toString(36)).join("");
const GRACE_MILLISECONDS = 700; // a page that was just closed may hold its lock a moment longer
const { locks } = navigator;
const lock = (page) => `bookgen:page:${page}`;
locks?.request(lock(PAGE), () => new Promise(() => {}));

/** Whether that page may still be open; true if the browser cannot tell. */
async function lives(page) {
  try {
    await locks.request(lock(page), { signal: AbortSignal.timeout(GRACE_MILLISECONDS) }, () => {});
    return false;
  } catch {
    return true;
  }
}

const schedule = (work, milliseconds) => setTimeout(work, milliseconds);

export class Draft {
  /**
   * `read()` returns the service's text and its tag. `write(text, tag)` replaces that text and returns the saved one.
   * Both throw errors with a `status`; `write` throws 409 if the text has changed. `changed` is called whenever the
   * draft looks different. `page` is the id of this page load; `isOpen(page)` tells whether another one is still open.
   */
  constructor({ account, chapter, served, read, write, changed = () => {}, storage = localStorage, later = schedule, page = PAGE, isOpen = lives }) {
    Object.assign(this, { read, write, changed, storage, later, page, isOpen });
    this.place = `${PREFIX}:${account}:${chapter}:`;
    this.text = served;
    this.base = served; // the service's text when this draft was begun or last saved
    this.saved = served; // the text last sent to the service
    this.sent = []; // texts sent whose outcome is unknown
    this.state = "saved"; // saved, local, saving, conflict, gone
    this.theirs = null; // the service's text in a conflict
    this.error = null;
    this.others = []; // texts of this chapter from other pages, or that were set aside: { key, text, at }
    this.timer = null;
    this.working = null;
  }

  get dirty() {
    return this.text !== this.saved;
  }

  /** Restore what an earlier page of this chapter left unsaved, and find the texts of other pages. */
  async open() {
    const records = this.#records();
    const own = records.find(({ key }) => key === this.#key);
    if (own && !this.dirty) this.#take(own); // this chapter was left while the service was unreachable
    const left = records.filter((record) => record !== own);
    const open = await Promise.all(left.map(({ page }) => !page || this.isOpen(page)));
    const orphans = left.filter((_, at) => !open[at]);
    const [newest] = orphans.sort((a, b) => b.at - a.at);
    if (newest && !this.dirty) this.#take(newest);
    this.others = left.filter(({ key, text }) => text !== this.saved && this.storage.getItem(key) !== null);
    this.changed();
  }

  type(text) {
    this.text = text;
    if (this.state !== "conflict" && this.state !== "gone") this.state = this.dirty ? "local" : "saved";
    this.#keep();
    this.#plan(REST_SECONDS);
    this.changed();
  }

  /** Save now, or as soon as the current save is done. Resolves when the text is saved or cannot be for now. */
  async save() {
    if (this.working) await this.working;
    if (!this.dirty || this.state === "conflict" || this.state === "gone") return;
    this.working = this.#send().finally(() => (this.working = null));
    await this.working;
  }

  /** Check whether the service has a different text. */
  async look() {
    if (this.working || this.state === "conflict" || this.state === "gone") return;
    const { text: there } = await this.read();
    if (this.working || this.#isOurs(there)) return;
    if (this.dirty) this.#conflict(there);
    else this.#settle(there, there);
  }

  /** Resolve a conflict. The other text is kept until it is discarded. */
  async choose(mine) {
    const theirs = this.theirs;
    this.theirs = null;
    this.base = theirs;
    if (mine) {
      this.state = "local";
      this.#keep();
      await this.save(); // the other text goes to the history of the chapter
    } else {
      this.#setAside(this.text);
      this.text = theirs;
      this.#settle(theirs, theirs);
    }
  }

  /** Replace the text with one of `others`. The replaced text is set aside if it is unsaved. */
  use(other) {
    if (this.dirty) this.#setAside(this.text);
    this.#drop(other);
    this.type(other.text);
  }

  discard(other) {
    this.#drop(other);
    this.changed();
  }

  close() {
    clearTimeout(this.timer);
  }

  async #send() {
    const text = this.text;
    this.#show("saving");
    try {
      const { text: there, tag } = await this.read();
      if (!this.#isOurs(there)) return this.#conflict(there);
      this.sent.push(text);
      this.#keep();
      return this.#settle(there === text ? there : await this.write(text, tag), text);
    } catch (error) {
      this.error = error;
      const now = error.status === 409 ? await this.read().catch(() => null) : null;
      if (now && !this.#isOurs(now.text)) return this.#conflict(now.text);
      if (error.status === 404) return this.#show("gone");
      this.#plan(RETRY_SECONDS);
      return this.#show("local");
    }
  }

  /** The service has saved `text`; `base` is the saved version. */
  #settle(base, text) {
    const untouched = this.text === text || !this.dirty;
    Object.assign(this, { base, saved: text, sent: [], error: null });
    if (untouched) this.text = text;
    else this.#plan(REST_SECONDS);
    this.#keep();
    this.#show(this.dirty ? "local" : "saved");
  }

  #isOurs(there) {
    return there === this.base || there === this.text || this.sent.includes(there);
  }

  #conflict(theirs) {
    this.theirs = theirs;
    this.#keep();
    this.#show("conflict");
  }

  #show(state) {
    this.state = state;
    this.changed();
  }

  #plan(seconds) {
    clearTimeout(this.timer);
    this.timer = this.later(() => this.save(), seconds * 1000);
  }

  get #key() {
    return this.place + this.page;
  }

  #keep() {
    if (!this.dirty) return this.storage.removeItem(this.#key);
    const { text, base, saved, sent, page } = this;
    return this.#store(this.#key, { text, base, saved, sent, page, at: Date.now() });
  }

  #store(key, record) {
    try {
      this.storage.setItem(key, JSON.stringify(record));
      this.full = false;
    } catch {
      this.full = true; // the storage of this device is full, so save to the service at once
      this.#plan(0);
    }
  }

  #setAside(text) {
    const record = { text, at: Date.now() };
    const key = `${this.place}aside-${record.at.toString(36)}${Math.trunc(Math.random() * 1e6).toString(36)}`;
    this.#store(key, record);
    this.others = [...this.others, { key, ...record }];
  }

  /** Remove a text from `others`, and its record unless the other page has changed the record since. */
  #drop(other) {
    const now = this.#records().find(({ key }) => key === other.key);
    if (now?.text === other.text) this.storage.removeItem(other.key);
    this.others = this.others.filter(({ key }) => key !== other.key);
  }

  #take({ key, text, base, saved, sent }) {
    const served = this.base;
    Object.assign(this, { text, base, saved, sent });
    if (served === text) this.#settle(served, text);
    else if (!this.#isOurs(served)) this.#conflict(served);
    else this.type(text);
    if (key !== this.#key) this.storage.removeItem(key);
  }

  #records() {
    const keys = Array.from({ length: this.storage.length }, (_, at) => this.storage.key(at));
    return keys.filter((key) => key.startsWith(this.place)).flatMap((key) => {
      try {
        return [{ key, ...JSON.parse(this.storage.getItem(key)) }];
      } catch {
        return [];
      }
    });
  }
}
