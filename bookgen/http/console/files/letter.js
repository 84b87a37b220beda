// The page of a mailed link: one form, which calls the page's own path below the API's.

const API = new URL("../../api/v1/auth", import.meta.url).href;
const { home } = document.body.dataset; // the web page, if there is one
const form = document.querySelector("form");
const output = document.querySelector("[role=status]");
const signIn = form?.querySelector("fieldset"); // for links that only the account's owner may use

document.documentElement.dataset.theme = localStorage.getItem("bookgen:theme") ?? "";
const way = home ? addWayHome() : null;
if (way && location.pathname.includes("/checkout/")) leadBack();
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
    form.hidden = Boolean(body.error.details?.token); // the link has been used in the meantime
    return say(body);
  }
  form.hidden = true;
  if (body.tokens && home) return enter(body);
  if (way) {
    way.href = `${home}#/signin`; // a signed-in reader continues to the books from there
    way.focus();
  }
  output.textContent = body.message ?? `You are signed in as ${body.user.username}. Your access token: ${body.tokens.access}`;
}

const send = (method, call, fields, headers = {}) =>
  fetch(API + call, method === "GET" ? { headers } : { method, body: JSON.stringify(fields), headers: { ...headers, "Content-Type": "application/json" } });

function say({ error }) {
  output.textContent = Object.values(error.details ?? {}).flat().join(" ") || error.message;
}

// A stranger who follows the link can confirm nothing: only the account's owner can sign in to it.
function askToSignIn() {
  output.textContent = signIn.disabled
    ? "Sign in to the account that requested the new e-mail address. If you did not request one, close this page."
    : "You signed in to another account. Sign in to the account that requested the new e-mail address.";
  signIn.disabled = signIn.hidden = false;
  signIn.querySelector("input").focus();
}

/** The request headers of the account in the fields, or null (after showing why) if they name none. */
async function signedIn({ name, password }) {
  const reply = await send("POST", "/login/", { [/.@.+\../.test(name) ? "email" : "username"]: name, password });
  const body = await reply.json();
  if (reply.ok) return { Authorization: `Bearer ${body.tokens.access}` };
  say(body);
  return null;
}

/** The request headers of the account that is signed in here, if any. Such an owner needs no password to confirm. */
async function holder() {
  if (!home) return {};
  const { current } = await import("./session.js");
  const { get } = await import("./api.js");
  if (current.value) await get("/auth/profile/").catch(() => {}); // refreshes an expired token
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

/** A signed-in reader goes back to the view from which they went to pay. */
async function leadBack() {
  const { comeBack } = await import("./paying.js");
  const start = comeBack(location.pathname.includes("/checkout/success"));
  if (start === null) return;
  document.querySelector("[data-guests]")?.remove();
  way.href = home + start;
  way.textContent = "Continue where you were";
}
