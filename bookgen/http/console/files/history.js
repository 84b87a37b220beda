// The history of a chapter: earlier texts, compared with the current one and restored.

import { post } from "./api.js";
import { TwoTexts } from "./compare.js";
import { inLanguage, since, words } from "./format.js";
import { html, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { go } from "./router.js";
import { Action, Heading, Waiting } from "./ui.js";

const REPLACED_BY = {
  editor: "before an edit",
  model: "before a new run",
  regenerate: "before a rewrite",
  restore: "before another version was restored",
  proofreading: "before proofreading",
  review: "before the editor's revision",
  not_preferred: "a revision that was not used, because the draft was preferred",
  quality_gate: "the model’s text, before the quality check",
};

// An entry of the model without words has only the title and summary that it proposed; the author's were kept instead.
const named = (one) =>
  one.origin === "model" && one.word_count === 0 ? "the model’s title and summary" : `${REPLACED_BY[one.origin]} (${words(one.word_count)})`;

export function History({ book, chapter, reload }) {
  const { data: listed, error } = useResource(`/chapters/${chapter.id}/revisions/`);
  const [chosen, choose] = useState(null);
  const id = chosen ?? listed?.[0]?.id;
  const { data: former } = useResource(id ? `/chapters/${chapter.id}/revisions/${id}/` : null);
  if (!listed) return html`<${Waiting} error=${error} />`;
  const isPlan = former?.title != null;
  const text = (one) => (isPlan ? `${one.title}\n\n${one.summary}` : one.content);
  const restore = async () => {
    await post(`/chapters/${chapter.id}/revisions/${id}/restore/`);
    await reload();
    go(`#/books/${book.id}/chapters/${chapter.id}`);
  };
  return html`
    <${Heading} title=${`History of ${chapter.title}`}>History of <span ...${inLanguage(book)}>${chapter.title}</span><//>
    ${listed.length === 0
      ? html`<p>There are no earlier versions yet. When you or the model replace this chapter’s text, the previous text is saved here. The newest 20 are kept.</p>`
      : html`
        <div class="field"><label for="earlier">Compare with</label>
          <select id="earlier" onChange=${(event) => choose(Number(event.target.value))}>
            ${listed.map((one) => html`<option value=${one.id} selected=${one.id === id}>${since(one.created_at)}, ${named(one)}</option>`)}
          </select></div>
        ${former && html`
          <div class="row"><${Action} work=${restore}>${isPlan ? "Restore title and summary" : "Restore this version"}<//><span class="quiet">${isPlan ? "The chapter’s text does not change." : "The current text is saved to the history."}</span></div>
          <${TwoTexts} left=${text(former)} right=${text(chapter)} leftName="Earlier version" rightName="Current version" language=${inLanguage(book)} />`}`}`;
}
