// The book as a file: which formats the plan gives, how it shall look, and the download.

import { file } from "./api.js";
import { html, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { useSignal } from "./signal.js";
import { settings } from "./site.js";
import { Action, Check, Field, Heading, Notice } from "./ui.js";

const FORMATS = [
  ["pdf", "PDF", "For reading on a screen, or for the press with the print profile."],
  ["epub", "EPUB", "For e-readers and phones."],
  ["docx", "Word", "For editing elsewhere."],
];
const SWITCHES = {
  include_cover: "Cover",
  include_title_page: "Title page",
  include_copyright_page: "Copyright page",
  include_toc: "Table of contents",
  include_illustrations: "Illustrations",
  page_numbers: "Page numbers",
  running_heads: "Running heads",
  justify: "Justified lines",
  hyphenate: "Hyphenation",
  drop_caps: "Initials at chapter openings",
};
const CHOICES = {
  font: ["Typeface", { serif: "Serif", sans: "Sans serif", dyslexic: "For dyslexic readers" }],
  chapter_starts: ["Chapters begin", { right: "on a right-hand page", any: "on any page" }],
  profile: ["Profile", { digital: "Screen", print: "Press" }],
};
const TEXTS = { dedication: ["Dedication", 1000], copyright_text: ["Copyright notice", 5000], isbn: ["ISBN", 20], publisher: ["Publisher", 200] };

export default function Files({ book }) {
  const site = useSignal(settings);
  const { data: user } = useResource("/auth/profile/");
  const [chosen, choose] = useState({});
  const features = user?.subscription?.plan.features;
  const allowed = features?.export_formats ?? ["pdf"];
  const put = (name, value) => choose({ ...chosen, [name]: value });
  return html`
    <${Heading}>Files<//>
    ${features?.watermark && html`<${Notice}><p>Files of your plan carry a small “Made with bookgen”. <a href="#/plan">See the other plans</a></p><//>`}
    ${book.status !== "completed" && html`<${Notice}><p>Not all chapters are written: the files hold what there is.</p><//>`}
    <ul class="plain formats">
      ${FORMATS.map(([format, name, use]) => html`
        <li key=${format} class="card">
          <h2>${name}</h2><p class="quiet">${use}</p>
          ${allowed.includes(format)
            ? html`<${Action} kind="primary" busy="Making the file …" aria-label="Download as ${name}" work=${() => download(`/books/${book.id}/export_${format}/`, chosen)}>Download<//>`
            : html`<p>Not in your plan. <a href="#/plan">See the plans</a></p>`}
        </li>`)}
    </ul>
    <p class="row"><a class="button" href="#/books/${book.id}/preview">Turn the pages</a>
      <${Action} busy="Making the preview …" work=${() => download(`/books/${book.id}/preview_pdf/`, chosen)}>Preview as PDF, ten pages<//></p>
    <details>
      <summary>How the files look</summary>
      ${site && html`<${Looks} defaults=${site.export_settings} chosen=${chosen} put=${put} />`}
    </details>`;
}

function Looks({ defaults, chosen, put }) {
  const value = (name) => chosen[name] ?? defaults[name];
  return html`
    <div class="columns">
      ${Object.entries(CHOICES).map(([name, [label, options]]) => html`
        <${Field} as="select" label=${label} value=${value(name)} onChange=${(event) => put(name, event.target.value)}>
          ${Object.entries(options).map(([key, text]) => html`<option value=${key} selected=${key === value(name)}>${text}</option>`)}<//>`)}
      <${Field} label="Size of type, points" type="number" min="8" max="18" step="0.5" placeholder="by page size" value=${chosen.font_size ?? ""}
        onInput=${(event) => put("font_size", event.target.value ? Number(event.target.value) : null)} />
      <${Field} label="Line spacing" type="number" min="1" max="2" step="0.05" value=${value("line_spacing")} onInput=${(event) => put("line_spacing", Number(event.target.value))} />
    </div>
    <fieldset class="checks"><legend>With</legend>
      ${Object.entries(SWITCHES).map(([name, label]) => html`<${Check} label=${label} checked=${value(name)} onChange=${(event) => put(name, event.target.checked)} />`)}
    </fieldset>
    <div class="columns">
      ${Object.entries(TEXTS).map(([name, [label, most]]) => html`
        <${Field} label=${label} maxlength=${most} dir="auto" value=${value(name)} onInput=${(event) => put(name, event.target.value)} />`)}
    </div>`;
}

async function download(path, chosen) {
  const { name, blob } = await file(path, { settings: chosen });
  const url = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
