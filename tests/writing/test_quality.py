"""The quality gate reports flaws without a model call. It changes only what is certain, and records the change."""

import random
from dataclasses import replace

import pytest

from bookgen.words import count_words
from bookgen.writing.chapter import write_chapter
from bookgen.writing.foreign import foreign
from bookgen.writing.material import ChapterDraft, Material
from bookgen.writing.printed_marks import printed_marks
from bookgen.writing.quality import avoid, inspect
from bookgen.writing.repair import MAX_REPAIRS
from bookgen.writing.repetition import ProfileCache, profile, repeated, same_edges, to_avoid, without_doubles
from bookgen.writing.residue import residue, without_residue
from bookgen.writing.stock_phrases import moral, stock_paragraphs
from tests.writing.misbehaved import doubled, repeats, writes
from tests.writing.scripted import Scripted, a_book, a_chapter, obedient, prose, sentence, some_material

ENGLISH = "She had left the lamp in the window, and when he came back it was the only light that he could see."
GERMAN = "Sie hatte die Lampe im Fenster stehen lassen, und als er zurückkam, war sie das einzige Licht, das er sah."
FRENCH = "Elle avait laissé la lampe dans la fenêtre, et quand il est revenu, c'était la seule lumière qui lui restait."
RUSSIAN = "Она оставила лампу в окне, и когда он вернулся, это был единственный свет, который он видел с дороги."
UKRAINIAN = "Вона залишила лампу у вікні, і коли він повернувся, це було єдине світло, яке він бачив із дороги."
FINNISH = "Hän jätti lampun ikkunalle, ja kun mies palasi, se oli ainoa valo jonka hän näki tieltä asti."
CHINESE = "她把灯留在窗台上，等他回来的时候，那是他从路上能看见的唯一的光，整个镇子都睡着了，没有一个人在街上走动。"
JAPANESE = "彼女は窓辺にランプを置いたまま出かけた。彼が戻ったとき、それは道から見えるただひとつの明かりだった。"


@pytest.mark.parametrize(
    ("tag", "own", "strangers"),
    [
        ("en", ENGLISH, [GERMAN, FRENCH, RUSSIAN, CHINESE]),
        ("de-AT", GERMAN, [ENGLISH, FRENCH, RUSSIAN]),
        ("fr", FRENCH, [ENGLISH, GERMAN, JAPANESE]),
        ("ru", RUSSIAN, [ENGLISH, CHINESE, UKRAINIAN]),
        ("uk", UKRAINIAN, [ENGLISH, RUSSIAN]),
        ("zh", CHINESE, [ENGLISH, JAPANESE]),
        ("ja", JAPANESE, [ENGLISH, CHINESE]),
        ("fi", FINNISH, [ENGLISH]),
    ],
)
def test_a_paragraph_in_another_language_is_detected(tag, own, strangers):
    book = a_book(content_language=tag)
    glue = "" if tag in ("zh", "ja") else " "
    whole = glue.join([own, own, own])
    assert foreign(whole, book) == []
    for stranger in strangers:
        text = f"{whole}\n\n{stranger} {stranger}\n\n{whole}"
        assert [flaw.paragraph for flaw in foreign(text, book)] == [1]


@pytest.mark.parametrize(
    ("tag", "paragraph"),
    [
        ("ru", "```python\nfor chapter in chapters_of_the_book:\n    print(chapter.title, chapter.content)\n```"),
        ("zh", "用Python的asyncio可以同时处理数千个连接，但不要在其中调用requests这样的同步库，否则事件循环会停下来。"),
        ("de", "> It was the best of times, it was the worst of times, it was the age of wisdom and of foolishness."),
    ],
)
def test_code_terms_and_quotations_may_be_in_another_language(tag, paragraph):
    assert foreign(paragraph, a_book(content_language=tag)) == []


def test_a_foreign_word_or_a_short_foreign_line_is_no_flaw():
    book = a_book()
    assert foreign("“I would rather talk about a song nobody finished,” Mara said a little stiffly.", book) == []
    assert foreign(f"{ENGLISH}\n\n«C'est la vie», he said.\n\nУра!", book) == []


@pytest.mark.parametrize(
    "paragraph",
    [
        f"“{GERMAN} {GERMAN}”",
        f"— {GERMAN} {GERMAN}",
        f"> {GERMAN} {GERMAN}",
        f"*{GERMAN} {GERMAN}*",
        f"Liebe Mara,\n\n{GERMAN} {GERMAN}\n\nDein Tobias",
        "Sah ein Knab ein Röslein stehn,\nRöslein auf der Heiden,\nwar so jung und morgenschön,\nlief er, es zu sehn",
    ],
)
def test_speech_and_quotations_and_letters_and_verse_may_be_in_another_language(paragraph):
    assert foreign(f"{ENGLISH}\n\n{ENGLISH}\n\n{paragraph}\n\n{ENGLISH}\n\n{ENGLISH} {ENGLISH}", a_book()) == []


