// A new picture book for children: its readers and its characters. Input is kept until the book is created.

import { BuyAddon, PICTURE_BOOKS, useNeeded, usesText } from "./addons.js";
import { post } from "./api.js";
import { html, useState } from "./hooks.js";
import { language, languages, toAccount, useBooksLeft } from "./idea.js";
import { go } from "./router.js";
import { current, PICTURE } from "./session.js";
import { useSignal } from "./signal.js";
import { isSelling, settings } from "./site.js";
import { Field, Heading, Notice, Problem, useWork } from "./ui.js";

const AGES = { "0-3": "up to 3 years", "3-5": "3 to 5 years", "6-8": "6 to 8 years", "9-12": "9 to 12 years" };
const PAGES = Array.from({ length: 17 }, (_, at) => 8 + 2 * at); // two for each spread
const DEFAULTS = { title: "", age_range: "3-5", theme: "", characters: "", page_count: "24", content_language: language(), author_name: "" };

export default function NewPictureBook() {
  const session = useSignal(current);
  const site = useSignal(settings);
  const needed = useNeeded(PICTURE_BOOKS);
  const { isFull, notice } = useBooksLeft();
  const [form, fill] = useState(() => ({ ...DEFAULTS, ...JSON.parse(localStorage.getItem(PICTURE) ?? "{}") }));
  const put = ({ target }) => {
    const next = { ...form, [target.name]: target.value };
    fill(next);
    localStorage.setItem(PICTURE, JSON.stringify(next));
  };
  const { run, busy, error } = useWork(async () => {
    if (!session) return go("#/signin/picture");
    if (isFull) return undefined;
    const book = await post("/books/childrens/", asked(form));
    localStorage.removeItem(PICTURE);
    return go(`#/books/${book.id}/outline`);
  });
  const field = (name) => ({ name, value: form[name], onInput: put, wrong: error?.fields[name] });
  const choices = (options) => options.map(([value, label]) => html`<option value=${value} selected=${String(value) === form.page_count || value === form.age_range}>${label}</option>`);
  return html`
    <div class="narrow wide">
      <${Heading}>Create a picture book<//>
      <p>Each two-page spread gets a short text and one picture. The main character looks the same in all of them.</p>
      <p><a href="#/new">Create a book with chapters instead</a></p>
      ${notice}
      ${needed?.uses === 0 && html`
        <${Notice}><p>Picture books need the add-on “${needed.addon.name}”. What you type here is kept${isSelling(site) ? " while you pay" : ""}.</p>
          <div class="row"><${BuyAddon} ...${needed} /></div><//>`}
      <form onSubmit=${run}>
        <${Field} label="Title" maxlength="200" required dir="auto" ...${field("title")} />
        <${Field} as="textarea" rows="3" label="What is it about?" maxlength="500" dir="auto" ...${field("theme")} hint="The story or its message. For example: being brave in the dark." />
        <${Field} as="textarea" rows="3" label="Who is in it?" dir="auto" ...${field("characters")}
          hint="One character per line, the main character first, with their looks. For example: Pip, a small grey mouse with a red scarf." />
        <div class="columns">
          <${Field} as="select" label="Age group" ...${field("age_range")}>${choices(Object.entries(AGES))}<//>
          <${Field} as="select" label="Pages" ...${field("page_count")}>${choices(PAGES.map((pages) => [pages, `${pages} pages, ${pages / 2} pictures`]))}<//>
          <${Field} as="select" label="Language" ...${field("content_language")}>${languages(site, form.content_language)}<//>
          <${Field} label="Author name" maxlength="200" dir="auto" ...${field("author_name")} />
        </div>
        ${needed && needed.uses !== 0 && html`<p class="quiet">${usesText(needed)}</p>`}
        <${Problem} error=${error} shown=${Object.keys(DEFAULTS)} />
        <div class="row"><button class="primary" aria-busy=${busy} aria-disabled=${isFull}>${session ? "Create book" : toAccount(site)}</button>
          <a href="#/">Back</a></div>
      </form>
    </div>`;
}

const asked = (form) => ({ ...form, page_count: Number(form.page_count), characters: form.characters.split("\n").filter((line) => line.trim()) });
