// Covers: generating, viewing and choosing one.

import { post } from "./api.js";
import { count } from "./format.js";
import { html } from "./hooks.js";
import { useUnsaved } from "./unsaved.js";
import { Cover, local } from "./tile.js";
import { Action, Field, FontWarning, Heading, spoken } from "./ui.js";

export default function Covers({ book, reload, set }) {
  const [kept, keep] = useUnsaved("cover-new", book);
  const form = { style: "", prompt: "", count: 3, ...kept };
  const put = ({ target }) => keep({ ...kept, [target.name]: target.value });
  const make = async () => {
    const wanted = { count: Number(form.count), ...(form.style && { style: form.style }), ...(form.prompt && { prompt: form.prompt }) };
    const { covers } = await post(`/books/${book.id}/generate-cover/`, wanted);
    await reload();
    spoken.set(`${count(covers.length, "cover")} generated.`);
  };
  const pick = (cover) => async () => set(await post(`/books/${book.id}/select-cover/`, { cover_id: cover.id }));
  return html`
    <${Heading}>Cover<//>
    <${FontWarning} book=${book} />
    ${book.covers.length === 0
      ? html`<div class="cover-now"><${Cover} book=${book} large /></div><p>This is a placeholder. Generate covers and choose one.</p>`
      : html`
        ${!book.covers.some((one) => one.is_selected) && html`<p>Choose the cover for the files.</p>`}
        <ul class="plain covers">
          ${book.covers.map((cover, at) => html`
            <li key=${cover.id} class=${cover.is_selected ? "selected" : ""}>
              <img src=${local(cover.thumbnail_url ?? cover.image_url)} alt="Cover ${at + 1}, style: ${cover.style || "default"}" width="200" height="320" loading="lazy" />
              ${cover.is_selected ? html`<p><b>Selected cover</b></p>` : html`<${Action} work=${pick(cover)} aria-label="Choose cover ${at + 1}, style: ${cover.style}">Choose<//>`}
              <p class="quiet">${at + 1}. ${cover.style}</p>
            </li>`)}
        </ul>`}
    <h2>${book.covers.length ? "Generate more covers" : "Generate covers"}</h2>
    <div class="columns">
      <${Field} label="Style" name="style" value=${form.style} onInput=${put} hint="For example: woodcut, watercolour, bold type." />
      <${Field} label="Number of covers" name="count" type="number" min="1" max="4" value=${form.count} onInput=${put} />
    </div>
    <${Field} as="textarea" rows="2" label="What it should show" name="prompt" value=${form.prompt} onInput=${put} hint="If you leave this empty, the book’s idea is used." />
    <${Action} kind="primary" busy="Generating covers …" work=${make}>Generate ${count(Number(form.count) || 3, "cover")}<//>`;
}
