"""The design of a cover: the prompt, and how the model's choice is read."""

import json
from dataclasses import replace

import pytest

from bookgen.cover_options import EMBLEM, FAMILIES, MOODS, MOTIF_PICTURES, MOTIFS, PALETTES, CoverIdea
from bookgen.providers.offline import OfflineModel
from bookgen.writing import cover_art, cover_idea
from bookgen.writing.structured import UnusableReply
from bookgen.writing.window import WINDOW
from tests.writing.authored import PROTOCOLS, authored, sent
from tests.writing.scripted import a_book, some_material

BIBLE = {
    "premise": "A ferryman has to sink his own boat.",
    "voice": "Dry and exact.",
    "people": [{"name": "Jon", "description": "a ferryman with a red beard"}],
    "places": [{"name": "the station", "description": "closed"}, {"name": "the quay", "description": "of granite"}],
    "motifs": [{"name": "a whistle", "description": "of tin"}, {"name": "the brass bell", "description": "cracked"}],
}
PASSAGE = (
    "The quay lay under frost that morning, and the brass bell hung where it had hung since the war. Nobody had rung "
    "it in nine years. Below it the boat moved a hand's breadth and came back. A gull watched all of it."
)
FULL = {"families": ["emblem", "horizon", "arches"], "motif": "bell", "palettes": ["ocean", "mist"], "mood": "solemn"}


def finished():
    """A book of six chapters. The first has the passage, the last the end."""
    material = some_material(6, words=50)
    texts = ["# I\n\n“Where is the quay, and where the brass bell, and where the station, the quay and the whistle of "
             "our old friend the ferryman of the quay?” he said.\n\nShort.\n\n" + PASSAGE,
             *["On the quay he waited."] * 4,
             "At the quay the brass bell rang for the station, and the brass bell sank with the boat, and everything "
             "that had been on the quay was quiet for as long as anybody in that town could remember it."]  # fmt: skip
    chapters = tuple(replace(chapter, content=text) for chapter, text in zip(material.chapters, texts, strict=True))
    return replace(material, book=a_book(title="The Crossing", bible=BIBLE, blurb=""), chapters=chapters)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_model_gets_the_lists_and_the_book_and_chooses_from_the_lists(protocol):
    async with authored(lambda *_: json.dumps(FULL), protocol) as (server, steps):
        idea = await cover_idea.propose(finished(), steps)

    assert idea == CoverIdea(("emblem", "horizon", "arches"), ("ocean", "mist"), "bell", "solemn")
    told = sent(server.requests[0])
    assert all(word in told for word in (*FAMILIES, *PALETTES, *MOODS, *MOTIFS))
    assert "A ferryman has to sink his own boat." in told
    assert "the brass bell sank with the boat" in told


@pytest.mark.parametrize(
    ("reply", "idea"),
    [
        (FULL | {"palettes": ["teal", "ocean"]}, CoverIdea(tuple(FULL["families"]), ("ocean",), "bell", "solemn")),
        (FULL | {"mood": "sad"}, CoverIdea(tuple(FULL["families"]), ("ocean", "mist"), "bell", "")),
        (FULL | {"motif": "whistle"}, CoverIdea(("horizon", "arches"), ("ocean", "mist"), "", "solemn")),
        (FULL | {"families": ["Horizon "]}, CoverIdea(("horizon", EMBLEM), ("ocean", "mist"), "bell", "solemn")),
        (FULL | {"families": "a bell"}, CoverIdea((EMBLEM,), ("ocean", "mist"), "bell", "solemn")),
        ({"families": [["horizon"], 7, None], "mood": ["calm"]}, CoverIdea(mood="calm")),
    ],
)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_unknown_words_are_dropped_one_by_one(protocol, reply, idea):
    async with authored(lambda *_: json.dumps(reply), protocol) as (server, steps):
        assert await cover_idea.propose(finished(), steps) == idea

    assert len(server.requests) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_reply_without_a_listed_word_is_retried_and_then_given_up(protocol):
    async with authored(lambda *_: '{"families": ["<svg/>"], "motif": "whistle"}', protocol) as (server, steps):
        with pytest.raises(UnusableReply, match="none of its words"):
            await cover_idea.propose(finished(), steps)

    assert len(server.requests) == 3


def test_the_prompt_starts_with_what_the_text_mentions_most_and_omits_what_it_never_mentions():
    portrait = cover_art.portrait(finished())

    assert "Where it is set: the quay: of granite; the station" in portrait
    assert "What comes back in it: the brass bell: cracked" in portrait
    assert "whistle: of tin" in portrait  # once, in speech


def test_the_quoted_passage_is_narration_from_the_first_third_in_at_most_three_sentences():
    portrait = cover_art.portrait(finished())

    assert f"A passage of it: {PASSAGE.rpartition(' A gull')[0]}" in portrait
    assert "gull" not in portrait
    assert "sank with the boat" not in portrait


