// Signing in, registering, and asking for a new password.

import { post } from "./api.js";
import { html, useEffect, useState } from "./hooks.js";
import { go, instead } from "./router.js";
import { current, ended, hasIdea, signIn, signOut } from "./session.js";
import { signal, useSignal } from "./signal.js";
import { settings } from "./site.js";
import { Check, Dialog, Field, Heading, Notice, Problem, useWork } from "./ui.js";

export const isSigningIn = signal(false); // whether the form that signs in is shown, and not the one for new accounts

const GOOGLE = "https://accounts.google.com/o/oauth2/v2/auth";
const STATE = "bookgen:google-state";
const RETURNS = new Set(["new", "picture", "plan"]);
// A phone's keyboard would capitalise and correct a username.
const AS_TYPED = { autocapitalize: "none", autocorrect: false, spellcheck: false };

/** `to`: the view that required an account, such as `new`, to which the reader returns. */
export default function Sign({ rest: [to] }) {
  const asked = RETURNS.has(to) ? "register" : "login";
  const [tab, show] = useState(asked);
  const session = useSignal(current);
  const site = useSignal(settings);
  useEffect(() => show(asked), [asked]);
  useEffect(() => {
    if (session) instead(RETURNS.has(to) ? `#/${to}` : "#/");
  }, [session]);
  useEffect(() => {
    isSigningIn.set(tab !== "register");
    return () => isSigningIn.set(false);
  }, [tab]);
  if (tab in LETTERS) return html`<${Letter} key=${tab} ...${LETTERS[tab]} back=${() => show("login")} />`;
  const isNew = tab === "register";
  return html`
    <div class="narrow">
      <${Heading}>${isNew ? "Create an account" : "Sign in"}<//>
      ${isNew ? html`<${Register} />` : html`<${Login} show=${show} />`}
      <${Google} client=${site?.google_client_id} />
      ${isNew
        ? html`<p class="quiet">Already have an account? <button type="button" class="link" onClick=${() => show("login")}>Sign in</button></p>`
        : site?.registration_enabled !== false &&
          html`<p class="quiet">New here? <button type="button" class="link" onClick=${() => show("register")}>Create an account</button></p>`}
    </div>`;
}

function Login({ show }) {
  const site = useSignal(settings);
  const { run, busy, error } = useWork(async ({ target }) => {
    const { name, password, kept } = Object.fromEntries(new FormData(target));
    // A username may contain an @. If it looks like an e-mail address, it is the address of the same account.
    await enter(post("/auth/login/", { [/.@.+\../.test(name) ? "email" : "username"]: name, password }), kept === "on");
  });
  return html`
    <form onSubmit=${run}>
      <${Field} label="E-mail address or username" name="name" autocomplete="username" ...${AS_TYPED} required />
      <${PasswordField} label="Password" name="password" autocomplete="current-password" required />
      <${Check} label="Keep me signed in on this device" name="kept" />
      <${Problem} error=${error} />
      <div class="row"><button class="primary" aria-busy=${busy}>Sign in</button>
        <button type="button" class="link" onClick=${() => show("forgot")}>Forgot password?</button></div>
      ${site?.email_verification_required && html`<p class="quiet">No verification e-mail? <button type="button" class="link" onClick=${() => show("unverified")}>Send it again</button></p>`}
    </form>`;
}

/** A password, which can be shown. On a phone, mistyping is easy. */
function PasswordField(props) {
  const [shown, show] = useState(false);
  return html`
    <${Field} ...${props} type=${shown ? "text" : "password"} ...${AS_TYPED} />
    <${Check} label="Show password" checked=${shown} onChange=${({ target }) => show(target.checked)} />`;
}

function Register() {
  const sends = useSignal(settings)?.features?.email !== false;
  const [sent, tell] = useState(null);
  const { run, busy, error } = useWork(async ({ target }) => {
    const { kept, ...form } = Object.fromEntries(new FormData(target));
    const reply = await post("/auth/register/", form);
    if (reply.tokens) await enter(reply, kept === "on");
    else tell({ message: reply.message, to: form.email });
  });
  if (sent) {
    if (!sends) return html`<${Notice}><p role="status">Your account is created, but this service cannot send the e-mail that confirms your address. Ask its operator for the link.</p><//>`;
    return html`
      <${Notice}><p role="status">${sent.message} We sent it to <b>${sent.to}</b>.</p><//>
      <p>No e-mail? Check your spam folder. If you mistyped the address, create another account.</p>
      <${Resend} email=${sent.to} />`;
  }
  const wrong = error?.fields ?? {};
  return html`
    <form onSubmit=${run}>
      <${Field} label="Username" name="username" autocomplete="username" ...${AS_TYPED} minlength="3" maxlength="150"
        required hint="At least 3 characters, no spaces." wrong=${wrong.username} />
      <${Field} label="E-mail address" name="email" type="email" autocomplete="email" required wrong=${wrong.email} />
      <${PasswordField} label="Password" name="password" autocomplete="new-password" minlength="8" maxlength="128"
        required hint="At least 8 characters." wrong=${wrong.password} />
      <${Check} label="Keep me signed in on this device" name="kept" />
      <${Problem} error=${error} shown=${["username", "email", "password"]} />
      <button class="primary" aria-busy=${busy}>Create account</button>
    </form>`;
}

