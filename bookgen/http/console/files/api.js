// The REST API for the views: JSON in, JSON out, failures as ApiError, retries as the contract asks.

import * as session from "./session.js";
import { signal } from "./signal.js";

export const BASE = new URL("../../api/v1", import.meta.url).href;
const BACKOFF_SECONDS = [2, 4];
const MAX_WAIT_SECONDS = 60;

export const reachable = signal(true);

export class ApiError extends Error {
  constructor(status, code, message, details = {}, retryAfter = 0) {
    super(message);
    Object.assign(this, { status, code, details, retryAfter });
  }

  // The messages for each field of a form.
  get fields() {
    return this.code === "VALIDATION_ERROR" ? this.details : {};
  }
}

const known = new Map(); // path -> { etag, data }: the last answer of a GET

let knownTo = session.current.value?.account.id;

session.current.subscribe((now) => {
  if (now?.account.id !== knownTo) known.clear();
  knownTo = now?.account.id;
});

export const remembered = (path) => known.get(path)?.data;

/** Read data. `data` is the same object as before while nothing has changed; `tag` is the ETag of what was read. */
export async function get(path, { wait = 0, signal: abort } = {}) {
  const before = known.get(path);
  const asker = knownTo;
  const headers = {};
  if (before?.etag) headers["If-None-Match"] = before.etag;
  if (wait) headers.Prefer = `wait=${wait}`;
  for (let tries = 0; ; tries++) {
    try {
      const reply = await send("GET", path, { headers, abort });
      if (reply.status === 304) return { data: before.data, tag: before.etag, waited: reply.headers.has("Preference-Applied") };
      const data = await reply.json();
      const tag = reply.headers.get("ETag");
      if (asker === knownTo) known.set(path, { etag: tag, data });
      return { data, tag, waited: reply.headers.has("Preference-Applied"), isNew: true };
    } catch (error) {
      const seconds = error.status >= 500 ? BACKOFF_SECONDS[tries] : undefined;
      if (!seconds || wait) throw error;
      await sleep(Math.max(seconds + Math.random(), error.retryAfter));
    }
  }
}

/** Change something. Returns null if the answer has no body. */
export async function change(method, path, body, headers) {
  const reply = await send(method, path, { body, headers });
  return reply.status === 204 ? null : reply.json();
}

export const post = (path, body) => change("POST", path, body);
/** `tag`: the ETag of what was read. With it, the request fails with CONFLICT if someone else has changed that since. */
export const patch = (path, body, tag) => change("PATCH", path, body, tag && { "If-Match": tag });
export const remove = (path) => change("DELETE", path);

/** Request a file with a POST. Returns its name and its bytes. */
export async function file(path, body) {
  const reply = await send("POST", path, { body });
  const [, name] = /filename\*=UTF-8''([^;]+)/.exec(reply.headers.get("Content-Disposition") ?? "") ?? [];
  return { name: name ? decodeURIComponent(name) : "book", blob: await reply.blob() };
}

async function send(method, path, { body, headers = {}, abort } = {}) {
  for (let signedInAgain = false; ; ) {
    const tokens = session.current.value?.tokens;
    try {
      return await once(method, path, body, { ...headers, ...bearer(tokens) }, abort);
    } catch (error) {
      if (error.code === "RATE_LIMIT_EXCEEDED" && error.retryAfter <= MAX_WAIT_SECONDS) {
        await sleep(error.retryAfter);
      } else if (tokens && error.status === 401 && error.code !== "INVALID_CREDENTIALS" && !signedInAgain) {
        signedInAgain = !(await renewed(tokens, error));
        if (signedInAgain) await session.signedInAgain();
      } else {
        throw error;
      }
    }
  }
}

const bearer = (tokens) => (tokens ? { Authorization: `Bearer ${tokens.access}` } : {});

async function once(method, path, body, headers, abort) {
  let reply;
  try {
    reply = await fetch(BASE + path, {
      method,
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: abort,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    reachable.set(false);
    throw new ApiError(0, "UNREACHABLE", "The service can’t be reached.");
  }
  reachable.set(true);
  if (reply.ok || reply.status === 304) return reply;
  throw await refusal(reply);
}

async function refusal(reply) {
  const told = (await reply.json().catch(() => null))?.error;
  const wait = Number(reply.headers.get("Retry-After")) || 0;
  if (!told?.code) return new ApiError(reply.status, "SERVER_ERROR", `The service answered with status ${reply.status}.`, {}, wait);
  return new ApiError(reply.status, told.code, told.message, told.details ?? {}, wait);
}

// One refresh at a time; concurrent callers share its result.
let renewing = null;

async function renewed(tokens, error) {
  if (session.current.value?.tokens.access !== tokens.access) return true;
  if (error.code !== "TOKEN_EXPIRED") return false;
  renewing ??= once("POST", "/auth/token/refresh/", { refresh: tokens.refresh }, {})
    .then(async (reply) => session.renew(await reply.json()))
    .finally(() => (renewing = null));
  try {
    await renewing;
    return true;
  } catch (failure) {
    if (failure.status === 401 || failure.status === 403) return false;
    throw failure;
  }
}

export const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
