// A chapter: reading, editing, regenerating, its history and its pictures.

import { get, patch, post } from "./api.js";
import { inLanguage, words } from "./format.js";
import { Editor } from "./editor.js";
import { History } from "./history.js";
import { html, useKeys, useEffect, useRef, useState } from "./hooks.js";
import { Illustrations } from "./illustrations.js";
import { ChapterNotes } from "./notes.js";
import { placeRead, showRead } from "./readingplace.js";
import { go, toPlace } from "./router.js";
import { Prose } from "./prose.js";
import { pictures } from "./spreads.js";
import { Confirmed, Field, Heading, Waiting } from "./ui.js";

export default function Chapter({ book, status, reload, rest: [id, mode = "read"] }) {
  const at = book.chapters.findIndex((one) => String(one.id) === id);
  const chapter = book.chapters[at];
  const places = usePlace();
  const address = (one, as) => `#/books/${book.id}/chapters/${one.id}${as ? `/${as}` : ""}`;
  useKeys(({ key }) => {
    const next = { j: book.chapters[at + 1], k: book.chapters[at - 1] }[key];
    if (next) go(address(next));
    if (key === "e" && chapter && mode !== "edit") go(address(chapter, "edit"));
  });
  if (!chapter) return html`<${Waiting} error=${{ status: 404 }} />`;
  const View = { edit: Editing, former: History, pictures: Illustrations }[mode] ?? Reading;
  const step = (one, text) => (one ? html`<a href=${address(one)}>${text}</a>` : html`<span></span>`);
  return html`
    <nav class="row between chapter-nav" aria-label="In this book">
      <a href="#/books/${book.id}/read" dir="auto">${book.title}</a>
      <span class="row">
        <a href=${address(chapter)} aria-current=${mode === "read" ? "page" : undefined}>Read</a>
        <a href=${address(chapter, "edit")} aria-current=${mode === "edit" ? "page" : undefined}>Edit</a>
        <a href=${address(chapter, "former")} aria-current=${mode === "former" ? "page" : undefined}>History</a>
        <a href=${address(chapter, "pictures")} aria-current=${mode === "pictures" ? "page" : undefined}>Pictures</a>
      </span>
    </nav>
    <${View} key=${`${mode} ${chapter.id}`} book=${book} chapter=${chapter} status=${status} reload=${reload} places=${places} />
    ${mode === "read" && html`
      <nav class="row between" aria-label="Chapters">${step(book.chapters[at - 1], "← Previous chapter")}${step(book.chapters[at + 1], "Next chapter →")}</nav>`}`;
}

/** The reader's last place in the chapter, restored when they switch between reading and editing. */
function usePlace() {
  const { current: left } = useRef({});
  return { of: (id) => (left.id === id ? left.place : null), set: (id, place) => Object.assign(left, { id, place }) };
}

function Reading({ book, chapter, status, reload, places }) {
  const article = useRef();
  useEffect(() => {
    const { current: shown } = article;
    return () => places.set(chapter.id, placeRead(shown));
  }, []);
  const scroll = () => {
    const place = places.of(chapter.id);
    toPlace();
    if (place) showRead(article.current, place);
  };
  const [instructions, wish] = useState("");
  const again = async () => {
    await post(`/chapters/${chapter.id}/regenerate/`, { instructions });
    wish("");
    await reload();
  };
  const busy = status?.generation_status === "running";
  return html`
    <article ref=${article} class="reading" ...${inLanguage(book)}>
      <p class="quiet">${chapter.chapter_number}</p>
      <${Heading} title=${chapter.title} scroll=${scroll}>${chapter.title}<//>
      ${chapter.is_sample && html`<p class="quiet" lang="en" dir="ltr">Sample text: no language model wrote this chapter.</p>`}
      <${Prose} book=${book} text=${chapter.content} title=${chapter.title} pictures=${pictures(book, chapter)} />
      ${!chapter.content && html`<p class="quiet" lang="en" dir="ltr">No text yet. ${chapter.summary}</p>`}
    </article>
    ${chapter.content && html`
      <p class="row reading-foot"><span class="quiet">${words(chapter.word_count)}</span>
        <a href="#/books/${book.id}/chapters/${chapter.id}/edit">Edit</a>
        ${!busy && html`<${Confirmed} kind="link" title="Rewrite this chapter?" yes="Rewrite" work=${again}
          text="The model writes a new text for this chapter. This may take a minute. The current text is saved to the history."
          more=${html`<${Field} as="textarea" rows="3" maxlength="2000" dir="auto" label="What should change?" hint="If you leave this empty, the chapter is told in a new way." value=${instructions} onInput=${({ target }) => wish(target.value)} />`}>Rewrite chapter<//>`}
        <a href="#/books/${book.id}/chapters/${chapter.id}/pictures">Add a picture</a></p>
      <${ChapterNotes} book=${book} chapter=${chapter} reload=${reload} />`}`;
}

function Editing({ book, chapter, reload, places }) {
  const path = `/chapters/${chapter.id}/`;
  const read = async () => {
    const { data, tag } = await get(path);
    return { text: data.content, tag };
  };
  const write = async (content, tag) => (await patch(path, { content }, tag)).content;
  return html`
    <div class="column">
    <${Heading} title=${`Editing ${chapter.title}`}><span class="unseen">Editing </span><span ...${inLanguage(book)}>${chapter.title}</span><//>
    <${Editor} book=${book} chapter=${chapter} left=${reload} read=${read} write=${write} places=${places} />
    </div>`;
}
