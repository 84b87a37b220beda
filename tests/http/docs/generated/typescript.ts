// Make and save a book with openapi-fetch and the types of openapi-typescript: BASE_URL FOLDER.

import { writeFile } from "node:fs/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./made_client.js";

const [baseUrl, folder] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl });

function done<T>({ data, error }: { data?: T; error?: components["schemas"]["Error"] }): T {
  if (error !== undefined || data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const form = { username: "ots", email: "ots@example.com", password: "correct horse battery" };
const registered = done(await client.POST("/auth/register/", { body: form }));
const access: string = registered.tokens!.access;
client.use({
  onRequest({ request }) {
    request.headers.set("Authorization", `Bearer ${access}`);
    return request;
  },
});

const made = done(await client.POST("/books/", { body: { title: "Made", chapter_count: 2, target_word_count: 400 } }));
const params = { path: { id: made.id } };
const refused = await client.POST("/books/{id}/generate/", { params });
const code: components["schemas"]["Error"]["error"]["code"] | undefined = refused.error?.error.code;
if (code !== "VALIDATION_ERROR") throw new Error(`not refused: ${code}`);
const outlined = done(await client.POST("/books/{id}/generate-outline/", { params }));
if (outlined.chapters.map((chapter) => chapter.chapter_number).join() !== "1,2") throw new Error("no outline");
if (done(await client.POST("/books/{id}/generate/", { params })).mode !== "full") throw new Error("not a full run");
for (;;) {
  const status = done(await client.GET("/books/{id}/generation-status/", { params }));
  if (status.generation_status === "completed") break;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const exports = {
  pdf: "/books/{id}/export_pdf/",
  docx: "/books/{id}/export_docx/",
  epub: "/books/{id}/export_epub/",
} as const;
for (const [name, path] of Object.entries(exports) as [string, (typeof exports)["pdf"]][]) {
  const file = done(await client.POST(path, { params, body: {}, parseAs: "arrayBuffer" }));
  await writeFile(`${folder}/book.${name}`, Buffer.from(file as unknown as ArrayBuffer));
}

// The response of each GET can be sent back by PATCH: its types allow it, and the service accepts it.
const settings = { isbn: "978-3-16-148410-0", font: "sans", font_size: 12 } as const;
done(await client.PATCH("/books/{id}/", { params, body: { export_settings: settings } }));
const [listed] = done(await client.GET("/books/"));
done(await client.PATCH("/books/{id}/", { params, body: listed! }));
const book = done(await client.GET("/books/{id}/", { params }));
done(await client.PATCH("/books/{id}/", { params, body: book }));
done(await client.POST("/books/{id}/update-outline/", { params, body: { chapters: book.chapters, replace: true } }));
const bible = done(await client.GET("/books/{id}/bible/", { params }));
done(await client.PATCH("/books/{id}/bible/", { params, body: bible }));
const [fact] = done(await client.GET("/books/{id}/facts/", { params }));
const ofFact = { path: { id: made.id, fact_id: fact!.id } };
const read = done(await client.GET("/books/{id}/facts/{fact_id}/", { params: ofFact }));
done(await client.PATCH("/books/{id}/facts/{fact_id}/", { params: ofFact, body: read }));
const ofChapter = { path: { id: book.chapters[0]!.id } };
const chapter = done(await client.GET("/chapters/{id}/", { params: ofChapter }));
done(await client.PATCH("/chapters/{id}/", { params: ofChapter, body: chapter }));
done(await client.POST("/chapters/{id}/generate-image/", { params: ofChapter, body: {} }));
const [picture] = done(await client.GET("/chapters/{id}/illustrations/", { params: ofChapter }));
done(await client.PATCH("/illustrations/{id}/", { params: { path: { id: picture!.id } }, body: picture! }));
const profile = done(await client.GET("/auth/profile/"));
done(await client.PATCH("/auth/profile/", { body: profile }));
const after = done(await client.GET("/books/{id}/", { params }));
const lasting = (one: typeof book) => {
  const chapters = one.chapters.map(({ id, title, summary, content }) => ({ id, title, summary, content }));
  return JSON.stringify([one.title, one.trim_size, one.characters, one.export_settings, chapters]);
};
if (lasting(after) !== lasting(book)) throw new Error(`${lasting(book)} became ${lasting(after)}`);
if (after.export_settings.font !== "sans") throw new Error("the settings of exports are lost");
