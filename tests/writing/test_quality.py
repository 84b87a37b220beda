"""The gate sees what spoils a book, without a token, and the book goes on."""

import random
from dataclasses import replace

import pytest

from bookgen.models import Digest
from bookgen.words import count_words
from bookgen.writing.chapter import write_chapter
from bookgen.writing.contradictions import contradictions
from bookgen.writing.foreign import foreign
from bookgen.writing.material import Material
from bookgen.writing.quality import avoid, inspect
from bookgen.writing.repetition import ProfileCache, profile, repeated, same_edges, to_avoid
from bookgen.writing.residue import residue, without_residue
from bookgen.writing.revision import MOST_REPAIRS, to_repair
from tests.writing.contradicted import BIBLE, DIGESTS, INNOCENT, planted
from tests.writing.misbehaved import doubled, repeats, writes
from tests.writing.scripted import Scripted, a_chapter, obedient, prose, sentence, some_material

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
def test_a_paragraph_in_another_language_is_seen(tag, own, strangers):
    assert foreign(own, tag) == []
    for stranger in strangers:
        assert [flaw.paragraph for flaw in foreign(f"{own}\n\n{stranger}\n\n{own}", tag)] == [1]


@pytest.mark.parametrize(
    ("tag", "paragraph"),
    [
        ("ru", "```python\nfor chapter in chapters_of_the_book:\n    print(chapter.title, chapter.content)\n```"),
        ("zh", "用Python的asyncio可以同时处理数千个连接，但不要在其中调用requests这样的同步库，否则事件循环会停下来。"),
        ("de", "> It was the best of times, it was the worst of times, it was the age of wisdom and of foolishness."),
    ],
)
def test_code_terms_and_quotations_may_be_in_another_language(tag, paragraph):
    assert foreign(paragraph, tag) == []


def test_a_foreign_word_or_a_short_line_is_no_flaw():
    assert foreign("“I would rather talk about a song nobody finished,” Mara said a little stiffly.", "en") == []
    assert foreign(f"{ENGLISH}\n\n«C'est la vie», he said.\n\nУра!", "en") == []


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
def test_what_is_no_part_of_a_book_is_seen(paragraph, kind):
    assert kind in [flaw.kind for flaw in residue(f"{ENGLISH}\n\n{paragraph}", a_chapter(1))]


def test_ordinary_prose_has_no_residue():
    text = "Al final, todo era verdad.\n\n"
    text += f"{ENGLISH}\n\n“Let me know,” she said. The next part of the road was dark [1].\n\n## A heading\n\n{GERMAN}"

    assert residue(text, a_chapter(1)) == []


def test_paragraphs_of_meta_text_alone_go_without_a_call():
    text = f"{ENGLISH}\n\n(End of part two)\n\n## Here\n\n{GERMAN}\n\n## Here\n\n{FRENCH}"

    assert without_residue(text, a_chapter(1)) == f"{ENGLISH}\n\n## Here\n\n{GERMAN}\n\n{FRENCH}"


@pytest.mark.parametrize("language", ["en", "zh", "th", "ru"])
def test_a_sentence_of_an_earlier_chapter_is_seen(language):
    glue = "" if language == "zh" else " "
    earlier = [prose(300, 1, language), prose(300, 1_000, language)]
    last = glue.join([sentence(6_000, language), sentence(1_003, language)])
    text = f"{prose(60, 5_000, language)}\n\n{last}"

    flaws = repeated(text, earlier)

    assert [flaw.kind for flaw in flaws] == ["repeated_sentence"]
    assert "1003" in flaws[0].excerpt


def test_fresh_prose_repeats_nothing():
    assert repeated(prose(3_000, 50_000), [prose(3_000, 1), prose(3_000, 10_000)]) == []


def test_chapters_that_begin_or_end_alike_are_seen():
    earlier = [f"The rain had not stopped for nine days in the town. {prose(50, 1)} And so she went home alone."]
    text = f"The rain had not stopped for two weeks on the coast. {prose(50, 99)}\n\nSo she went home alone."

    assert [flaw.kind for flaw in same_edges(text, earlier)] == ["same_opening", "same_ending"]
    assert same_edges(prose(90, 7_000), earlier) == []


def test_what_is_worn_out_is_named_in_the_order_of_the_book():
    chapters = [f"{sentence(1)} {sentence(100)} {sentence(2)}", f"{sentence(3)} {sentence(100)} {sentence(4)}"]

    assert to_avoid(chapters) == [sentence(100), sentence(1), sentence(3), sentence(2), sentence(4)]


def test_a_profile_is_the_same_in_every_process():
    assert sorted(profile("She lit the lamp in the cold window again.").sentences) == [111287133]


def test_the_profiles_that_are_kept_are_bounded_by_their_bytes_and_the_newest_stay() -> None:
    cache = ProfileCache(20_000)
    texts = [f"She lit the lamp in window {n} of the cold house again. " * 3 for n in range(100)]
    for text in texts:
        cache.of(text)

    assert 10_000 < cache.bytes <= 20_000
    assert cache.of(texts[-1]) is cache.of(texts[-1])
    assert cache.of(texts[0]) == profile(texts[0])