AVE_MARIA = (
    "Ave Maria, cheia de graça, o Senhor é convosco, bendita sois vós entre as mulheres e bendito é o fruto do vosso "
    "ventre, Jesus. Santa Maria, Mãe de Deus, rogai por nós pecadores, agora e na hora da nossa morte. Amém."
)


@pytest.mark.parametrize(
    "wish",
    [
        {"description": "A brotherhood in Porto prays an Ave Maria in Portuguese before it decides."},
        {"style_notes": "The prayers stay in Portuguese."},
        {"bible": {"terms": [{"name": "Ave Maria", "description": "what the brotherhood prays"}]}},
    ],
)
def test_a_language_that_the_author_announces_is_no_flaw(wish):
    content = f"{ENGLISH}\n\n{AVE_MARIA}\n\n{ENGLISH} {ENGLISH} {ENGLISH}"

    assert foreign(content, a_book(**{"bible": {}, **wish})) == []
    assert [flaw.kind for flaw in foreign(content, a_book(bible={}))] == ["wrong_language"]


def test_a_chapter_in_another_language_is_a_flaw_unless_the_book_is_bilingual():
    content = "\n\n".join([GERMAN] * 6)

    assert [flaw.paragraph for flaw in foreign(content, a_book())] == [None]
    assert foreign(content, a_book(description="A bilingual book, English and German in turn.")) == []


@pytest.mark.parametrize(
    ("paragraph", "kind"),
    [
        ("Here is the next chapter, with more tension as requested.", "meta_text"),
        ("As an AI language model, I cannot know the sea.", "meta_text"),
        ("Let me know if you would like changes!", "meta_text"),
        ("以下是本章的内容。", "meta_text"),
        ("She met [insert name here] on the quay.", "placeholder"),
        ("TODO: the storm.", "placeholder"),
        ("Lorem ipsum dolor sit amet.", "placeholder"),
        ("Dear {{character_name}}, come back.", "placeholder"),
        ("## The Lantern of Day 1", "duplicate_heading"),
    ],
)
def test_text_that_is_not_part_of_a_book_is_detected(paragraph, kind):
    assert kind in [flaw.kind for flaw in residue(f"{ENGLISH}\n\n{paragraph}", a_chapter(1), "en")]


@pytest.mark.parametrize(
    ("paragraph", "excerpt"),
    [
        ("*Tues. 4 May. Ex* Solan*, 26 tonnes. Weighed, dry.*", "Solan*, 26 tonnes. Weighed, dry.*"),
        ("He had *never seen it.", "He had *never seen it."),
    ],
)
def test_an_asterisk_that_will_be_printed_is_reported(paragraph, excerpt):
    (flaw,) = printed_marks(f"{ENGLISH}\n\n{paragraph}")

    assert (flaw.kind, flaw.excerpt) == ("printed_mark", excerpt)


@pytest.mark.parametrize(
    "text",
    [
        "She *did* it, **twice**, and ***again***.",
        "***",
        "* * *",
        "- *one*\n- two",
        "What the f**k, he said.",
        "Two * three is six.",
        "An escaped \\*star\\* is meant.",
        "Nothing under 20*, or over.",
        "`a*b*` and `*c`.",
    ],
)
def test_marks_that_are_meant_are_not_reported(text):
    assert printed_marks(f"{ENGLISH}\n\n{text}") == []


def test_ordinary_prose_has_no_residue():
    text = "Al final, todo era verdad.\n\n"
    text += f"{ENGLISH}\n\n“Let me know,” she said. The next part of the road was dark [1].\n\n## A heading\n\n{GERMAN}"

    assert residue(text, a_chapter(1), "en") == []


LETTER = """\
The letter is short. Copy it, and fill in what stands in brackets.

Dear [Name],

I bake bread at [address] and would like to sell it at the market on [date].

Yours sincerely,

[Your name]"""


@pytest.mark.parametrize(
    "template",
    [LETTER, "> Dear [Name], come on [date].", "- [Name]\n- [Date]", "Replace the placeholder: Hello {{name}}!"],
)
def test_blanks_announced_by_the_text_are_no_flaw(template):
    assert residue(f"{ENGLISH}\n\n{template}\n\n{ENGLISH}", a_chapter(1), "en") == []


