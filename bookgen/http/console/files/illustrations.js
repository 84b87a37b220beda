// The pictures of a chapter: creating, describing, moving and removing them.

import { patch, post, remove } from "./api.js";
import { inLanguage } from "./format.js";
import { html, useLayoutEffect, useRef, useState } from "./hooks.js";
import { useUnsaved } from "./unsaved.js";
import { useResource } from "./live.js";
import { blocks } from "./prose.js";
import { isPictureBook } from "./spreads.js";
import { local } from "./tile.js";
import { Action, Confirmed, Field, Heading, Problem, spoken, useWork } from "./ui.js";

export function Illustrations({ book, chapter, reload }) {
  const [newest, tell] = useState(null);
  const all = chapter.illustrations;
  return html`
    <${Heading} title=${`Pictures in ${chapter.title}`}>Pictures in <span ...${inLanguage(book)}>${chapter.title}</span><//>
    ${all.length > 1 && isPictureBook(book) && html`<p>A spread has room for one picture: the downloaded files show only the newest.</p>`}
    ${all.length > 0 && html`<ol class="plain">
      ${all.map((one, at) => html`<${Illustration} key=${one.id} book=${book} chapter=${chapter} one=${one} name="picture ${at + 1}" isNew=${one.id === newest} reload=${reload} />`)}
    </ol>`}
    <h2>${all.length ? "Add another picture" : "Add a picture"}</h2>
    <${Another} book=${book} chapter=${chapter} reload=${reload} made=${tell} />`;
}

function Another({ book, chapter, reload, made }) {
  const { data: user } = useResource("/auth/profile/");
  const [form, keep] = useUnsaved(`picture-new-${chapter.id}`, book);
  const put = ({ target }) => keep({ ...form, [target.name]: target.value });
  const make = async () => {
    spoken.set("Creating the picture …");
    const { id } = await post(`/chapters/${chapter.id}/generate-image/`, form ?? {});
    keep(null);
    made(id);
    await reload();
    spoken.set("Picture created.");
  };
  if (user?.subscription?.plan.features.chapter_images === false && !isPictureBook(book)) {
    return html`<p>Your plan does not include chapter pictures. <a href="#/plan">See plans</a></p>`;
  }
  return html`
    <${Field} as="textarea" rows="2" label="What it should show" name="prompt" maxlength="2000" dir="auto" value=${form?.prompt ?? ""} onInput=${put}
      hint="If you leave this empty, the chapter’s text is used." />
    <${Field} label="Caption" name="caption" maxlength="500" dir="auto" value=${form?.caption ?? ""} onInput=${put} hint="Printed below the picture. Optional." />
    <${Action} kind="primary" busy="Creating the picture (this may take a minute) …" work=${make}>Create picture<//>`;
}

const FIELDS = ["caption", "alt_text", "position"];

function Illustration({ book, chapter, one, name, isNew, reload }) {
  const card = useRef();
  const places = blocks(book, chapter.content, chapter.title);
  const now = { ...one, position: Math.min(one.position, places.length) };
  const [edits, edit] = useUnsaved(`picture-${one.id}`, book);
  const form = { ...now, ...edits };
  const changed = FIELDS.filter((field) => String(form[field]) !== String(now[field]));
  const field = (called) => ({ name: called, value: form[called], onInput: ({ target }) => edit({ ...edits, [called]: target.value }) });
  const { run, busy, error } = useWork(async () => {
    if (changed.length === 0) return;
    const told = Object.fromEntries(changed.map((called) => [called, called === "position" ? Number(form.position) : form[called]]));
    await patch(`/illustrations/${one.id}/`, told);
    await reload();
    edit(null);
    spoken.set("Saved.");
  });
  const away = async () => {
    await remove(`/illustrations/${one.id}/`).catch(goneAlready);
    edit(null);
    await reload();
  };
  useLayoutEffect(() => {
    if (!isNew) return;
    card.current.focus({ preventScroll: true });
    card.current.scrollIntoView({ block: "nearest" });
  }, [isNew]);
  return html`
    <li class="card illustration" ref=${card} tabindex="-1">
      <img src=${local(one.image_url)} alt=${one.alt_text} width=${one.width} height=${one.height} loading="lazy" decoding="async" ...${inLanguage(book)} />
      <form onSubmit=${run} aria-label=${`P${name.slice(1)}`}>
        <${Field} label="Caption" maxlength="500" dir="auto" ...${field("caption")} />
        <${Field} label="Alt text" maxlength="500" required dir="auto" ...${field("alt_text")} />
        ${!isPictureBook(book) && html`<${Field} as="select" label="Position" ...${field("position")}>${options(places, Number(form.position))}<//>`}
        <${Problem} error=${error} />
        <div class="row"><button aria-busy=${busy} aria-disabled=${changed.length === 0} aria-label="${changed.length ? "Save" : "Saved"} ${name}">${changed.length ? "Save" : "Saved"}</button>
          <${Confirmed} kind="link" destroys title="Remove this picture?" yes="Remove" text="The picture is deleted from the book. This cannot be undone." work=${away} aria-label="Remove ${name}">Remove<//>
          ${changed.length > 0 && html`<span class="quiet">Unsaved changes are stored on this device.</span>`}</div>
      </form>
    </li>`;
}

function goneAlready(error) {
  if (error.status !== 404) throw error;
}

const BEGINNING = 40; // characters

const options = (places, chosen) => [null, ...places].map((place, at) => html`
  <option value=${at} selected=${at === chosen}>${place ? `After paragraph ${at}: \u2068${beginning(place)}\u2069` : "Before the text"}</option>`);

function beginning({ type, raw }) {
  if (type === "hr") return "⁂";
  const text = raw.replace(/[*_`#>|]|-{3,}/g, "").replace(/\s+/g, " ").trim();
  return text.length > BEGINNING ? `${text.slice(0, BEGINNING).replace(/\s\S*$/, "")} …` : text;
}
