// Proofreading and the editor's reading: a report whose suggestions are decided one by one, each seen before it is applied.

import { get, post, remove } from "./api.js";
import { count, inLanguage, number, time } from "./format.js";
import { html, useEffect, useKeys, useLayoutEffect, useRef, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { useSignal } from "./signal.js";
import { isOffline, modelsGuide, settings } from "./site.js";
import { Action, Confirmed, Field, Heading, Notice, off, plain, Problem, Progress, spoken, useWork, Waiting } from "./ui.js";

const OPEN = new Set(["pending", "running"]);
// The statuses that the list can show, and their labels.
const SHOWN = { pending: "left", applied: "applied", dismissed: "dismissed" };
const SOON = [1, 2, 4, 8]; // seconds between the first polls of a new report; then the usual interval applies
const SEVERITIES = ["critical", "major", "minor", "info"];

export default function Proof({ book, reload }) {
  const { data: reports, error, reload: again } = useResource(`/proofreading-reports/?book=${book.id}`, (listed) => listed?.some(({ status }) => OPEN.has(status)));
  const [chosen, choose] = useState(null);
  const site = useSignal(settings);
  const onlyRules = isOffline(site);
  useSoon(reports?.some(({ status }) => OPEN.has(status)), again);
  if (!reports) return html`<${Waiting} error=${error} />`;
  const report = reports.find(({ id }) => id === chosen) ?? reports[0];
  const started = (path, body) => async () => {
    const made = await post(path, body);
    choose(made.id);
    await again();
  };
  const runs = (kind) => reports.some((one) => one.kind === kind && OPEN.has(one.status));
  return html`
    <${Heading}>Proofread<//>
    <div class="row">
      <${Action} kind=${report ? "" : "primary"} work=${started("/proofreading-reports/", { book: book.id })} ...${off(runs("proofreading"))}>${report ? "Check the book again" : "Check the book"}<//>
      ${site && !onlyRules && html`<${Action} work=${started(`/books/${book.id}/review/`)} ...${off(runs("review"))}>Have an editor read it<//>`}
      ${reports.length > 1 && html`
        <${Field} as="select" label="Report" value=${report.id} onChange=${(event) => choose(Number(event.target.value))}>
          ${reports.map((one) => html`<option value=${one.id} selected=${one.id === report.id}>${time(one.created_at)}, ${found(one)}</option>`)}<//>`}
    </div>
    <p class="quiet">A check looks for errors, sentence by sentence. ${onlyRules
      ? html`<b>This service has no language model, so a check runs only the built-in rules, and no editor can read the book.</b> <a href=${modelsGuide}>Set up a model</a>`
      : "In an editor’s reading, the model reads the whole book and looks for contradictions, loose ends and repetitions."}</p>
    ${report && html`<${Report} key=${report.id} book=${book} report=${report} again=${again} reload=${reload} />`}`;
}

function Report({ book, report, again, reload }) {
  const away = async () => {
    await remove(`/proofreading-reports/${report.id}/`);
    await again();
  };
  return html`
    <section aria-label="Report">
      ${OPEN.has(report.status) && html`<p role="status">${report.kind === "review" ? "An editor is reading the book." : "The book is being checked."} You can close this page.</p><${Progress} label="Checked, percent" value=${report.progress} />`}
      ${report.status === "error" && html`<${Notice} kind="bad"><p>${plain(report.failure?.message ?? "The check failed.")} Check the book again.</p><//>`}
      ${report.summary && !OPEN.has(report.status) && html`<p class="lead">${report.summary}</p>`}
      ${report.status === "completed" && total(report) > 0 && html`<${Suggestions} book=${book} report=${report} reload=${reload} />`}
      <p><${Confirmed} kind="link" destroys title="Delete this report?" yes="Delete report" text="Changes that you applied stay in the text." work=${away}>Delete this report<//></p>
    </section>`;
}

function Suggestions({ book, report, reload }) {
  const [severity, limit] = useState("");
  const [page, turn] = useState(1);
  // A report on one passage has one suggestion, which is shown whatever its status.
  const isPassage = report.kind === "passage";
  const [status, list] = useState(isPassage ? "" : "pending");
  const path = `/proofreading-reports/${report.id}/suggestions/?page=${page}${status && `&status=${status}`}${severity && `&severity=${severity}`}`;
  const { data, error, reload: again } = useResource(path);
  const { data: safe, reload: countSafe } = useResource(`/proofreading-reports/${report.id}/suggestions/?status=pending&safe=true`);
  const [at, go] = useState(0);
  const all = data?.results ?? [];
  const kind = report.kind === "review" ? "finding" : "suggestion";
  const index = Math.min(at, all.length - 1);
  const after = async () => {
    if (all.length === 1 && page > 1) turn(page - 1);
    await Promise.all([again(), countSafe(), reload()]);
  };
  const decide = (verb) => async (one) => {
    const { status } = await post(`/proofreading-reports/${report.id}/suggestions/${one.id}/${verb}/`);
    spoken.set(status === "stale" ? "The text has changed since the check, so the suggestion was not applied." : verb === "apply" ? "Applied." : "Dismissed.");
    await after();
  };
  const apply = useWork(() => decide("apply")(all[index]));
  const dismiss = useWork(() => decide("dismiss")(all[index]));
  useKeys(({ key }) => {
    if (key === "j") go(Math.min(all.length - 1, index + 1));
    if (key === "k") go(Math.max(0, index - 1));
    if (all[index]?.status !== "pending") return;
    if (key === "a" && all[index].suggested_text !== null) apply.run();
    if (key === "d") dismiss.run();
  });
  if (!data) return html`<${Waiting} error=${error} />`;
  const inBulk = (chosen) => async () => {
    const told = await post(`/proofreading-reports/${report.id}/apply/`, chosen);
    spoken.set(`${count(told.applied, "change")} applied.`);
    if (page > 1) turn(1);
    await after();
  };
  return html`
 ${isPassage ? html`<p class="left" role="status" data-left=${all.filter((one) => one.status === "pending").length}>${PASSAGE[all[0]?.status]}</p>` : html`
    <div class="row between">
      <p class="left" role="status" data-left=${data.count}>${data.count ? `${count(data.count, kind)} ${SHOWN[status]}. Showing number ${number(index + 1 + (page - 1) * 20)}.` : `No ${kind}s ${SHOWN[status]}.`}</p>
      <${Field} as="select" label="Show" value=${status} onChange=${(event) => { list(event.target.value); turn(1); go(0); }}>
        <option value="pending">Open</option><option value="applied">Applied</option><option value="dismissed">Dismissed</option><//>
      <${Field} as="select" label="Severity" value=${severity} onChange=${(event) => { limit(event.target.value); turn(1); go(0); }}>
        <option value="">All</option>${SEVERITIES.map((one) => html`<option value=${one} selected=${one === severity}>${capital(one)}</option>`)}<//>
    </div>`}
    ${status === "pending" && safe?.count > 1 && html`
      <p class="row between"><span>${number(safe.count)} of them only change spelling or punctuation.</span>
        <${Confirmed} title="Apply ${number(safe.count)} safe suggestions?" yes="Apply all" text="They only change spelling and punctuation. The current text of each chapter is saved to the history." work=${inBulk({ safe: true })}>Apply safe suggestions<//></p>`}
    ${all[index] && html`<${Suggestion} key=${all[index].id} book=${book} report=${report} one=${all[index]} open=${all[index].status === "pending"} apply=${apply} dismiss=${dismiss} />`}
    ${(all.length > 1 || page > 1) && html`<div class="row">
      <button type="button" onClick=${() => go(index - 1)} ...${off(index <= 0)}>Previous</button>
      <button type="button" onClick=${() => go(index + 1)} ...${off(index >= all.length - 1)}>Next</button>
      ${data.previous && html`<button type="button" onClick=${() => { turn(page - 1); go(0); }}>Previous page</button>`}
      ${data.next && html`<button type="button" onClick=${() => { turn(page + 1); go(0); }}>Next page</button>`}
      ${status === "pending" && severity && data.count > 1 && html`<${Confirmed} title="Apply all ${severity} suggestions?" yes="Apply all" text="This applies ${count(data.count, "change")}. The current text of each chapter is saved to the history." work=${inBulk({ severity: [severity] })}>Apply all ${severity}<//>`}
    </div>`}
    ${all.length > 0 && html`<p class="quiet with-keys">Keyboard: j next, k previous, a apply, d dismiss.</p>`}`;
}

function Suggestion({ book, report, one, open, apply, dismiss }) {
  const [shown, show] = useState(null);
  const card = useRef();
  useEffect(() => {
    if (open && one.suggested_text !== null) get(`/proofreading-reports/${report.id}/suggestions/${one.id}/preview/`).then(({ data }) => show(data), () => show({}));
    card.current.scrollIntoView({ block: "nearest" });
  }, []);
  useLayoutEffect(() => {
    // The previous one was removed together with the button that was clicked.
    if (document.activeElement === document.body) card.current.focus({ preventScroll: true });
  }, []);
  const before = shown?.before ?? one.original_text;
  const after = shown?.after ?? one.suggested_text;
  const said = book.is_verse ? (text) => text : inOneLine;
  return html`
    <article class="card suggestion" ref=${card} tabindex="-1" aria-live="polite">
      <p class="quiet">${capital(one.severity)}, ${one.type} · <a href="#/books/${book.id}/chapters/${one.chapter}">Chapter ${one.chapter_number}</a></p>
      <p class="reading-line ${book.is_verse ? "verse" : ""}" ...${inLanguage(book)}>${said(shown?.context_before)}${after === null ? html`<mark>${said(before)}</mark>` : html`<del>${said(before)}</del> <ins>${said(after)}</ins>`}${said(shown?.context_after)}</p>
      ${one.explanation.split("\n").map((line) => html`<p>${line}</p>`)}
      <${Problem} error=${apply.error ?? dismiss.error} />
      ${open && html`<div class="row">
        ${after === null ? html`<a class="button primary" href="#/books/${book.id}/chapters/${one.chapter}">Edit the chapter</a>` : html`<button type="button" class="primary" aria-busy=${apply.busy} onClick=${apply.run}>Apply</button>`}
        <button type="button" aria-busy=${dismiss.busy} onClick=${dismiss.run}>Dismiss</button>
      </div>`}
    </article>`;
}

/** The text with pilcrows for the ends of paragraphs. */
function inOneLine(text) {
  return text?.replace(/\s*\n\s*/g, " ¶ ");
}

const capital = (word) => word[0].toUpperCase() + word.slice(1);

/** The number of suggestions in a report, whatever their status. */
const total = (report) => Object.values(report.counts.by_severity).reduce((sum, one) => sum + one, 0);

/** The number of findings of a report, for the list of reports. */
function found(report) {
  if (report.kind === "passage") return "a rewritten passage";
  return report.kind === "review" ? `editor's reading, ${count(total(report), "finding")}` : count(total(report), "suggestion");
}

const PASSAGE = {
  pending: "Compare the new passage with yours, then apply or dismiss it.",
  applied: "You applied the new passage.",
  dismissed: "You dismissed the new passage.",
  stale: "The text has changed since, so the new passage can no longer be applied.",
};

/** Poll a few times while `open`, because most checks are done within seconds. */
function useSoon(open, look) {
  useEffect(() => {
    if (!open) return undefined;
    let timer;
    const turn = ([seconds, ...later]) => {
      if (seconds) timer = setTimeout(() => look().then(() => turn(later)), seconds * 1000);
    };
    turn(SOON);
    return () => clearTimeout(timer);
  }, [open, look]);
}
