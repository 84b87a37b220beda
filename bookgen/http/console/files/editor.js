// The editor: one column of text, and a line with the state of the text.

import { reachable } from "./api.js";
import { TwoTexts } from "./compare.js";
import { Draft } from "./autosave.js";
import { inLanguage, since, words } from "./format.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./hooks.js";
import { placeEdited, showEdited } from "./readingplace.js";
import { current } from "./session.js";
import { Action, Notice, off } from "./ui.js";
import { countWords } from "./wordcount.js";

export function Editor({ book, chapter, read, write, left, places }) {
  const draft = useDraft(chapter, read, write, left);
  const area = useRef();
  useLayoutEffect(() => grow(area.current), [draft?.text]);
  const isOpen = Boolean(draft);
  useEffect(() => {
    const { current: field } = area;
    if (!field) return undefined;
    const place = places.of(chapter.id);
    if (place) showEdited(field, place);
    return () => places.set(chapter.id, placeEdited(field));
  }, [isOpen]);
  if (!draft) return null;
  const keys = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      draft.save();
    }
  };
  if (draft.state === "conflict") return html`<${Conflict} draft=${draft} language=${inLanguage(book)} />`;
  return html`
    <${Others} draft=${draft} language=${inLanguage(book)} />
    <textarea ref=${area} class="page-like" aria-label="Chapter text (Markdown)" spellcheck="true" ...${inLanguage(book)}
      value=${draft.text} onInput=${(event) => draft.type(event.target.value)} onKeyDown=${keys}></textarea>
    <div class="row between sticky">
      <span class="state ${draft.state}" role="status">${said(draft)}</span>
      <span class="row"><span class="quiet">${words(countWords(draft.text))}</span>
        <button type="button" class="primary" onClick=${() => draft.save()} ...${off(!draft.dirty || draft.state === "gone")}>Save</button></span>
    </div>`;
}

function said({ state, error, full, dirty }) {
  if (full && dirty) return "This device has no storage left. Your changes exist only in this tab until they are saved.";
  if (state === "saving") return "Saving …";
  if (state === "gone") return "This chapter was replaced or deleted. Your text is stored on this device. Copy it before you leave.";
  if (state === "local") return error ? `Stored on this device. ${error.message} Saving is retried automatically.` : "Saving soon …";
  return "Saved.";
}

/** The question in a conflict. It replaces a text that may be long, so it takes the focus and scrolls into view. */
function Conflict({ draft, language }) {
  const question = useRef();
  useLayoutEffect(() => question.current.focus(), []);
  return html`
    <div ref=${question} tabindex="-1"><${Notice} kind="bad">
      <p role="alert"><b>This chapter was changed elsewhere while you edited it.</b> Compare both versions and choose one. The other version is kept too.</p>
      <div class="row">
        <${Action} kind="primary" work=${() => draft.choose(true)}>Keep my version<//>
        <${Action} work=${() => draft.choose(false)}>Use the other version<//>
      </div>
    <//></div>
    <${TwoTexts} left=${draft.theirs} right=${draft.text} leftName="Other version" rightName="My version" language=${language} />`;
}

function Others({ draft, language }) {
  const [shown, show] = useState(null);
  if (draft.others.length === 0) return null;
  const other = draft.others.find(({ key }) => key === shown);
  return html`
    <${Notice}>
      ${draft.others.map((one) => html`
        <div key=${one.key} class="row between">
          <span>Unsaved version of this chapter, ${since(one.at)}</span>
          <span class="row">
            <button type="button" class="link" aria-expanded=${one.key === shown} onClick=${() => show(one.key === shown ? null : one.key)}>Compare</button>
            <button type="button" class="link" onClick=${() => draft.use(one)}>Use this version</button>
            <button type="button" class="link" onClick=${() => draft.discard(one)}>Discard</button>
          </span>
        </div>`)}
    <//>
    ${other && html`<${TwoTexts} left=${other.text} right=${draft.text} leftName="Unsaved version" rightName="In the editor" language=${language} />`}`;
}

function useDraft(chapter, read, write, left) {
  const [draft, set] = useState(null);
  const [, redraw] = useState(0);
  const leave = useRef(left);
  leave.current = left;
  useEffect(() => {
    const changed = () => redraw((n) => n + 1);
    const mine = new Draft({ account: current.value.account.id, chapter: chapter.id, served: chapter.content, read, write, changed });
    const look = () => document.hidden || mine.look().catch(() => {});
    const again = (is) => is && mine.save();
    mine.open().then(() => set(mine)).then(look);
    const stop = reachable.subscribe(again);
    document.addEventListener("visibilitychange", look);
    return () => {
      stop();
      document.removeEventListener("visibilitychange", look);
      mine.close();
      mine.save().then(() => leave.current?.());
    };
  }, [chapter.id]);
  return draft;
}

// For browsers that cannot grow a field with its text in CSS.
function grow(area) {
  if (!area || CSS.supports("field-sizing", "content")) return;
  const before = scrollY;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 4}px`;
  scrollTo(scrollX, before);
}