def test_the_design_is_chosen_from_what_all_chapters_tell_and_from_the_end():
    book = finished()
    chapters = tuple(replace(each, summary=f"Bell {each.chapter_number}.") for each in book.chapters)

    told = cover_art.portrait(replace(book, chapters=chapters), spoils=True)

    assert "What its chapters tell: Bell 1. Bell 2. Bell 3. Bell 4. Bell 5. Bell 6.\n" in told
    assert "How it ends: At the quay the brass bell rang for the station" in told
    assert "A passage of it" not in told


def test_a_long_line_of_the_portrait_ends_with_a_sentence():
    blurb = "The ferryman waits for the bell that nobody rings. " * 20

    (about,) = [line for line in cover_art.portrait(replace(finished(), book=a_book(blurb=blurb))).split("\n")
                if line.startswith("About")]  # fmt: skip

    assert about.endswith("nobody rings.")


def test_the_model_is_told_what_a_motif_looks_like_if_its_name_is_not_enough():
    assert "boat (a small sailing boat), book (open), bottle" in cover_idea._request(finished(), WINDOW).system[0].text
    assert set(MOTIF_PICTURES) < set(MOTIFS)


def test_the_portrait_of_a_non_fiction_book_has_its_terms_by_name_and_no_main_person():
    book = finished()
    terms = [{"name": "stopcock", "description": "One word."}, {"name": "fuse board", "description": "Not “box”."}]
    text = (
        "**Warning.** Never close the stopcock or open the fuse board with wet hands, since the current can kill you, "
        "and nobody in the house would know where to switch it off.\n\nOpen the *stopcock* by a quarter "
        "turn, as it was made to be opened, and write on a card by the fuse board where you have found it, in case "
        "somebody else has to look for it at night."
    )
    guide = replace(
        book,
        book=a_book(genre="Practical guide", bible=BIBLE | {"motifs": [], "terms": terms}, blurb=""),
        chapters=(replace(book.chapters[0], content=text),),
    )

    portrait = cover_art.portrait(guide)

    assert "What comes back in it: stopcock, fuse board\n" in portrait
    assert "A passage of it: Open the stopcock by a quarter turn" in portrait
    assert "Who it is about" not in portrait
    assert "Who it is about: Jon" in cover_art.portrait(book)


def test_rules_of_form_are_no_things_of_the_book():
    terms = [
        {"name": "Watch out:", "description": "Before a step."},
        {"name": "「ぬか床」とは書かない", "description": ""},
        {"name": "exercises", "description": "Each chapter ends with the heading Exercises and a numbered list."},
        {"name": "terminal", "description": "Never spelt console."},
    ]
    text = "Watch out: the exercises are done in the terminal. 「ぬか床」とは書かない"
    material = replace(
        some_material(1),
        book=a_book(genre="Practical guide", bible={"motifs": [], "terms": terms}, blurb=""),
        chapters=(replace(some_material(1).chapters[0], content=text),),
    )

    assert "What comes back in it: terminal" in cover_art.portrait(material).splitlines()


def test_the_image_prompt_starts_with_the_authors_wish_and_asks_for_no_letters():
    prompt = cover_art.painting(finished(), "woodcut, two colours", "a bell")

    assert prompt.startswith("The author wishes for: woodcut, two colours; a bell\n")
    assert "no text, letters, numbers" in prompt
    assert "the brass bell: cracked" in prompt


def test_the_fingerprint_changes_only_with_the_book():
    book = finished()
    edited = replace(book, chapters=(*book.chapters[:-1], replace(book.chapters[-1], content="The whistle. " * 9)))

    assert cover_idea.fingerprint(book) == cover_idea.fingerprint(finished())
    assert cover_idea.fingerprint(book) != cover_idea.fingerprint(edited)


@pytest.mark.parametrize(
    ("genre", "mood", "family"),
    [("Crime", "tense", "skyline"), ("Romance", "warm", "botanical"), ("How-to guide", "clear", "swiss")],
)
async def test_the_sample_model_chooses_by_genre_and_content(genre, mood, family):
    class SampleSteps:
        async def reply(self, request, *, attempt=0):
            return await OfflineModel().complete(request)

    material = finished()
    ringing = replace(material, book=replace(material.book, genre=genre))
    silent = replace(ringing, book=replace(ringing.book, bible={}, description=""), chapters=material.chapters[1:2])

    idea = await cover_idea.propose(ringing, SampleSteps())
    without = await cover_idea.propose(silent, SampleSteps())

    assert (idea.motif, idea.families[0], idea.mood) == ("boat", EMBLEM, mood)
    assert (without.motif, without.families[0]) == ("", family)
