// A book made and saved through openapi-fetch and the types that openapi-typescript makes: BASE_URL FOLDER.

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