def test_remarks_about_the_task_are_removed_and_recorded():
    text = f"{ENGLISH}\n\n(End of part two)\n\n## Here\n\n## Here\n\n{GERMAN}\n\n## Here\n\n{FRENCH}"

    cleaned = without_residue(text)

    assert cleaned.text == f"{ENGLISH}\n\n## Here\n\n{GERMAN}\n\n## Here\n\n{FRENCH}"
    assert [(change.kind, change.before) for change in cleaned.changes] == [
        ("meta_text", "(End of part two)"),
        ("duplicate_heading", "## Here"),
    ]
    assert ChapterDraft(cleaned.text, 0, None, changes=cleaned.changes).original == text


def test_the_second_of_two_identical_paragraphs_is_removed_and_recorded():
    once = prose(40, 1).replace("\n\n", " ")
    text = "\n\n".join([ENGLISH, once, prose(60, 100), GERMAN, once, prose(60, 200), FRENCH, FINNISH])

    cleaned = without_doubles(text)

    assert cleaned.text.count(once) == 1
    assert [(change.kind, change.before) for change in cleaned.changes] == [("repeated_paragraph", once)]
    assert ChapterDraft(cleaned.text, 0, None, changes=cleaned.changes).original == text


@pytest.mark.parametrize("form", ["> {}", "{}"])
def test_a_repeated_quotation_or_opening_may_occur_twice(form):
    once = form.format(prose(40, 1).replace("\n\n", " "))
    text = "\n\n".join(
        [once, prose(200, 100), once] if form == "{}" else [ENGLISH, once, prose(200, 100), once, GERMAN]
    )

    assert without_doubles(text).text == text


STOCK = (
    "Little did she know that everything was about to change. She let out a breath she didn't know she had been "
    "holding. The words hung in the air, a testament to everything they had lost, and she couldn't help but smile."
)


def test_a_paragraph_of_stock_phrases_is_reported_and_a_single_phrase_is_not():
    content = f"{ENGLISH}\n\n{STOCK}\n\nShe couldn't help but laugh, and shut the window."

    assert [(flaw.kind, flaw.paragraph) for flaw in stock_paragraphs(content, "en")] == [("stock_phrases", 1)]


@pytest.mark.parametrize(
    ("tag", "ending"),
    [
        ("en", "And in that moment she understood that home had never been a place."),
        ("en", "It was, he realised, not about the lamp but about the hands that lit it."),
        ("en", "She shut the door. Perhaps that was what home meant."),
        ("de", "Vielleicht war das genug."),
        ("fr", "Peut-être était-ce cela, le bonheur."),
    ],
)
def test_a_moral_in_the_last_lines_is_reported(tag, ending):
    assert [flaw.kind for flaw in moral(f"{ENGLISH}\n\n{ending}", tag)] == ["moral"]
    assert moral(f"{ending}\n\n{ENGLISH}", tag) == []


@pytest.mark.parametrize(
    "ending",
    [
        "She paid for both and went down to the boat.",
        "“Perhaps that was what home meant,” he said.",
        "It was not about to rain.",
    ],
)
def test_an_ending_with_a_scene_is_not_a_moral(ending):
    assert moral(f"{ENGLISH}\n\n{ending}", "en") == []


@pytest.mark.parametrize("language", ["en", "zh", "th", "ru"])
def test_a_sentence_repeated_from_an_earlier_chapter_is_detected(language):
    glue = "" if language == "zh" else " "
    earlier = [prose(300, 1, language), prose(300, 1_000, language)]
    last = glue.join([sentence(6_000, language), sentence(1_003, language)])
    text = f"{prose(60, 5_000, language)}\n\n{last}"

    flaws = repeated(text, earlier)

    assert [flaw.kind for flaw in flaws] == ["repeated_sentence"]
    assert "1003" in flaws[0].excerpt


REFRAIN = "And all the little lamps along the quay went out, went out."


@pytest.mark.parametrize(
    ("content", "earlier"),
    [
        (f"{prose(60, 1)}\n\n{REFRAIN}\n\n{prose(10, 90)}", [f"{prose(60, 200)}\n\n{REFRAIN}\n\n{prose(60, 400)}"] * 2),
        (f"{REFRAIN} {prose(10, 1)}\n\n{REFRAIN} {prose(10, 9)}", []),
        (f"{REFRAIN}\n\n{prose(300, 1)}\n\n{REFRAIN}", []),
        (f"{prose(60, 1)}\n\n{REFRAIN}\n\n{prose(10, 90)}", [f"{REFRAIN} {prose(60, 200)}"]),
        (f"{prose(60, 1)}\n\n> {REFRAIN}\n\n{prose(10, 90)}", [f"{prose(60, 200)}\n\n{REFRAIN}\n\n{prose(60, 400)}"]),
    ],
    ids=["refrain of three chapters", "anaphora", "frame", "opening taken up", "quotation"],
)
def test_intended_repetition_is_no_flaw(content, earlier):
    assert repeated(content, earlier) == []


