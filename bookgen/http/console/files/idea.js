// Create a book: its idea and its other details. Input is kept until the book is created.

import { post } from "./api.js";
import { date, number, words } from "./format.js";
import { html, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { go } from "./router.js";
import { current, IDEA } from "./session.js";
import { useSignal } from "./signal.js";
import { settings } from "./site.js";
import { Field, Heading, Notice, Problem, useWork } from "./ui.js";

export const keptIdea = () => JSON.parse(localStorage.getItem(IDEA) ?? "{}");
export const keepIdea = (idea) => localStorage.setItem(IDEA, JSON.stringify(idea));

const DEFAULTS = { title: "", description: "", chapter_count: 10, content_language: language(), trim_size: "6x9" };

export default function NewBook() {
  const session = useSignal(current);
  const site = useSignal(settings);
  const [form, fill] = useState(() => ({ ...DEFAULTS, ...keptIdea() }));
  const { options, isFull, notice } = useBooksLeft();
  const put = ({ target }) => {
    const next = { ...form, [target.name]: target.value };
    fill(next);
    keepIdea(next);
  };
  const { run, busy, error } = useWork(async () => {
    if (!session) return go("#/signin/new");
    if (isFull) return undefined;
    const book = await post("/books/", { ...asked(form), title: form.title.trim() || "Untitled" });
    localStorage.removeItem(IDEA);
    return go(`#/books/${book.id}/outline`);
  });
  const most = options?.max_words || undefined; // 0 if no book can be created
  const length = Number(form.target_word_count) || usual(most);
  const chapters = Number(form.chapter_count);
  return html`
    <div class="narrow wide">
      <${Heading}>Create a book<//>
      <p><a href="#/picture">Create a children’s picture book instead</a></p>
      ${notice}
      <form onSubmit=${run}>
        <${BookFields} form=${form} put=${put} site=${site} wrong=${error?.fields ?? {}} most=${most} />
        <p class="quiet">${chapters >= 1 && length >= chapters && `${words(Math.round(length / chapters))} per chapter on average.`}
          ${session ? "" : " You need an account for the next step. What you typed is kept."}</p>
        <${Problem} error=${error} shown=${BOOK_FIELDS} />
        <div class="row"><button class="primary" aria-busy=${busy} aria-disabled=${isFull}>${session ? "Create book" : toAccount(site)}</button>
          <a href="#/">Back</a></div>
      </form>
    </div>`;
}

/** What the account's next book may be, whether it can have none now, and the notice that says so. */
export function useBooksLeft() {
  const session = useSignal(current);
  const billing = useSignal(settings)?.billing_enabled;
  const { data: now } = useResource(session && billing ? "/auth/subscriptions/current/" : null);
  const { data: options } = useResource(session ? "/auth/subscriptions/book-creation-options/" : null);
  const isFull = options?.can_create === false;
  const notice = isFull && html`
    <${Notice} kind="bad"><p>Your plan has no books left in this billing period, and you have no credits left, so you cannot create a book now.${now && ` The next period begins on ${date(now.usage.period_end)}.`}
      ${" "}What you type here is kept on this device. <a href="#/plan">See your plan</a></p><//>`;
  return { options, isFull, notice };
}

const FOLDED = ["genre", "target_audience", "subtitle", "author_name", "style_notes", "trim_size"];

const usual = (most = Infinity) => Math.min(20_000, most);

export const BOOK_FIELDS = ["title", "description", "blurb", "chapter_count", "target_word_count", "content_language", "genre", "target_audience", "subtitle", "author_name", "style_notes", "trim_size"];

/** The fields of a new or an edited book. `most` is the maximum number of words, if known. */
export function BookFields({ form, put, site, wrong, most, outlined = false }) {
  const field = (name) => ({ name, value: form[name] ?? "", onInput: put, wrong: wrong[name] });
  return html`
    <${Field} label="Title" maxlength="200" required=${outlined} dir="auto" hint=${outlined ? "" : "A working title is enough. You can also leave it empty for now."} ...${field("title")} />
    <${Field} as="textarea" rows="5" label="What is it about?" maxlength="5000" dir="auto" ...${field("description")}
      hint="Describe the people, the places, what happens and how it ends. More detail gives you a book closer to your idea." />
    ${outlined && html`<${Field} as="textarea" rows="6" label="Blurb" maxlength="4000" dir="auto" ...${field("blurb")}
      hint="The text on the back cover and in shops. If you leave it empty, it is drafted from the finished book." />`}
    <div class="columns">
      ${!outlined && html`<${Field} label="Chapters" type="number" min="1" max="100" required ...${field("chapter_count")} />`}
      <${Field} label="Total words" type="number" min="1" max=${most} placeholder=${number(usual(most))} ...${field("target_word_count")}
        hint=${`${most ? `Maximum: ${number(most)}. ` : ""}A novel has about 80,000.`} />
      <${Field} as="select" label="Language" ...${field("content_language")}>${languages(site, form.content_language)}<//>
    </div>
    <details open=${Boolean(form.genre || form.target_audience || form.style_notes) || FOLDED.some((name) => wrong[name])}>
      <summary>Genre, audience, style, page size</summary>
      <div class="columns">
        <${Field} label="Genre" maxlength="100" list="genres" ...${field("genre")} />
        <${Field} label="Audience" maxlength="200" ...${field("target_audience")} />
        <${Field} label="Subtitle" maxlength="200" dir="auto" ...${field("subtitle")} />
        <${Field} label="Author name" maxlength="200" dir="auto" ...${field("author_name")} />
      </div>
      <datalist id="genres">${site?.genres.map((genre) => html`<option value=${genre} />`)}</datalist>
      <${Field} as="textarea" rows="3" label="Style" maxlength="2000" dir="auto" ...${field("style_notes")}
        hint="Voice, tense, point of view, what to avoid." />
      <${Field} as="select" label="Page size" ...${field("trim_size")}>${site?.trim_sizes.map(
        (size) => html`<option value=${size.value} selected=${size.value === form.trim_size}>${size.label}</option>`,
      )}<//>
    </details>`;
}

/** The label of the button for a visitor, who needs an account for the next step. */
export const toAccount = (site) => (site?.registration_enabled === false ? "Sign in to continue" : "Create an account to continue");

export function languages(site, chosen) {
  const known = site?.languages ?? [{ value: chosen, label: chosen }];
  const all = known.some(({ value }) => value === chosen) ? known : [...known, { value: chosen, label: chosen }];
  return all.map(({ value, label }) => html`<option value=${value} selected=${value === chosen}>${label}</option>`);
}

/** The values of a form to send: numbers as numbers, and no empty values. */
export function asked(form) {
  const given = Object.entries(form).filter(([, value]) => value !== "" && value !== null);
  return Object.fromEntries(given.map(([name, value]) => [name, NUMBERS.has(name) ? Number(value) : value]));
}

const NUMBERS = new Set(["chapter_count", "target_word_count"]);

export function language() {
  const own = navigator.language.split("-")[0];
  return ["de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sv", "tr", "ru", "uk", "el", "vi", "zh", "ja", "ko", "ar", "he", "hi", "fa", "ur", "bn", "ta", "th", "id", "da", "nb", "fi", "hu", "ro", "sk", "hr", "bg", "ca"].includes(own) ? own : "en";
}
