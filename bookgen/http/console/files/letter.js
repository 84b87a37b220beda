// The page that a mailed link opens: one form, whose call is the page's own path below the API's.

const API = new URL("../../api/v1/auth", import.meta.url).href;
const { home } = document.body.dataset; // the page for people, where there is one
const form = document.querySelector("form");
const output = document.querySelector("[role=status]");

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
  const [, call] = /(\/(?:verify-email|reset-password|magic-login|undo-email)\/.*)$/.exec(location.pathname);
  const { method } = form.dataset;
  const fields = JSON.stringify(Object.fromEntries(new FormData(form)));
  const sent = method === "GET" ? { headers: await holder() } : { method, body: fields, headers: { "Content-Type": "application/json" } };
  const reply = await fetch(API + call, sent);
  const body = await reply.json();
  if (!reply.ok) {
    output.textContent = Object.values(body.error.details ?? {}).flat().join(" ") || body.error.message;
    return;
  }
  form.hidden = true;
  if (body.tokens && home) return enter(body);
  if (way) {
    way.href = `${home}#/signin`; // who is signed in goes on from there to the books
    way.focus();
  }
  output.textContent = body.message ?? `You are signed in as ${body.user.username}. Your access token: ${body.tokens.access}`;
}

// Who follows the link of a new address signed in keeps the password.
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
