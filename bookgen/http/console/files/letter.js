// The page that a mailed link opens: one form, whose call is the page's own path below the API's.

const API = new URL("../../api/v1/auth", import.meta.url).href;
const { home } = document.body.dataset; // the page for people, where there is one
const form = document.querySelector("form");
const output = document.querySelector("[role=status]");
const signIn = form?.querySelector("fieldset"); // of links that are for the holder of an account alone

document.documentElement.dataset.theme = localStorage.getItem("bookgen:theme") ?? "";
const way = home ? addWayHome() : null;
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await follow();
  } catch {
    output.textContent = "The service cannot be reached. Try again in a moment.";
  }
});

async function follow() {
  const [, call] = /(\/(?:verify-email|reset-password|magic-login|undo-email|approve-email)\/.*)$/.exec(location.pathname);
  const fields = Object.fromEntries(new FormData(form));
  const headers = signIn && (signIn.disabled ? await holder() : await signedIn(fields));
  if (signIn && !headers) return;
  const reply = await send(form.dataset.method, call, signIn ? {} : fields, headers);
  const body = await reply.json();
  if (signIn && reply.status === 401) return askToSignIn();
  if (!reply.ok) {
    form.hidden = Boolean(body.error.details?.token); // the link was used meanwhile
    return say(body);
  }
  form.hidden = true;
  if (body.tokens && home) return enter(body);
  if (way) {
    way.href = `${home}#/signin`; // who is signed in goes on from there to the books
    way.focus();
  }
  output.textContent = body.message ?? `You are signed in as ${body.user.username}. Your access token: ${body.tokens.access}`;
}

const send = (method, call, fields, headers = {}) =>
  fetch(API + call, method === "GET" ? { headers } : { method, body: JSON.stringify(fields), headers: { ...headers, "Content-Type": "application/json" } });

function say({ error }) {
  output.textContent = Object.values(error.details ?? {}).flat().join(" ") || error.message;
}

// A stranger who follows the link has nothing to confirm: only the account's holder can sign in to it.
function askToSignIn() {
  output.textContent = signIn.disabled
    ? "Sign in to the account whose address changes. If you did not request this change, there is nothing to confirm: close this page."
    : "This is not the account whose address changes. There is nothing to confirm for it.";
  signIn.disabled = signIn.hidden = false;
  signIn.querySelector("input").focus();
}

/** The headers of a request by the account that the fields name; null, once said why, where they name none. */
async function signedIn({ name, password }) {
  const reply = await send("POST", "/login/", { [/.@.+\../.test(name) ? "email" : "username"]: name, password });
  const body = await reply.json();
  if (reply.ok) return { Authorization: `Bearer ${body.tokens.access}` };
  say(body);
  return null;
}

// A holder who is signed in keeps password and tokens, and needs no password to confirm a change.
async function holder() {
  if (!home) return {};
  const { current } = await import("./session.js");
  const { get } = await import("./api.js");
  if (current.value) await get("/auth/profile/").catch(() => {}); // renews a token that has run out
  return current.value ? { Authorization: `Bearer ${current.value.tokens.access}` } : {};
}

async function enter(reply) {
  const { signIn } = await import("./session.js");
  signIn(reply, false);
  location.replace(home);
}

function addWayHome() {
  const link = Object.assign(document.createElement("a"), { href: home, textContent: "Go to your books" });
  const line = document.createElement("p");
  line.append(link);
  document.querySelector(".narrow").append(line);
  return link;
}
