// Shared parts of all views: buttons that do work, fields, notices, dialogs, progress.

import { reachable } from "./api.js";
import { html, useEffect, useId, useRef, useState } from "./hooks.js";
import { toPlace } from "./router.js";
import { signal, useSignal } from "./signal.js";
import { NAME } from "./site.js";

export const spoken = signal(""); // the announcement of the page, visible and for screen readers, without moving the focus
export const bookTitle = signal(""); // the title of the open book, which ends the titles of its views
const ANNOUNCED_SECONDS = 6;

/** A button that starts work. While the work runs, it says so and cannot be pressed again. It shows any error. */
export function Action({ work, children, kind = "", busy: busyWords = "Please wait …", ...rest }) {
  const { run, busy, error } = useWork(work);
  return html`
    <span class="action">
      <button type="button" class=${kind} aria-busy=${busy} onClick=${run} ...${rest}>${busy ? busyWords : children}</button>
      <${Problem} error=${error} />
    </span>`;
}

/** Attributes of a button that cannot be pressed now. A disabled button would lose the focus. */
export const off = (is) => is && { "aria-disabled": "true", onClick: null };

/** After the view is rendered: if the focused element is gone, continue from the heading. */
function keepPlace() {
  setTimeout(() => {
    if (document.activeElement === document.body) document.querySelector("main h1")?.focus({ preventScroll: true });
  });
}

/** `run` does the work, never twice at a time. `error`: the error of the last attempt. */
export function useWork(work) {
  const [state, show] = useState({ busy: false, error: null });
  const going = useRef(false);
  const mounted = useRef(true);
  useEffect(() => () => (mounted.current = false), []);
  const run = async (event) => {
    event?.preventDefault?.();
    if (going.current) return;
    going.current = true;
    show({ busy: true, error: null });
    let error = null;
    try {
      await work(event);
    } catch (failure) {
      error = failure;
    }
    going.current = false;
    if (mounted.current) show({ busy: false, error });
    keepPlace();
  };
  return { run, ...state };
}

const REMEDY = {
  PLAN_UPGRADE_REQUIRED: ["See plans", "#/plan"],
  QUOTA_EXCEEDED: ["See your plan", "#/plan"],
  quota_exceeded: ["See your plan", "#/plan"],
};
const NEXT = {
  UNREACHABLE: "What you typed is kept. Try again in a moment.",
  UPSTREAM_AI_ERROR: "Try again. If it keeps failing, contact the operator of this service.",
  SERVER_ERROR: "Try again. If it keeps failing, ask the operator of this service to check its log.",
  SERVICE_UNAVAILABLE: "The service is busy or starting. Try again in a moment.",
};

// An API call in a message, which is meant for programs, such as " (POST /books/{id}/generate/)" or " with POST /books/".
const CALL = / ?\((?:GET|POST|PATCH|PUT|DELETE) [^)]*\)|(?: with)? (?:GET|POST|PATCH|PUT|DELETE) \/\S*?(?=\.?(?:\s|$))/g;

/** A message of the API for people: without calls and code quotes. */
export const plain = (message) => message.replace(CALL, "").replaceAll("`", "");

/** What went wrong, and what to do next. `shown`: the form's fields that show their own messages. */
export function Problem({ error, shown = [] }) {
  const notice = useRef();
  const isReachable = useSignal(reachable);
  const [mended, mend] = useState(null);
  useEffect(() => {
    const form = notice.current?.closest("form");
    if (error?.code !== "VALIDATION_ERROR" || !form) return undefined;
    const changed = () => mend(error);
    form.querySelector("[aria-invalid=true]")?.focus();
    form.addEventListener("input", changed, { once: true });
    return () => form.removeEventListener("input", changed);
  }, [error]);
  if (!error || error === mended || (error.code === "UNREACHABLE" && isReachable)) return null;
  const [name, link] = REMEDY[error.code] ?? [];
  const wrong = Object.entries(error.fields ?? {});
  const marked = wrong.filter(([field]) => shown.includes(field));
  const details = wrong.filter((one) => !marked.includes(one)).flatMap(([, told]) => (Array.isArray(told) ? told : []));
  // The API's message only repeats the details.
  const message = marked.length ? "Correct the marked fields." : details.length ? "" : plain(error.message);
  return html`
    <div class="notice bad" role="alert" ref=${notice}>
      <p>${message}${details.length > 0 && html` ${plain(details.join(" "))}`} ${NEXT[error.code]}</p>
      ${link && html`<p><a href=${link}>${name}</a></p>`}
    </div>`;
}

