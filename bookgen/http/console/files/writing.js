// Watching and controlling the writing: its progress, why it waits or failed, and what to do next.

import { post } from "./api.js";
import { cost, count, duration, inLanguage, number, since, words } from "./format.js";
import { html } from "./hooks.js";
import { useResource } from "./live.js";
import { BookNotes } from "./notes.js";
import { Estimate, Phases, Produce, starting, usePaysModels } from "./produce.js";
import { isQueued } from "./shelf.js";
import { isOutlined, isPictureBook, Spreads } from "./spreads.js";
import { Action, Confirmed, Heading, Notice, plain, Progress } from "./ui.js";

export default function Writing({ book, status, reload }) {
  return html`
    <${Heading}>Writing<//>
    ${status ? html`<${Run} book=${book} status=${status} reload=${reload} />` : html`<${NotYet} book=${book} reload=${reload} />`}
    ${book.chapters.length > 0 && (isPictureBook(book) ? html`<${Spreads} book=${book} />` : html`<${Chapters} book=${book} status=${status} />`)}
    <${BookNotes} book=${book} />`;
}

function NotYet({ book, reload }) {
  if (!isOutlined(book)) {
    return html`
      <p>A book is written from its outline. <a href="#/books/${book.id}/outline">Generate the outline first</a></p>
      <p><${Produce} book=${book} reload=${reload} /></p>`;
  }
  return html`
    <p>Nothing has been written yet. <${Estimate} book=${book} /></p>
    <div class="row">
      <${Command} book=${book} name="generate" reload=${reload} kind="primary">Write the chapters<//>
      <${Produce} book=${book} reload=${reload} />
      <a href="#/books/${book.id}/outline">Review the outline first</a>
    </div>`;
}

function Run({ book, status, reload }) {
  const is = status.generation_status;
  const waits = is === "running" && isQueued(status);
  const pays = usePaysModels();
  return html`
    <section class="run ${is}" aria-label="Progress">
      <p class="state">${waits ? status.status_message : said(status)}</p>
      <${Progress} label="Chapters written, percent" value=${status.percentage} />
      ${status.mode === "automated" && !waits && html`<${Phases} status=${status} />`}
      <dl class="facts">
        ${status.total_chapters > 0 && html`<div><dt>Chapters</dt><dd>${number(status.completed_chapters)} of ${number(status.total_chapters)}</dd></div>`}
        <div><dt>Words</dt><dd>${number(status.words_written)}</dd></div>
        ${is === "running" && !waits && left(status) && html`<div><dt>Time left</dt><dd>${left(status)}</dd></div>`}
        ${pays && html`<div><dt>${is === "completed" ? "Cost" : "Cost so far"}</dt><dd>${spent(book.usage)}</dd></div>`}
      </dl>
      ${waits && html`<p>Your account writes one book at a time, in the order in which you started them. <a href="#/">See your books</a></p>`}
      ${is === "error" && html`<${Failed} book=${book} status=${status} reload=${reload} />`}
      <${Controls} book=${book} status=${status} reload=${reload} />
      ${is === "running" && html`<p class="quiet">You can close this page; writing continues. Last update ${since(status.updated_at)}.</p>`}
    </section>`;
}

/** The time left. If it is unknown: a hint before the first chapter is finished, otherwise null. */
function left({ estimated_seconds_remaining: seconds, completed_chapters: finished }) {
  if (seconds != null) return duration(seconds);
  return finished ? null : "known after the first chapter";
}

function said(status) {
  if (status.generation_status !== "error") return status.status_message;
  if (!status.total_chapters) return "Failed before the outline was finished.";
  return `Failed after ${number(status.completed_chapters)} of ${count(status.total_chapters, "chapter")}.`;
}

function spent(usage) {
  if (usage.unknown_price) return usage.cost_micros ? `at least ${cost(usage.cost_micros, usage.currency)} (some prices are unknown)` : "unknown: the price table does not list this model";
  return cost(usage.cost_micros, usage.currency);
}

function Controls({ book, status, reload }) {
  const give = { book, reload };
  const stop = html`
    <${Confirmed} title="Stop writing?" yes="Stop" work=${() => command(book, "stop-generation", reload)}
      text="The chapter in progress is discarded. Finished chapters are kept. You can resume later.">Stop<//>`;
  switch (status.generation_status) {
    case "running":
      return html`<div class="row"><${Command} ...${give} name="pause-generation">Pause<//>${stop}</div>`;
    case "paused":
      return html`<div class="row"><${Command} ...${give} name="resume-generation" kind="primary">Resume<//>${stop}
        <a href="#/books/${book.id}/outline">Edit the remaining chapters</a></div>`;
    case "stopped":
      if (status.completed_chapters === status.total_chapters) return html`<${Written} book=${book} reload=${reload} />`;
      return html`<div class="row"><${Command} ...${give} name=${starting(status)} kind="primary">Resume<//></div>`;
    case "error":
      return null;
    default:
      return status.completed_chapters < status.total_chapters
        ? html`<div class="row"><${Command} ...${give} name="generate" kind="primary">${missing(status)}<//>
            <a href="#/books/${book.id}/outline">Review the outline first</a></div>`
        : html`<${Written} book=${book} reload=${reload} />`;
  }
}