/** A button that has the link that verifies an address sent again. */
export function Resend({ email }) {
  const [message, say] = useState("");
  const { run, busy, error } = useWork(async () => say((await post(LETTERS.unverified.path, { email })).message));
  return html`
    <p><button type="button" class="link" aria-busy=${busy} onClick=${run}>Send the verification e-mail again</button></p>
    <div role="status">${message && html`<p>${message}</p>`}</div>
    <${Problem} error=${error} />`;
}

const NO_MAIL = "This service cannot send e-mail. Ask its operator to set a new password for you.";
// The e-mails that can be requested without a sign-in.
const LETTERS = {
  forgot: { title: "Reset your password", path: "/auth/forgot-password/", send: "Send reset link", noMail: NO_MAIL },
  unverified: {
    title: "Verify your e-mail address",
    path: "/auth/resend-verification/",
    send: "Send verification e-mail",
    noMail: "This service cannot send e-mail. Ask its operator for the link.",
  },
};

function Letter({ title, path, send, noMail, back }) {
  const sends = useSignal(settings)?.features?.email !== false;
  const [message, say] = useState("");
  const { run, busy, error } = useWork(async ({ target }) => {
    say((await post(path, Object.fromEntries(new FormData(target)))).message);
  });
  return html`
    <div class="narrow">
      <${Heading}>${title}<//>
      ${!sends ? html`<${Notice}><p>${noMail}</p><//>` : message
        ? html`<${Notice}><p role="status">${message}</p><//>`
        : html`
          <form onSubmit=${run}>
            <${Field} label="E-mail address of your account" name="email" type="email" autocomplete="email" required />
            <${Problem} error=${error} />
            <button class="primary" aria-busy=${busy}>${send}</button>
          </form>`}
      <p><button type="button" class="link" onClick=${back}>Back to sign in</button></p>
    </div>`;
}

/** Shown over the current view: after signing in again, everything continues. */
export function SignInAgain() {
  const { username: name = "", email = "" } = current.value?.account ?? {};
  const site = useSignal(settings);
  const { run, busy, error } = useWork(async ({ target }) => {
    const { password } = Object.fromEntries(new FormData(target));
    await enter(post("/auth/login/", { username: name, password }), current.value.kept);
  });
  const leave = () => {
    signOut();
    go("#/signin");
  };
  return html`
    <${Dialog} title="Your session has expired" closable=${false}>
      <p>What you typed is kept. Sign in again to continue where you left off.</p>
      <form onSubmit=${run}>
        <input class="unseen" name="username" autocomplete="username" value=${name} readonly tabindex="-1" aria-hidden="true" />
        <${Field} label="Password for ${name}" name="password" type="password" autocomplete="current-password" required autofocus />
        <${Problem} error=${error} />
        <div class="row end"><button type="button" onClick=${leave}>Sign out</button>
          <button class="primary" aria-busy=${busy}>Sign in again</button></div>
      </form>
      <${Google} client=${site?.google_client_id} kept=${current.value?.kept} />
      <${NoPassword} email=${email} />
      ${hasIdea() && html`<p class="quiet">“Sign out” discards the new book that you started to describe.</p>`}
    <//>`;
}

/** A user who signed in with Google or a mailed link has no password yet and can set one. */
function NoPassword({ email }) {
  const sends = useSignal(settings)?.features?.email !== false;
  const [message, say] = useState("");
  const { run, busy, error } = useWork(async () => say((await post(LETTERS.forgot.path, { email })).message));
  if (!sends) return html`<p class="quiet">No password, or forgot it? ${NO_MAIL}</p>`;
  return html`
    <p class="quiet">No password, or forgot it? <button type="button" class="link" aria-busy=${busy} onClick=${run}>Send a link to ${email}</button></p>
    <div role="status">${message && html`<p>${message} Follow the link to set a password, then return here and enter it.</p>`}</div>
    <${Problem} error=${error} />`;
}

let granted = null; // the token in Google's redirect, until it is used

// Signs in through a redirect to Google's own page, so that none of Google's scripts run here.
function Google({ client, kept = false }) {
  const leave = useWork(async () => {
    const state = crypto.getRandomValues(new Uint32Array(4)).join("");
    sessionStorage.setItem(STATE, JSON.stringify({ state, from: location.hash }));
    const asked = { client_id: client, redirect_uri: home(), response_type: "token", scope: "openid email profile", state };
    location.assign(`${GOOGLE}?${new URLSearchParams(asked)}`);
  });
  const back = useWork(async () => {
    const token = granted;
    granted = null;
    await enter(post("/auth/google/", { access_token: token }), kept);
  });
  useEffect(() => {
    if (granted) back.run();
  }, []);
  return html`
    ${client && html`<p><button type="button" aria-busy=${back.busy} onClick=${leave.run}>Sign in with Google</button></p>`}
    <${Problem} error=${leave.error ?? back.error} />`;
}

const home = () => location.origin + location.pathname;

/** Read what Google put after the #, if the reader comes from there. A reader whose session had expired returns to the same view. */
export function returned() {
  const told = new URLSearchParams(location.hash.slice(1));
  const { state, from } = JSON.parse(sessionStorage.getItem(STATE) ?? "{}");
  if (!state || told.get("state") !== state) return;
  sessionStorage.removeItem(STATE);
  granted = told.get("access_token");
  if (current.value) ended.set(true);
  instead(current.value ? from : "#/signin");
}

async function enter(asked, kept) {
  const reply = await asked;
  const before = current.value;
  signIn(reply, kept);
  if (before && before.account.id !== reply.user.id) go("#/");
}
