// The details of a book: editing them, copying the book, deleting it.

import { UNLIMITED } from "./addons.js";
import { patch, post } from "./api.js";
import { deleteSoon, UNDO_SECONDS } from "./deletions.js";
import { date } from "./format.js";
import { html } from "./hooks.js";
import { asked, BOOK_FIELDS, BookFields } from "./idea.js";
import { useUnsaved } from "./unsaved.js";
import { useResource } from "./live.js";
import { go } from "./router.js";
import { useSignal } from "./signal.js";
import { settings } from "./site.js";
import { Action, Confirmed, FontWarning, Heading, Problem, spoken, useWork } from "./ui.js";

const FIELDS = ["title", "subtitle", "author_name", "genre", "target_audience", "description", "blurb", "style_notes", "trim_size", "content_language", "target_word_count"];
const MAX_TITLE = 200;

export default function Details({ book, set }) {
  const site = useSignal(settings);
  const { data: options } = useResource("/auth/subscriptions/book-creation-options/");
  const { data: now } = useResource(site?.billing_enabled ? "/auth/subscriptions/current/" : null);
  // A book longer than the current plan allows keeps its length.
  const most = options?.max_words ? Math.max(options.max_words, book.target_word_count) : undefined;
  const names = book.chapters.length ? FIELDS : [...FIELDS, "chapter_count"];
  const [edits, edit] = useUnsaved("details-edit", book);
  const form = { ...Object.fromEntries(names.map((name) => [name, book[name]])), ...edits };
  const put = ({ target }) => edit({ ...edits, [target.name]: target.value });
  const changed = names.filter((name) => String(form[name]) !== String(book[name]));
  const { run, busy, error } = useWork(async () => {
    if (changed.length === 0) return;
    const { target_word_count: none, ...cleared } = Object.fromEntries(changed.filter((name) => form[name] === "").map((name) => [name, ""]));
    set(await patch(`/books/${book.id}/`, { ...cleared, ...asked(Object.fromEntries(changed.map((name) => [name, form[name]]))) }));
    edit(null);
    spoken.set("Saved.");
  });
  const duplicate = async () => {
    const copy = await post(`/books/${book.id}/duplicate/`);
    const title = `Copy of ${book.title}`;
    // If the longer title would exceed the limit, the copy has the same title.
    if (title.length <= MAX_TITLE) await patch(`/books/${copy.id}/`, { title });
    spoken.set("You are now in the copy.");
    go(`#/books/${copy.id}/details`);
  };
  return html`
    <${Heading}>Details<//>
    <${FontWarning} book=${book} />
    <form onSubmit=${run}>
      <${BookFields} form=${form} put=${put} site=${site} wrong=${error?.fields ?? {}}
        most=${most} outlined=${book.chapters.length > 0} />
      <${Problem} error=${error} shown=${BOOK_FIELDS} />
      <div class="row ${changed.length ? "sticky" : ""}"><button class="primary" aria-busy=${busy} aria-disabled=${changed.length === 0}>${changed.length ? "Save" : "Saved"}</button>
        ${changed.length > 0 && html`<button type="button" onClick=${() => edit(null)}>Undo changes</button><span class="quiet">Unsaved changes are stored on this device.</span>`}</div>
    </form>
    <h2>Duplicate or delete</h2>
    <div class="row">
      <${Action} work=${duplicate}>Duplicate<//>
      <${Confirmed} kind="bad" destroys title="Delete this book?" yes="Delete book" text="This deletes “${book.title}”, its chapters, their history and its covers. You can undo it for ${UNDO_SECONDS} seconds, or until you close this page.${notReturned(book, now)}"
        work=${async () => { await deleteSoon(book); go("#/"); }}>Delete book<//>
    </div>`;
}

/** What deleting the book does not give back. Empty if nothing was written or if it was paid for in an earlier period. */
function notReturned({ funding_source: source, generation_progress: run, word_count: written }, now) {
  if (!now || !run || !(written || run.words_written)) return "";
  if (source === "credits") return run.generation_status === "completed" ? " The credit that paid for it is not returned." : "";
  // `started_at` has whole seconds, unlike `period_start`.
  const isOfPeriod = now.limits.books_per_month !== UNLIMITED && Date.parse(run.started_at) + 1000 > Date.parse(now.usage.period_start);
  return isOfPeriod ? ` It still counts as one of your books until ${date(now.usage.period_end)}.` : "";
}
