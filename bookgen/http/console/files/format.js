// Numbers, times, money and languages in the reader's locale.

const LOCALE = navigator.languages;
const RTL = new Set(["ar", "he", "fa", "ur"]);

const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const day = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium" });
const moment = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });
const list = new Intl.ListFormat("en");
const choice = new Intl.ListFormat("en", { type: "disjunction" });
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export const number = (value) => whole.format(value);
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
/** Such as "Chapter 2" or "Chapters 2, 5, and 6". */
export const named = (one, numbers) => `${one}${numbers.length === 1 ? "" : "s"} ${list.format(numbers.map(String))}`;
/** Such as "ISBN and Font size". */
export const together = (names) => list.format(names);
/** Such as "PDF or EPUB". */
export const either = (names) => choice.format(names);
export const words = (value) => count(value, "word");
export const date = (value) => day.format(new Date(value));
export const time = (value) => moment.format(new Date(value));

export function since(value) {
  const minutes = (new Date(value) - Date.now()) / 60000;
  if (minutes > -1) return "just now";
  if (minutes > -60) return ago.format(Math.round(minutes), "minute");
  if (minutes > -24 * 60) return ago.format(Math.round(minutes / 60), "hour");
  return minutes > -7 * 24 * 60 ? ago.format(Math.round(minutes / 1440), "day") : date(value);
}

export function duration(seconds) {
  if (seconds < 90) return "about a minute";
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `about ${minutes} minutes`;
  const hours = Math.round(minutes / 30) / 2;
  return `about ${hours} hours`;
}

/** `micros`: millionths of the currency's unit. */
export function cost(micros, currency = "USD") {
  const digits = micros > 0 && micros < 10_000 ? 4 : 2;
  return new Intl.NumberFormat(LOCALE, { style: "currency", currency, minimumFractionDigits: digits }).format(micros / 1e6);
}

export const price = (amount, currency = "USD") =>
  new Intl.NumberFormat(LOCALE, { style: "currency", currency: currency.toUpperCase() }).format(Number(amount));

export const direction = (language) => (RTL.has((language ?? "en").split("-")[0]) ? "rtl" : "ltr");

/** Attributes of an element that contains the book's own text. */
export const inLanguage = (book) => ({ lang: book.content_language, dir: direction(book.content_language) });