def test_a_frequent_sentence_is_reported_once():
    content = "\n\n".join(
        [REFRAIN, prose(60, 1), prose(60, 90), prose(60, 190), REFRAIN, prose(60, 300), REFRAIN, ENGLISH, GERMAN]
    )

    assert [flaw.kind for flaw in repeated(content, [])] == ["repeated_sentence"]


def test_new_prose_has_no_repetition():
    assert repeated(prose(3_000, 50_000), [prose(3_000, 1), prose(3_000, 10_000)]) == []


def test_chapters_with_the_same_beginning_or_ending_are_detected():
    earlier = [f"The rain had not stopped for nine days in the town. {prose(50, 1)} And so she went home alone."]
    text = f"The rain had not stopped for two weeks on the coast. {prose(50, 99)}\n\nSo she went home alone."

    assert [flaw.kind for flaw in same_edges(text, earlier)] == ["same_opening", "same_ending"]
    assert same_edges(prose(90, 7_000), earlier) == []


def test_overused_sentences_are_listed_by_frequency_and_then_in_order():
    chapters = [f"{sentence(1)} {sentence(100)} {sentence(2)}", f"{sentence(3)} {sentence(100)} {sentence(4)}"]

    assert to_avoid(chapters) == [sentence(100), sentence(1), sentence(3), sentence(2), sentence(4)]


def test_warnings_and_labels_are_not_avoided_because_they_are_repeated_on_purpose():
    warning = "**Warning.** The tin is at oven heat. Hold a burn under cool running water for twenty minutes."
    note = "> **Cold note.** Give the final rise half an hour more."
    steps = "1. Weigh the flour and the salt before you go to bed."
    told = "\n\n".join([steps, warning, note])

    chapters = [f"## Before you start\n\n{sentence(number)}\n\n{told}" for number in (1, 2)]

    assert to_avoid(chapters) == [sentence(1), sentence(2)]
    assert repeated(chapters[1], chapters[:1]) == []


def test_a_profile_is_the_same_in_every_process():
    assert sorted(profile("She lit the lamp in the cold window again.").sentences) == [111287133]


def test_cached_profiles_are_limited_in_bytes_and_the_newest_stay() -> None:
    cache = ProfileCache(20_000)
    texts = [f"She lit the lamp in window {n} of the cold house again. " * 3 for n in range(100)]
    for text in texts:
        cache.of(text)

    assert 10_000 < cache.bytes <= 20_000
    assert cache.of(texts[-1]) is cache.of(texts[-1])
    assert cache.of(texts[0]) == profile(texts[0])


@pytest.mark.parametrize(("genre", "kinds"), [("Poetry", []), ("Children's", []), ("Mystery", ["repeated_sentence"])])
async def test_a_refrain_is_a_flaw_only_in_a_kind_of_book_without_refrains(genre, kinds):
    material = some_material(2, words=100, genre=genre)
    chapters = (
        a_chapter(1, words=100, content=f"{prose(80, 1)}\n\n{REFRAIN}\n\n{prose(80, 300)}"),
        material.chapters[1],
    )
    material = replace(material, chapters=chapters)

    flaws = await inspect(f"{prose(80, 500)}\n\n{REFRAIN}\n\n{prose(10, 900)}", material, chapters[1])

    assert [flaw.kind for flaw in flaws] == kinds
    assert (await avoid(material, chapters[1]) == []) == (not kinds)


async def test_a_repetitive_model_is_told_which_sentences_to_avoid():
    rng = random.Random(1)
    model = repeats(rng)
    material, plain, gated = some_material(10, words=1_500), [], []
    for chapter in material.chapters:
        alone = Scripted(model)
        bare = Material(material.book, tuple(replace(each, content="") for each in material.chapters))
        request_only = await write_chapter(bare, chapter.chapter_number, alone)
        plain.append(request_only.content)
    steps = Scripted(model)
    for chapter in material.chapters:
        draft = await write_chapter(material, chapter.chapter_number, steps)
        gated.append(draft.content)
        chapters = tuple(
            replace(each, content=draft.content, word_count=draft.word_count) if each.id == chapter.id else each
            for each in material.chapters
        )
        material = Material(material.book, chapters, {**material.digests, chapter.chapter_number: draft.digest})

    assert doubled(gated) <= 0.5 * doubled(plain)