export function Notice({ kind = "", children }) {
  return html`<div class="notice ${kind}">${children}</div>`;
}

/** What to do about a title that no font on the server can show. */
export function FontWarning({ book }) {
  if (!book.font_warning) return null;
  return html`<${Notice} kind="bad"><p>${plain(book.font_warning)}</p><//>`;
}

/** A labelled field. `as`: input, textarea or select. `wrong`: the error message, shown until the field is changed. */
export function Field({ label, hint, wrong: refused, as = "input", children, class: kind = "", ...rest }) {
  const id = useId();
  const [mended, mend] = useState(null);
  const wrong = refused === mended ? null : refused;
  const about = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(" ");
  return html`
    <div class="field ${kind}" onInput=${() => refused && mend(refused)}>
      <label for=${id}>${label}</label>
      <${as} id=${id} aria-describedby=${about || undefined} aria-invalid=${wrong ? "true" : undefined} ...${rest}>${children}<//>
      ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
      ${wrong && html`<p class="wrong" id="${id}-wrong">${plain([].concat(wrong).join(" "))}</p>`}
    </div>`;
}

export function Check({ label, ...rest }) {
  return html`<label class="check"><input type="checkbox" ...${rest} /> <span>${label}</span></label>`;
}

/** A modal dialog. The focus moves into the dialog, and back when it closes. */
export function Dialog({ title, onClose, closable = true, children }) {
  const dialog = useRef();
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown.showModal();
    return () => {
      shown.close(); // While it is open, nothing outside of it can get the focus.
      before?.focus?.();
      keepPlace();
    };
  }, []);
  return html`
    <dialog ref=${dialog} aria-labelledby=${id} onCancel=${(event) => { event.preventDefault(); if (closable) onClose(); }}>
      <h2 id=${id}>${title}</h2>
      ${children}
    </dialog>`;
}

/** A button that asks for confirmation. */
export function Confirmed({ title, text, yes, work, children, more, kind = "", destroys = false, ...rest }) {
  const [asking, ask] = useState(false);
  const close = () => ask(false);
  return html`
    <button type="button" class=${kind} ...${rest} onClick=${() => ask(true)}>${children}</button>
    ${asking && html`<${Question} title=${title} text=${text} yes=${yes} destroys=${destroys} work=${async () => { await work(); close(); }} onClose=${close}>${more}<//>`}`;
}

/** The confirmation dialog. Confirming does the work, then closes it unless there is more to ask. Red if `destroys`. */
export function Question({ title, text, yes, work, onClose, children, destroys = false }) {
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <p>${text}</p>
      ${children}
      <div class="row end">
        <button type="button" onClick=${onClose}>Cancel</button>
        <${Action} kind=${destroys ? "primary bad" : "primary"} work=${work}>${yes}<//>
      </div>
    <//>`;
}

export function Progress({ label, value }) {
  return html`<progress aria-label=${label} max="100" value=${value}></progress>`;
}

/** The only heading of a view. It takes the focus when the view opens, so that a screen reader starts there; then `scroll` scrolls. */
export function Heading({ children, title, scroll = toPlace }) {
  const heading = useRef();
  const name = title ?? (typeof children === "string" ? children : "");
  const book = useSignal(bookTitle);
  useEffect(() => {
    document.title = [name, book !== name && book, NAME].filter(Boolean).join(" · ");
  }, [name, book]);
  useEffect(() => {
    if (document.querySelector("dialog[open]")) return;
    heading.current.focus({ preventScroll: true });
    scroll();
  }, []);
  return html`<h1 tabindex="-1" ref=${heading}>${children}</h1>`;
}

/** What a view shows until its data is loaded, or instead of it. */
export function Waiting({ error, children = "Loading …" }) {
  if (!error) return html`<p class="quiet" role="status">${children}</p>`;
  if (error.status !== 404) return html`<${Problem} error=${error} />`;
  return html`<${Notice}><p>Not found. It was deleted, or it belongs to another account. <a href="#/">Go to your books</a></p><//>`;
}

export function Spoken() {
  const said = useSignal(spoken);
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => spoken.set(""), ANNOUNCED_SECONDS * 1000);
    return () => clearTimeout(timer);
  }, [said]);
  return html`<div class=${said ? "said" : "unseen"} role="status" aria-live="polite">${said}</div>`;
}