/** The actions when every chapter has text. */
const Written = ({ book, reload }) => html`
  <div class="row"><a class="button primary" href="#/books/${book.id}/read">Read the book</a><a class="button" href="#/books/${book.id}/files">Download</a>
    <${Confirmed} title="Rewrite the whole book?" yes="Rewrite" work=${() => command(book, "generate", reload)}
      text="Every chapter is written again. The current texts are saved to the history.">Rewrite book<//></div>`;

function missing({ completed_chapters: texts, total_chapters: all }) {
  if (!texts) return "Write the chapters";
  return all - texts === 1 ? "Write the remaining chapter" : `Write the remaining ${count(all - texts, "chapter")}`;
}

const ADVICE = {
  quota_exceeded: ["Your plan has no books left in this billing period.", "See your plan", "#/plan"],
  QUOTA_EXCEEDED: ["“Try again” resumes the run if your plan or your credits cover it.", "See your plan", "#/plan"],
  PLAN_UPGRADE_REQUIRED: ["Your plan does not include this.", "See plans", "#/plan"],
  COST_CAP_REACHED: ["Nothing is lost. If a daily cap was reached, choose “Try again” tomorrow. If another cap was reached, ask the operator of this service to raise it first."],
};
const OPERATORS = ["Your book is fine, and nothing is lost. Only the operator of this service can fix this. Afterwards, choose “Resume”."];

/** Whether only the operator can fix the failure: the key, the credit, the model's name or its context window. */
const isOperators = (failure) => failure?.retryable === false && /^The model( provider|'s context window)/.test(failure.message);

function Failed({ book, status, reload }) {
  const { failure } = status;
  const denied = isOperators(failure);
  const [text, name, link] = ADVICE[failure?.code] ?? (denied ? OPERATORS : []);
  return html`
    <${Notice} kind="bad">
      <p><b>Why:</b> ${plain(failure?.message ?? "The reason is unknown.")}</p>
      <p><b>What next:</b> ${text ?? (failure?.retryable
        ? "Nothing is lost. “Try again” continues with the chapter that failed. Finished chapters are not written again."
        : "The same request would fail again. First change the text that caused the failure, often the chapter’s summary or the idea. Then choose “Resume”.")}</p>
      <div class="row">
        <${Command} book=${book} name=${failure?.retryable ? "resume-generation" : starting(status)} reload=${reload} kind="primary">${failure?.retryable ? "Try again" : "Resume"}<//>
        ${failure?.retryable === false && !denied && html`<a href="#/books/${book.id}/outline">Edit the outline</a>`}
        ${link && html`<a href=${link}>${name}</a>`}
      </div>
    <//>`;
}

const Command = ({ book, name, reload, kind, children }) =>
  html`<${Action} kind=${kind} work=${() => command(book, name, reload)}>${children}<//>`;

async function command(book, name, reload) {
  try {
    await post(`/books/${book.id}/${name}/`);
  } catch (error) {
    // The state has changed in the meantime, or an earlier try succeeded: show the current state.
    if (error.code !== "CONFLICT" && error.code !== "GENERATION_IN_PROGRESS") throw error;
  } finally {
    await reload();
  }
}

function Chapters({ book, status }) {
  // After a run that rewrote only some texts, the reader is told which.
  const isRewritten = status && status.generation_status !== "completed" && book.chapters.every(({ content }) => content);
  const { data: ended } = useResource(isRewritten && !status.outline ? `/books/${book.id}/generation-status/` : null);
  const live = new Map((status?.outline ?? ended?.outline ?? []).map((item) => [item.id, item]));
  return html`
    <h2>Chapters</h2>
    <ol class="plain chapters">
      ${book.chapters.map((chapter) => {
        const item = live.get(chapter.id) ?? { has_content: Boolean(chapter.content), word_count: chapter.word_count };
        const now = status?.generation_status === "running" && status.current_chapter === chapter.chapter_number;
        return html`
          <li key=${chapter.id} class=${item.has_content ? "done" : now ? "now" : ""}>
            <span class="number">${chapter.chapter_number}</span>
            <span ...${inLanguage(book)}>${item.has_content ? html`<a href="#/books/${book.id}/chapters/${chapter.id}">${chapter.title}</a>` : chapter.title}</span>
            <span class="quiet">${now ? "in progress" : item.has_content ? [words(item.word_count), isRewritten && item.is_new && ", new"] : "not written yet"}</span>
          </li>`;
      })}
    </ol>`;
}