def test_planted_contradictions_are_seen():
    seen = sum(bool(contradictions(f"{ENGLISH} {each}", BIBLE, DIGESTS)) for each in planted())

    assert seen >= 85


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("Mara's brother drowned in 1979.", "Mara said nothing."),
        ("Mara saw the man who was killed on the pier.", "Mara laughed."),
        ("Mara believes her father was murdered.", "Mara nodded."),
        ("Tobias was buried in work.", "Tobias walked in."),
        ("Tobias married a woman with green eyes.", "Tobias's blue eyes were tired."),
        ("Elias is the father of a boy aged 7.", "Elias, 34, walked in."),
        ("Petra has her mother's brown eyes.", "Petra's blue eyes were tired."),
    ],
)
def test_what_is_settled_of_somebody_else_contradicts_nothing(fact, text):
    assert contradictions(text, {}, [Digest(1, "x", "…", (fact,))]) == []
    name, _, said = fact.partition(" ")
    described = {"people": [{"name": name.removesuffix("'s"), "description": f"34; {said}"}]}
    assert contradictions(text, described, []) == []


def test_a_person_who_may_have_aged_is_told_of_and_not_made_younger():
    [older] = contradictions("Mara, forty-one, ran the place alone.", BIBLE, DIGESTS)
    [younger] = contradictions("Mara, nineteen, ran the place alone.", BIBLE, DIGESTS)

    assert (to_repair([older]), list(to_repair([younger]))) == ({}, [0])


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_seems_to_contradict_is_no_alarm(text):
    assert contradictions(text, BIBLE, DIGESTS) == []


@pytest.mark.parametrize(("genre", "kinds"), [("Poetry", []), ("Children's", []), ("Mystery", ["repeated_sentence"])])
async def test_a_refrain_is_a_fault_only_where_none_belongs(genre, kinds):
    refrain = "And all the little lamps along the quay went out, went out."
    material = some_material(2, words=100, genre=genre)
    chapters = (a_chapter(1, words=100, content=f"{prose(80, 1)}\n\n{refrain}"), material.chapters[1])
    material = replace(material, chapters=chapters)

    flaws = await inspect(f"{prose(80, 500)}\n\n{refrain}\n\n{prose(10, 900)}", material, chapters[1], [])

    assert [flaw.kind for flaw in flaws] == kinds
    assert (await avoid(material, chapters[1]) == []) == (not kinds)


async def test_a_repetitive_model_is_broken_of_its_habit():
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

    assert doubled(gated) <= 0.2 * doubled(plain)


async def test_a_fault_is_mended_once_and_recorded_when_it_stays():
    def stubborn(request, brief, call):
        if brief["stage"] == "revise":
            return brief["passage"]
        if brief["stage"] == "chapter" and brief["part"] == 1:
            return f"{obedient(request, brief, call)}\n\nShe met [insert name] on the quay."
        return obedient(request, brief, call)

    steps = Scripted(stubborn)

    draft = await write_chapter(some_material(2, words=900), 1, steps)

    assert len(steps.of_stage("revise")) == 1
    assert [(finding.kind, finding.excerpt) for finding in draft.findings] == [("placeholder", "[insert name]")]


async def test_a_mended_fault_leaves_no_finding():
    def careless(request, brief, call):
        if brief["stage"] == "chapter" and brief["part"] == 1:
            return f"{obedient(request, brief, call)}\n\nShe met [insert name] on the old quay at night."
        return obedient(request, brief, call)

    steps = Scripted(careless)

    draft = await write_chapter(some_material(2, words=900), 1, steps)

    assert "insert" not in draft.content
    assert draft.findings == ()
    assert steps.of_stage("revise")[0].described()["passage"].startswith("She met [insert name]")


async def test_a_chapter_full_of_faults_costs_a_bounded_number_of_repairs():
    def awful(request, brief, call):
        if brief["stage"] in ("chapter", "revise"):
            return "\n\n".join(f"TODO {sentence(number)}" for number in range(call * 100, call * 100 + 40))
        return obedient(request, brief, call)

    steps = Scripted(awful)

    draft = await write_chapter(some_material(2, words=900), 1, steps)

    assert len(steps.of_stage("revise")) == MOST_REPAIRS
    assert draft.findings
    assert all(len(finding.excerpt) <= 200 for finding in draft.findings)


async def test_a_chapter_that_stays_short_is_said_to_be_short():
    draft = await write_chapter(some_material(1, words=3_000), 1, Scripted(writes(lambda: 0.7)))

    assert [finding.kind for finding in draft.findings] == ["length"]
    assert count_words(draft.content) > 0.69 * 3_000


async def test_a_chapter_within_a_quarter_of_its_length_has_no_finding():
    draft = await write_chapter(some_material(1, words=3_000), 1, Scripted(writes(lambda: 0.8)))

    assert draft.findings == ()
