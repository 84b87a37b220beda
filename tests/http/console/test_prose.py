"""The page shows scene breaks and line breaks of chapters like the exported files."""

from __future__ import annotations

import random

from bookgen.http.console.static import assets
from bookgen.render.scene_breaks import with_markdown_breaks
from bookgen.render.verse_lines import is_in_lines
from tests.http.conftest import Api
from tests.http.console.browser import BrowserPage
from tests.http.console.conftest import sign_in

TEXT = """One.

*

Two<br>lines.

---

## Three

Four<BR/>
lines.

~ ~ ~

***

- yes
- no

4 Elm Street
Halle

1
A line that an editor has wrapped somewhere near its eightieth letter, as letters
are.

#
"""
WRAPPED = "1 A line that an editor has wrapped somewhere near its eightieth letter, as letters are."
POEM = """So I am fifty-two
        before I do *it,
    out* from the slip

- that is all -
1953. The mark
\tof the tide

***

> He stops
> there.

```
  a  b
```
"""
# Each line of the poem with its indent in ems.
LINES = """
const em = (line) => parseFloat(line.style.marginInlineStart || "0");
return [...document.querySelectorAll(".reading :is(.verse, .break, code)")].map((block) => block.matches(".verse")
  ? [...block.querySelectorAll("span")].map((line) => `${em(line)} ${line.innerText}`) : block.innerText);
"""
TOPS = """
const lines = document.querySelectorAll(".reading .verse > span");
return new Set([...lines].map((line) => line.getBoundingClientRect().top)).size;
"""
# Whether the rest of each line that turns begins further in than the line.
TURNED = """
return [...document.querySelectorAll(".reading p span")].map((line) => {
  const range = document.createRange();
  range.selectNodeContents(line);
  const lefts = [...range.getClientRects()].map(({ left }) => left);
  return lefts.length > 1 && lefts.slice(1).every((left) => left > lefts[0] + 10);
});
"""
READ = """
return [...document.querySelectorAll(".reading :is(p:not(.quiet), h3, li)")].map(
  (one) => (one.matches(".break") ? "break" : one.innerText.replaceAll("\\n", "|")));
"""
JUDGED = """
const [folder, texts, done] = arguments;
import(`${folder}/scenebreaks.js`).then(({ withBreaks }) =>
  done(texts.map((text) => withBreaks(text).split("\\n").includes("***"))));
"""
IN_LINES = """
const [folder, texts, done] = arguments;
import(`${folder}/verse.js`).then(({ isInLines }) => done(texts.map(isInLines)));
"""
# Shows each text in the place of the one before it. Returns those whose blocks differ from a text that is shown alone.
MISPLACED = """
const [folder, texts, done] = arguments;
(async () => {
  const { Prose } = await import(`${folder}/prose.js`);
  const { html, render } = await import(`${folder}/hooks.js`);
  const shown = (text, at, place) => {
    render(html`<article>
      <h1>Title</h1>${at % 2 === 0 && html`<p>Sample text</p>`}<${Prose} book=${{}} text=${text} />
      ${!text && html`<p />`}
    </article>`, place);
    return [...place.querySelectorAll("p, h3, blockquote")].map((block) => block.textContent).join("|");
  };
  const place = document.createElement("div");
  done(texts.filter((text, at) => shown(text, at, place) !== shown(text, at, document.createElement("div"))));
})();
"""
BLOCKS = ("A line.", "## Head", "***", "One\ntwo.", "> A quotation.", "Another line.")
MARKS = ["*", "~", "#", "-", "•••", "* * *", "⁂", "_ _ _", "<hr>", "<center>***</center>", "\\*", "☆ ☆ ☆", "=====", "❦"]
WORDS = ["…", "?!", "1", "★★★★☆", "♥", "A*", "...", "```", "> *"]


async def test_the_page_shows_breaks_like_the_files(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    chapter = (await account.written())["chapters"][0]
    await account.patch(f"/chapters/{chapter['id']}/", {"content": TEXT})

    await page.open(f"books/{chapter['book']}/chapters/{chapter['id']}/read")

    shown = ["One.", "break", "Two|lines.", "Three", "Four|lines.", "break", "yes", "no", "4 Elm Street|Halle", WRAPPED]
    assert await page.script(READ) == shown


async def test_the_blocks_of_a_changed_text_keep_their_order(page: BrowserPage) -> None:
    chance = random.Random(7)
    texts = ["\n\n".join(chance.choices(BLOCKS, k=chance.randint(1, 8))) for _ in range(200)]

    assert await page.wait_for(MISPLACED, f"/console/{assets().version}", texts) == []


async def test_the_page_shows_each_line_of_verse_with_its_indent(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    book = await account.written(genre="Poetry")
    chapter = book["chapters"][0]
    await account.patch(f"/chapters/{chapter['id']}/", {"content": POEM})

    await page.open(f"books/{book['id']}/chapters/{chapter['id']}/read")

    assert await page.script(LINES) == [
        ["0 So I am fifty-two", "3.2 before I do it,", "1.6 out from the slip"],
        ["0 - that is all -", "0 1953. The mark", "1.6 of the tide"],
        "⁂",
        ["0 He stops", "0 there."],
        "  a  b",
    ]
    assert await page.script("return document.querySelectorAll('.reading .verse em').length") == 2
    assert await page.script(TOPS) == 8


async def test_the_page_and_the_files_recognise_the_same_breaks(page: BrowserPage) -> None:
    texts = [f"One.\n\n{mark}\n\nTwo." for mark in (*MARKS, *WORDS)]
    of_the_files = ["***" in list(with_markdown_breaks(text.split("\n"))) for text in texts]

    assert await page.wait_for(JUDGED, f"/console/{assets().version}", texts) == of_the_files
    assert of_the_files == [True] * len(MARKS) + [False] * len(WORDS)


async def test_the_page_and_the_files_recognise_the_same_lines(page: BrowserPage) -> None:
    letters = ["a", "é", "—", "文", "か", "한", "ﬀ", "！", "𠀀", "😀", "ก"]
    texts = [f"{letter * count}\nb" for letter in letters for count in (30, 31, 60, 61)]
    starts = ["1", "١", "½", "–", "A", "ǅ", "a", "א", "«É", "**9**", "[^1]", "* *", "\u00a0", ""]
    ends = [".", '."', ".[^1]", ".*", "…", "。", ":", ";", "—”", "–*", ",", "x"]
    texts += [f"{start} {'word ' * 13}{end}\n{start} b{end}\nC d" for start in starts for end in ends]
    texts += [f"A {'word ' * 13}\nB {'c' * count}\nDe" for count in (58, 59, 60, 61, 62, 63, 64)]
    texts += [f"{start} {'c' * count}\n{start} b\n{start} d" for start in "A1" for count in (197, 198, 199)]
    of_the_files = [is_in_lines(text) for text in (*texts, "one line")]

    assert await page.wait_for(IN_LINES, f"/console/{assets().version}", [*texts, "one line"]) == of_the_files
    assert {True, False} == set(of_the_files)


async def test_the_page_shows_a_log_of_long_lines_line_by_line(page: BrowserPage, visitor: Api) -> None:
    account = await sign_in(page, visitor)
    chapter = (await account.written())["chapters"][0]
    log = [f"19{minute} {'The lights fail. ' * 9}".strip() for minute in (30, 34, 40)]
    await account.patch(f"/chapters/{chapter['id']}/", {"content": "\n".join(log)})

    await page.open(f"books/{chapter['book']}/chapters/{chapter['id']}/read")

    assert await page.script(READ) == ["|".join(log)]
    assert await page.script(TURNED) == [True] * 3
