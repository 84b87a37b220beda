// The book as a file: the formats of the plan, the layout settings, and the download.

import { ApiError, file } from "./api.js";
import { named, number, together, words } from "./format.js";
import { html, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { NUMBERS, refusals, useLook, wanted } from "./look.js";
import { useSignal } from "./signal.js";
import { settings } from "./site.js";
import { isPictureBook } from "./spreads.js";
import { Action, Check, Field, FontWarning, Heading, Notice, Problem, spoken, Waiting } from "./ui.js";

const SWITCHES = {
  include_cover: "Cover",
  include_title_page: "Title page",
  include_copyright_page: "Copyright page",
  include_toc: "Table of contents",
  include_illustrations: "Illustrations",
  page_numbers: "Page numbers",
  running_heads: "Running headers",
  justify: "Justified text",
  hyphenate: "Hyphenation",
  drop_caps: "Drop caps",
};
const CHOICES = {
  font: ["Font", { serif: "Serif", sans: "Sans serif", dyslexic: "Dyslexia-friendly" }],
  profile: ["Profile", { digital: "Screen", print: "Print" }],
};
// For print only.
const PRESS_CHOICES = {
  chapter_starts: ["Chapters start", { right: "on a right-hand page", any: "on any page" }],
  paper: ["Paper", { white: "White", cream: "Cream" }],
};
const PRESS = { color: "Colour pages", bleed: "Add bleed" };
// The line breaks of these texts are kept in the file.
const LONG_TEXTS = { dedication: ["Dedication", 1000], copyright_text: ["Copyright notice", 5000] };
const TEXTS = { isbn: ["ISBN", 20], publisher: ["Publisher", 200] };
const LABELS = Object.fromEntries(Object.entries({ ...NUMBERS, ...LONG_TEXTS, ...TEXTS }).map(([name, [label]]) => [name, label]));

export default function Files({ book, set }) {
  const site = useSignal(settings);
  const { data: user } = useResource("/auth/profile/");
  const look = useLook(book, set);
  const { chosen } = look;
  const features = user?.subscription?.plan.features;
  const allowed = features?.export_formats ?? [];
  const missing = book.chapters.filter(({ content }) => !content.trim()).map((chapter) => chapter.chapter_number);
  const [refused, mark] = useState({});
  const load = (format, more) => async () => {
    mark({});
    try {
      await download(`/books/${book.id}/${format}/`, { ...wanted(chosen), ...more });
    } catch (error) {
      const found = refusals(error, "settings");
      if (!Object.keys(found).some((name) => name in LABELS)) throw error;
      mark(found);
      const names = together(Object.keys(found).map((name) => LABELS[name]));
      throw new ApiError(error.status, "SETTINGS", `The file settings below are not valid. Correct: ${names}.`);
    }
  };
  return html`
    <${Heading}>Files<//>
    <${FontWarning} book=${book} />
    ${features?.watermark && html`<${Notice}><p>On your plan, every page of a file has a “Made with bookgen” watermark. <a href="#/plan">See other plans</a></p><//>`}
    ${missing.length > 0 && html`<${Notice}><p>${named(isPictureBook(book) ? "Spread" : "Chapter", missing)} ${missing.length === 1 ? "has" : "have"} no text yet and ${missing.length === 1 ? "is" : "are"} left out of the files.</p><//>`}
    <ul class="plain formats">
      ${site?.export_formats.map(({ value: format, label: name, use, settings: takes }) => html`
        <li key=${format} class="card">
          <h2>${name}</h2><p class="quiet">${takes.includes("cover_wrap") && chosen.profile === "print" ? "For a printing house. Choose the Screen profile for screens." : use}</p>
          ${allowed.includes(format)
            ? html`
              <div class="row"><${Action} kind="primary" busy="Creating the file …" aria-label="Download as ${name}" work=${load(`export_${format}`)}>Download<//>
                ${takes.includes("cover_wrap") && chosen.profile === "print" && html`<${Action} busy="Creating the file …" work=${load(`export_${format}`, { cover_wrap: true })}>Download print cover<//>`}</div>`
            : html`<p>Not included in your plan. <a href="#/plan">See plans</a></p>`}
        </li>`)}
    </ul>
    <p class="row"><a class="button" href="#/books/${book.id}/preview">Preview pages</a>
      <${Action} busy="Creating the preview …" work=${load("preview_pdf")}>Download a ten-page PDF preview<//></p>
    <${Origin} book=${book} />
    <details open=${Object.keys(chosen).length > 0}>
      <summary>File settings</summary>
      ${site && html`<${Looks} defaults=${site.export_settings} look=${look} wrong=${{ ...refused, ...look.wrong }} />`}
      <${Problem} error=${look.error} />
      ${Object.keys(chosen).length > 0 && html`
        <p class="row sticky"><${Action} work=${look.reset}>Reset to defaults<//>
          <span class="quiet" role="status">${look.isSaved ? "Saved with the book." : "Not saved yet. Stored on this device."}</span></p>`}
    </details>`;
}

/** The declaration that publishing platforms ask for: which parts of the book were made by AI. */
function Origin({ book }) {
  const [open, show] = useState(false);
  return html`
    <details onToggle=${(event) => show(event.target.open)}>
      <summary>AI content: what to tell publishers</summary>
      ${open && html`<${Declaration} book=${book} />`}
    </details>`;
}

function Declaration({ book }) {
  const { data: told, error } = useResource(`/books/${book.id}/declaration/`);
  if (!told) return html`<${Waiting} error=${error} />`;
  const { text, images } = told;
  const facts = [
    ["Written by models", text.model_words, words], ["Written by people", text.human_words, words], ["Changed by people", text.edited_words, words],
    ["Sample text", text.sample_words, words], ["Pictures by models", images.model, number], ["Pictures by people", images.human, number],
    ["Drawn by bookgen", images.drawn, number],
  ];
  return html`
    <p class="quiet">Amazon KDP and others ask whether a book has AI-generated content. This is your answer, from the history of the chapters and pictures.</p>
    <blockquote>${told.statement}</blockquote>
    <dl class="facts">${facts.filter(([, amount]) => amount > 0).map(([name, amount, as]) => html`<div key=${name}><dt>${name}</dt><dd>${as(amount)}</dd></div>`)}</dl>
    ${told.models.length > 0 && html`<p class="quiet">Models: ${told.models.join(", ")}</p>`}
    ${navigator.clipboard && html`<p><${Action} work=${() => copied(told.statement)}>Copy the statement<//></p>`}`;
}

async function copied(text) {
  await navigator.clipboard.writeText(text);
  spoken.set("Copied.");
}

function Looks({ defaults, look: { chosen, put, save }, wrong }) {
  const pick = (name, value) => {
    put(name, value);
    save();
  };
  const isForThePress = chosen.profile === "print";
  const value = (name) => chosen[name] ?? defaults[name];
  return html`
    <div class="columns">
      ${Object.entries({ ...CHOICES, ...(isForThePress && PRESS_CHOICES) }).map(([name, [label, options]]) => html`
        <${Field} as="select" label=${label} value=${value(name)} onChange=${(event) => pick(name, event.target.value)}>
          ${Object.entries(options).map(([key, text]) => html`<option value=${key} selected=${key === value(name)}>${text}</option>`)}<//>`)}
      ${Object.entries(NUMBERS).map(([name, [label, min, max, step]]) => html`
        <${Field} label=${label} type="number" min=${min} max=${max} step=${step} placeholder=${defaults[name] ?? "depends on page size"} value=${chosen[name] ?? ""}
          hint="${min} to ${max}" wrong=${wrong[name]} onInput=${(event) => put(name, event.target.value)} onBlur=${save} />`)}
    </div>
    <fieldset class="checks"><legend>Include</legend>
      ${Object.entries({ ...SWITCHES, ...(isForThePress && PRESS) }).map(([name, label]) => html`<${Check} label=${label} checked=${value(name)} onChange=${(event) => pick(name, event.target.checked)} />`)}
    </fieldset>
    <div class="columns">
      ${Object.entries({ ...LONG_TEXTS, ...TEXTS }).map(([name, [label, most]]) => html`
        <${Field} as=${name in LONG_TEXTS ? "textarea" : "input"} label=${label} maxlength=${most} dir="auto" wrong=${wrong[name]} value=${value(name)}
          onInput=${(event) => put(name, event.target.value)} onBlur=${save} />`)}
    </div>`;
}

async function download(path, chosen) {
  const { name, blob } = await file(path, { settings: chosen });
  const url = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  spoken.set(`Downloaded “${name}”.`);
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
