"""A model's remarks to its user are distinguished from the author's text, and a refusal from the start of a story."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.words import count_words
from bookgen.writing import task_words
from bookgen.writing.chapter import write_chapter
from bookgen.writing.reply_cleanup import prose as cleaned
from bookgen.writing.residue import residue, without_residue
from bookgen.writing.task_words import refuses
from tests.writing.scripted import Scripted, a_chapter, obedient, prose, some_material

CHAPTER = a_chapter(1, title="The Lamp at Sund")
STORY = [f"She lit lamp number {number} and went down to the quay, where nobody was waiting." for number in range(9)]
WORDS = tomllib.loads(Path(task_words.__file__).with_name("task_words.toml").read_text("utf-8"))

TO_THE_USER = (
    ("en", 0, "Here is chapter 3, written in the voice that you described:"),
    ("en", 0, "I've drafted the chapter so that it follows the outline."),
    ("en", 0, "Chapter 3 (about 900 words)"),
    ("en", 0, "Here is Chapter 3, “The Ferry”, with the ending that you asked for:"),
    ("en", 4, "(I expanded this scene to reach the word count.)"),
    ("en", 4, "[Scene continues]"),
    ("en", 4, "Here is the continuation of the chapter:"),
    ("en", 9, "This chapter prepares the quarrel, as the outline asks; the next chapter will show it."),
    ("en", 9, "Would you like me to change the tone?"),
    ("de", 0, "Gerne! Hier folgt das dritte Kapitel in der gewünschten Länge:"),
    ("de", 9, "Soll ich das nächste Kapitel schreiben?"),
    ("fr", 0, "Voici le chapitre 3, d'environ la longueur souhaitée :"),
    ("es", 9, "¿Quieres que siga con el próximo capítulo?"),
    ("it", 9, "Fammi sapere se vuoi che cambi il tono del capitolo."),
    ("pt", 0, "Claro! Aqui está o capítulo 3, como pediu:"),
    ("nl", 0, "Natuurlijk, hier is hoofdstuk 3 volgens je outline:"),
    ("pl", 0, "Oto rozdział 3, zgodnie z twoim planem:"),
    ("cs", 0, "Zde je kapitola 3 podle vašeho zadání:"),
    ("ru", 0, "Вот глава 3, как вы просили:"),
    ("sv", 9, "Vill du att jag fortsätter med nästa kapitel?"),
    ("da", 0, "Her er kapitel 3, som du bad om:"),
    ("nb", 9, "Vil du at jeg skal skrive neste kapittel?"),
    ("tr", 0, "İşte istediğiniz 3. bölüm:"),
    ("zh", 0, "好的，以下是按照大纲写的第三章："),
    ("ja", 9, "次の章も執筆しましょうか？"),
    ("ko", 0, "네, 요청하신 3장입니다."),
)
AN_AUTHORS = (
    ("en", 0, "Here is the part of the harbour that she never showed him."),
    ("en", 0, "Here's the chapter of accidents, as my father called it:"),
    ("en", 0, "I have put off writing this chapter for eleven years."),
    ("en", 0, "As you asked, I buried him facing the sea."),
    ("en", 0, "Note: the ferry does not run on Sundays."),
    ("en", 0, "*The part of the ghost was played by a towel.*"),
    ("en", 4, "Shall I write the next chapter? the rain asked, and wrote it."),
    ("en", 4, "“Here is chapter 3, as you requested,” said the printer’s boy."),
    ("en", 4, "> Here is chapter 3, as you requested."),
    ("en", 9, "In the next chapter we shall put the dough in the oven."),
    ("en", 9, "I hope this chapter sparked your curiosity: there is a whole world to explore!"),
    ("en", 9, "If you ever want the house, you have only to ask."),
    ("de", 0, "Hier ist das nächste Kapitel. Mit diesen Worten legte sie den Stapel hin."),
    ("de", 9, "Soll ich weiterschreiben?, fragte der Friseur, und niemand antwortete."),
    ("fr", 0, "Voici le chapitre 4 d’une épopée en six chapitres."),
    ("es", 0, "A continuación vino la lluvia, y después nada."),
    ("ru", 9, "Продолжения не было, да его никто и не ждал."),
    ("zh", 9, "后来的事，镇上的人各有各的说法。"),
)


def told(tag: str, place: int, line: str) -> list[str]:
    text = "\n\n".join([*STORY[:place], line, *STORY[place:]])
    return [flaw.excerpt for flaw in residue(text, CHAPTER, tag) if flaw.kind == "meta_text"]


@pytest.mark.parametrize(("tag", "place", "line"), TO_THE_USER)
def test_a_remark_to_the_user_is_reported_in_each_language(tag, place, line):
    assert told(tag, place, line) == [line]


@pytest.mark.parametrize(("tag", "place", "line"), AN_AUTHORS)
def test_a_similar_line_of_the_author_is_not_reported(tag, place, line):
    assert told(tag, place, line) == []


def test_letters_between_characters_may_mention_requests():
    letter = "Dear Ned,\n\nI have changed the second chapter as you asked.\n\nYour sister,\n\nJane"

    assert told("en", 4, letter) == []
    assert told("en", 9, "P.S. Let me know if you would like me to change the part about Mother.") == []
    assert told("en", 4, letter.replace("I have", "(Word count: 1,204, as you requested)\n\nI have")) != []


def test_a_blank_that_belongs_to_a_letter_in_the_book_is_not_a_placeholder():
    blanks = {
        "Dear [Name], it began, and he had never got any further.": [],
        "We met [Name] on the quay, she said.": ["placeholder"],
        "[blank line]": ["placeholder"],
    }

    for line, kinds in blanks.items():
        assert [flaw.kind for flaw in residue("\n\n".join([*STORY, line]), CHAPTER, "en")] == kinds


def test_reporting_a_remark_deletes_nothing():
    text = "\n\n".join(["I've drafted the chapter so that it follows the outline.", *STORY])

    assert without_residue(text).text == text


@pytest.mark.parametrize("line", ["Word count, said the telegraph clerk: nine.", "Word count: the clerk had lost it."])
def test_a_last_line_without_a_number_is_not_a_word_count(line):
    text = "\n\n".join([*STORY, line])

    assert cleaned(text, CHAPTER, opening=True).text == text
    assert cleaned(f"{text}\n\nWord count: 912", CHAPTER, opening=True).text == text


def test_every_language_has_all_word_lists():
    kinds = set(WORDS["en"]) - {"present", "with"}

    assert {tag: kinds - set(words) for tag, words in WORDS.items() if kinds - set(words)} == {}


REFUSALS = (
    ("en", "I'm sorry, but I can't write this scene in good conscience."),
    ("en", "I’m not comfortable writing this chapter."),
    ("en", "As an AI language model I have to decline."),
    ("en", "This request goes against my guidelines."),
    ("de", "Leider kann ich dieses Kapitel nicht schreiben."),
    ("fr", "Je suis désolé, mais je ne peux pas écrire cette scène."),
    ("es", "Lo siento, pero no puedo continuar con esta historia."),
    ("pt", "Infelizmente, não posso escrever este capítulo."),
    ("it", "Mi dispiace, ma non posso scrivere questo capitolo."),
    ("nl", "Helaas kan ik dit hoofdstuk niet schrijven."),
    ("pl", "Przykro mi, ale nie mogę napisać tego rozdziału."),
    ("ru", "К сожалению, я не могу написать эту главу."),
    ("sv", "Tyvärr kan jag inte skriva det här kapitlet."),
    ("da", "Jeg kan desværre ikke skrive dette kapitel."),
    ("nb", "Beklager, jeg kan ikke skrive dette kapittelet."),
    ("tr", "Üzgünüm, bu bölümü yazamam."),
    ("cs", "Bohužel tuto kapitolu nemohu napsat."),
    ("zh", "抱歉，我无法写这一章。"),
    ("ja", "申し訳ありませんが、この章は書けません。"),
    ("ko", "죄송하지만 이 장은 쓸 수 없습니다."),
)


@pytest.mark.parametrize(("tag", "text"), REFUSALS)
def test_a_refusal_is_recognised_in_each_language(tag, text):
    assert refuses(text, tag)


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("en", "I can't help with that, said the clerk, and went on helping."),
        ("en", "I am sorry to say that my grandmother was a thief."),
        ("de", "Leider kann ich nicht schwimmen, sagte der Bademeister."),
        ("zh", "他不能再等下去了。"),
    ],
)
def test_a_story_that_begins_like_a_refusal_is_not_one(tag, text):
    assert not refuses(text, tag)


@pytest.mark.parametrize("share", [0.0, 0.2])
async def test_a_refusal_is_not_accepted_and_the_whole_chapter_is_requested_again(share):
    refusal = f"I'm sorry, but I can't write this chapter.\n\n{prose(int(1_200 * share), 70_000)}".strip()

    def refuses_once(request, brief, call):
        return refusal if call == 1 else obedient(request, brief, call)

    steps = Scripted(refuses_once)

    draft = await write_chapter(some_material(1, words=1_200), 1, steps)

    first, second = steps.of_stage("chapter")
    assert "can't write" not in draft.content
    assert abs(draft.word_count - 1_200) <= 120
    assert "could not be used" in second.messages[-1].text
    assert second.described()["task"] == first.described()["task"] == "write"
    assert not draft.in_parts


async def test_a_model_that_always_refuses_ends_in_an_error_that_quotes_it():
    steps = Scripted(lambda request, brief, call: f"I can't write this chapter.\n\n{prose(180, 70_000)}")

    with pytest.raises(UpstreamAIError, match=r"it refuses .“I can't write this chapter"):
        await write_chapter(some_material(1, words=900), 1, steps)

    assert len(steps.calls) == 3


async def test_a_complete_story_that_begins_like_a_refusal_is_kept_whole():
    line = "I can't help you write this chapter, said the clerk."

    def story(request, brief, call):
        return f"{line}\n\n{obedient(request, brief, call)}" if brief["stage"] == "chapter" else "{}"

    draft = await write_chapter(some_material(1, words=900), 1, Scripted(story))

    assert draft.content.startswith(line)
    assert draft.findings == ()
    assert count_words(draft.content) > 800
