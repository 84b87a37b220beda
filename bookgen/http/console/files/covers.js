// Covers: made by the image model, looked at, and one chosen.

import { post } from "./api.js";
import { count } from "./format.js";
import { html } from "./hooks.js";
import { useKept } from "./kept.js";
import { Cover, local } from "./tile.js";
import { Action, Field, Heading, spoken } from "./ui.js";

export default function Covers({ book, reload, set }) {
  const [kept, keep] = useKept("cover-new", book);
  const form = { style: "", prompt: "", count: 3, ...kept };
  const put = ({ target }) => keep({ ...kept, [target.name]: target.value });
  const make = async () => {
    const wanted = { count: Number(form.count), ...(form.style && { style: form.style }), ...(form.prompt && { prompt: form.prompt }) };
    const { covers } = await post(`/books/${book.id}/generate-cover/`, wanted);
    await reload();
    spoken.set(`${count(covers.length, "cover")} made.`);
  };
  const pick = (cover) => async () => set(await post(`/books/${book.id}/select-cover/`, { cover_id: cover.id }));
  return html`
    <${Heading}>Cover<//>
    ${book.covers.length === 0
      ? html`<div class="cover-now"><${Cover} book=${book} large /></div><p>This cover is drawn by the page. Have some made, and choose one for the files.</p>`
      : html`
        <ul class="plain covers">
          ${book.covers.map((cover, at) => html`
            <li key=${cover.id} class=${cover.is_selected ? "selected" : ""}>
              <img src=${local(cover.thumbnail_url ?? cover.image_url)} alt="Cover ${at + 1}, in the style ${cover.style || "of the house"}" width="200" height="320" loading="lazy" />
              ${cover.is_selected ? html`<p><b>The book’s cover</b></p>` : html`<${Action} work=${pick(cover)} aria-label="Choose cover ${at + 1}, in the style ${cover.style}">Choose<//>`}
              <p class="quiet">${at + 1}. ${cover.style}</p>
            </li>`)}
        </ul>`}
    <h2>${book.covers.length ? "More covers" : "Make covers"}</h2>
    <div class="columns">
      <${Field} label="Style" name="style" value=${form.style} onInput=${put} hint="Woodcut, watercolour, bold type …" />
      <${Field} label="How many" name="count" type="number" min="1" max="4" value=${form.count} onInput=${put} />
    </div>
    <${Field} as="textarea" rows="2" label="What it shows" name="prompt" value=${form.prompt} onInput=${put} hint="Left empty, it follows the book’s idea." />
    <${Action} kind="primary" busy="Making covers …" work=${make}>Make ${count(Number(form.count) || 3, "cover")}<//>`;
}