def says_also(paragraph):
    """A model that does what it is asked and also says `paragraph` in the first part of a chapter."""

    def answer(request, brief, call):
        text = obedient(request, brief, call)
        if brief["stage"] == "chapter" and brief["part"] == 1:
            first, *rest = text.split("\n\n")
            return "\n\n".join([first, paragraph, *rest])
        return text

    return answer


@pytest.mark.parametrize(
    ("paragraph", "kinds"),
    [
        (LETTER, []),
        ("She met [insert name] on the quay.", ["placeholder"]),
        (STOCK, ["stock_phrases"]),
        ("Here is the next part of her life.", ["meta_text"]),
    ],
)
async def test_a_finished_text_is_kept_as_it_is_and_its_flaws_are_reported(paragraph, kinds):
    steps = Scripted(says_also(paragraph))

    draft = await write_chapter(some_material(2, words=900), 1, steps)

    assert paragraph in draft.content
    assert steps.of_stage("revise") == []
    assert [finding.kind for finding in draft.findings if finding.kind != "length"] == kinds
    assert draft.changes == ()
    assert draft.original is None


async def test_the_first_line_of_a_story_stays_whatever_its_first_word():
    line = "Of course the chapter of the brotherhood had an opinion:"

    def answer(request, brief, call):
        text = obedient(request, brief, call)
        return f"{line}\n\n{text}" if call == 1 else text

    draft = await write_chapter(some_material(2, words=900), 1, Scripted(answer))

    assert draft.content.startswith(line)


async def test_every_removed_announcement_can_be_restored_to_its_own_reply():
    replies = []

    def answer(request, brief, call):
        text = obedient(request, brief, call)
        if brief["stage"] == "chapter":
            text = f"Here is part {brief['part']} of chapter 1:\n\n{text}"
            replies.append(text)
        return text

    draft = await write_chapter(replace(some_material(2, words=1_800), in_parts=True), 1, Scripted(answer))

    assert len(replies) > 1
    assert "Here is" not in draft.content
    assert draft.original == "\n\n".join(replies)


async def test_a_passage_in_another_language_is_repaired_and_the_original_kept():
    passage = f"{GERMAN} {GERMAN}"
    steps = Scripted(says_also(passage))

    draft = await write_chapter(some_material(2, words=900), 1, steps)

    [asked] = steps.of_stage("revise")
    [change] = draft.changes
    assert asked.described()["passage"] == passage
    assert passage not in draft.content
    assert (change.kind, change.before) == ("wrong_language", passage)
    assert change.after in draft.content
    assert draft.original is not None
    assert passage in draft.original
    assert change.after not in draft.original
    assert draft.notes()[-1]["before"] == passage


async def test_the_number_of_repairs_in_a_chapter_is_limited():
    faults = [f"Kapitel {number}: {GERMAN} {GERMAN}" for number in range(9)]

    def awful(request, brief, call):
        text = obedient(request, brief, call)
        if brief["stage"] != "chapter" or brief["part"] > 1:
            return text
        return (
            "\n\n".join(each for pair in zip(text.split("\n\n"), faults, strict=False) for each in pair) + f"\n\n{text}"
        )

    steps = Scripted(awful)

    await write_chapter(some_material(2, words=2_400), 1, steps)

    assert len(steps.of_stage("revise")) == MAX_REPAIRS


async def test_a_chapter_that_stays_short_is_reported():
    draft = await write_chapter(some_material(1, words=3_000), 1, Scripted(writes(lambda: 0.7)))

    assert [finding.kind for finding in draft.findings] == ["length"]
    assert count_words(draft.content) > 0.69 * 3_000


async def test_a_chapter_within_25_percent_of_its_length_has_no_finding():
    draft = await write_chapter(some_material(1, words=3_000), 1, Scripted(writes(lambda: 0.8)))

    assert draft.findings == ()


async def test_a_new_chapter_is_compared_with_its_authors_bible():
    bible = {"avoid": ["suddenly"]}
    material = replace(some_material(1), book=a_book(bible=bible, authored_bible=bible))

    flaws = await inspect("It rained. Suddenly the lamp went out.", material, a_chapter(1, words=7))

    assert [(flaw.kind, flaw.detail) for flaw in flaws] == [("bible", "The bible says to avoid “suddenly”.")]
