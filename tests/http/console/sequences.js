// Random sequences of edits over the real API. A request may get lost, or its response may. Others edit the chapter as well,
// even between an editor's read and its save. Pages are closed and opened. In the end, every typed word must be somewhere:
// in an editor, in the chapter, in its history, or on the device.
const [folder, chapter, token, from, count, done] = arguments;
const store = new Map();
const storage = {
  get length() { return store.size; },
  key: (at) => [...store.keys()][at],
  getItem: (key) => store.get(key) ?? null,
  setItem: (key, value) => store.set(key, value),
  removeItem: (key) => store.delete(key),
};
let state, network;
const random = (most) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * most);
};
const send = async (method, path, body, headers = {}) => {
  const reply = await fetch(`/api/v1/chapters/${chapter}/${path}`, {
    method, headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...headers },
    body: body && JSON.stringify(body),
  });
  if (!reply.ok) throw Object.assign(new Error(`${method} ${path} ${reply.status}`), { status: reply.status });
  return reply;
};
const call = async (...asked) => (await send(...asked)).json();
const gone = () => Object.assign(new Error("away"), { status: 0 });
let written;
const stranger = async () => {
  const { content } = await call("GET", "");
  await call("PATCH", "", { content: insert(content, `other${written++}`) });
};
const read = async () => {
  if (network === "away") throw gone();
  const reply = await send("GET", "");
  return { text: (await reply.json()).content, tag: reply.headers.get("ETag") };
};
const write = async (content, tag) => {
  if (network === "refused") throw gone();
  if (network === "overtaken") await stranger();
  const kept = (await call("PATCH", "", { content }, { "If-Match": tag })).content;
  if (network === "deaf") throw gone();
  return kept;
};
const insert = (text, word) => {
  const words = text.split(" ");
  words.splice(random(words.length + 1), 0, word);
  return words.join(" ").trim();
};

(async () => {
  const { Draft } = await import(`${folder}/autosave.js`);
  const lost = [];
  for (let seed = from; seed < from + count; seed++) {
    [state, network] = [seed, "whole"];
    store.clear();
    await call("PATCH", "", { content: `start${seed}` });
    let pages = 0;
    written = 0;
    const words = [];
    const editors = [];
    const isOpen = async (page) => editors.some((one) => one.page === page);
    const visit = async () => {
      const served = (await call("GET", "")).content;
      const page = `page${seed}-${++pages}`;
      const draft = new Draft({ account: 1, chapter, served, read, write, storage, isOpen, later: () => 0, page });
      editors.push(draft);
      await draft.open();
    };
    await visit();
    const steps = {
      type(draft) {
        words.push(`w${seed}x${words.length}`);
        draft.type(insert(draft.text, words.at(-1)));
      },
      async save(draft) {
        await draft.save();
      },
      async saveOverABadLine(draft) {
        network = ["away", "refused", "deaf", "overtaken"][random(4)];
        await draft.save();
        network = "whole";
      },
      async look(draft) {
        await draft.look();
      },
      stranger,
      async close(draft) {
        draft.close();
        editors.splice(editors.indexOf(draft), 1);
        if (!editors.length) await visit();
      },
      async visit() {
        if (editors.length < 2) await visit();
      },
      async choose(draft) {
        if (draft.state === "conflict") await draft.choose(random(2) === 0);
      },
      use(draft) {
        const other = draft.others[random(draft.others.length)];
        if (other && draft.state !== "conflict") draft.use(other);
      },
    };
    const names = ["type", "type", "type", ...Object.keys(steps)];
    for (let n = 0; n < 14; n++) await steps[names[random(names.length)]](editors[random(editors.length)]);
    for (const draft of editors) {
      await draft.save();
      if (draft.state === "conflict") await draft.choose(true);
      await draft.save();
      if (draft.dirty && draft.state !== "conflict") lost.push(`seed ${seed}: the service has not got the text`);
    }
    const found = new Set();
    const search = (text) => text.split(/\W+/).forEach((word) => found.add(word));
    [(await call("GET", "")).content, ...editors.map(({ text }) => text), ...store.values()].forEach(search);
    for (const { id } of await call("GET", "revisions/")) {
      if (words.every((word) => found.has(word))) break;
      search((await call("GET", `revisions/${id}/`)).content);
    }
    lost.push(...words.filter((word) => !found.has(word)).map((word) => `seed ${seed}: ${word}`));
  }
  return lost;
})().then(done, (error) => done([String(error.stack ?? error)]));
