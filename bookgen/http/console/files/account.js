// The account: profile, sign-in, and the look of this page.

import { patch, post } from "./api.js";
import { settle } from "./deletions.js";
import { html, useEffect, useState } from "./hooks.js";
import { useResource } from "./live.js";
import { go } from "./router.js";
import { hasIdea, learn, signOut } from "./session.js";
import { Resend } from "./sign.js";
import { useSignal } from "./signal.js";
import { settings } from "./site.js";
import { Check, Confirmed, Field, Heading, Notice, Problem, useWork, Waiting } from "./ui.js";

export default function Account() {
  const { data: user, error, reload } = useResource("/auth/profile/");
  useEffect(() => user && learn(user), [user]);
  if (!user) return html`<${Waiting} error=${error} />`;
  const leave = async () => {
    await settle();
    await post("/auth/logout/").catch(() => {}); // what matters is that this device drops the tokens
    signOut();
    go("#/");
  };
  return html`
    <div class="narrow">
      <div class="row between"><${Heading}>Account<//>${hasIdea()
        ? html`<${Confirmed} destroys title="Sign out?" yes="Discard and sign out" text="This discards the new book that you started to describe. To keep it, create the book first." work=${leave}>Sign out<//>`
        : html`<button type="button" onClick=${leave}>Sign out</button>`}</div>
      <${Profile} user=${user} reload=${reload} />
      <${Password} user=${user} />
      <${Looks} />
      <${Deletion} user=${user} />
      <h2>API</h2>
      <p>Your programs can do everything that this page does. <a href=${api("docs/")}>Try the API</a></p>
    </div>`;
}

const api = (path) => new URL(`../../api/v1/${path}`, import.meta.url).href;

function Profile({ user, reload }) {
  const [message, say] = useState("");
  const [moves, move] = useState(false);
  const sends = useSignal(settings)?.features?.email;
  const isUnverified = sends && !user.email_verified; // without e-mail nobody can verify an address
  const { run, busy, error } = useWork(async ({ target }) => {
    const sent = [...new FormData(target)].filter(([name, text]) => name !== "current_password" || text);
    say((await patch("/auth/profile/", Object.fromEntries(sent))).message);
    await reload();
    move(false);
  });
  const wrong = error?.fields ?? {};
  return html`
    <form onSubmit=${run}>
      <p class="quiet">Signed in as ${user.username}${user.is_staff ? " (staff)" : ""}</p>
      <${Field} label="First name" name="first_name" autocomplete="given-name" defaultValue=${user.first_name} maxlength="150" wrong=${wrong.first_name} />
      <${Field} label="Last name" name="last_name" autocomplete="family-name" defaultValue=${user.last_name} maxlength="150" wrong=${wrong.last_name} />
      <${Field} label="E-mail address" name="email" type="email" autocomplete="email" defaultValue=${user.email} required wrong=${wrong.email}
        onInput=${({ target }) => move(target.value !== user.email)} hint=${isUnverified ? "This address is not verified yet." : ""} />
      ${isUnverified && html`<${Resend} email=${user.email} />`}
      ${moves && user.email_verified && html`
        <${Field} label="Confirm with your password" name="current_password" type="password" autocomplete="current-password" wrong=${wrong.current_password}
          hint="Confirms the new address. If you have no password, leave this empty: we then also e-mail a link to your current address." />`}
      <${Problem} error=${error} shown=${["first_name", "last_name", "email", "current_password"]} />
      ${message && html`<${Notice}><p role="status">${message}</p><//>`}
      <button class="primary" aria-busy=${busy}>Save</button>
    </form>`;
}

function Password({ user }) {
  const [message, say] = useState("");
  const { run, busy, error } = useWork(async ({ target }) => {
    say((await post("/auth/change-password/", Object.fromEntries(new FormData(target)))).message);
    target.reset();
  });
  const wrong = error?.fields ?? {};
  return html`
    <h2>Password</h2>
    <form onSubmit=${run}>
      <input hidden autocomplete="username" value=${user.username} readonly />
      <${Field} label="Current password" name="current_password" type="password" autocomplete="current-password" required wrong=${wrong.current_password} />
      <${Field} label="New password" name="new_password" type="password" autocomplete="new-password" minlength="8" maxlength="128" required wrong=${wrong.new_password} />
      <${Problem} error=${error} shown=${["current_password", "new_password"]} />
      ${message && html`<${Notice}><p role="status">${message}</p><//>`}
      <button aria-busy=${busy}>Change password</button>
    </form>`;
}

function Deletion({ user }) {
  const site = useSignal(settings);
  const { run, busy, error } = useWork(async ({ target }) => {
    const sent = [...new FormData(target)].filter(([, text]) => text);
    await post("/auth/delete-account/", Object.fromEntries(sent));
    signOut();
    go("#/");
  });
  const wrong = error?.fields ?? {};
  return html`
    <h2>Delete account</h2>
    <p>Deletes your books and files${site?.billing_enabled ? " and your credits, and ends your subscriptions at once" : ""}. This cannot be undone.</p>
    <form onSubmit=${run}>
      <input hidden autocomplete="username" value=${user.username} readonly />
      <${Field} label="Your password" name="current_password" type="password" autocomplete="current-password" wrong=${wrong.current_password}
        hint=${site?.google_client_id ? "If you have no password, sign in with Google again and leave this empty." : ""} />
      <${Problem} error=${error} shown=${["current_password"]} />
      <button class="bad" aria-busy=${busy}>Delete my account</button>
    </form>`;
}

const THEMES = [["", "System"], ["light", "Light"], ["dark", "Dark"]];

function Looks() {
  const [theme, show] = useState(localStorage.getItem("bookgen:theme") ?? "");
  const [keys, use] = useState(localStorage.getItem("bookgen:keys") !== "off");
  const pick = ({ target: { value } }) => {
    localStorage.setItem("bookgen:theme", value);
    document.documentElement.dataset.theme = value;
    show(value);
  };
  const turn = ({ target: { checked } }) => {
    localStorage.setItem("bookgen:keys", checked ? "on" : "off");
    use(checked);
  };
  return html`
    <h2>Appearance and keyboard</h2>
    <${Field} as="select" label="Theme" value=${theme} onChange=${pick}>
      ${THEMES.map(([value, label]) => html`<option value=${value} selected=${value === theme}>${label}</option>`)}<//>
    <${Check} label="Use keyboard shortcuts (press ? for the list)" checked=${keys} onChange=${turn} />`;
}
