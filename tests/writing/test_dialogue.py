"""Dialogue is written differently in every language. Cuts anywhere lose none of it."""

import random
import re

import pytest

from bookgen.providers.text import StopReason
from bookgen.words import count_words
from bookgen.writing.chapter import write_chapter
from tests.writing.scripted import Scripted, obedient, says, some_material

# A sentence contains its number, so that missing and doubled ones can be seen in a chapter.
SENTENCES = {
    "en": ["“Why {} times?” she asked.", "He walked {} steps along the quay.", "“I thought {} of them had—”"],
    "fr": ["« Je compte {} lampes, dit-il. »", "Il marcha {} pas.", "« Pourquoi {} fois ? » demanda-t-elle.", "— {} ?"],
    "de": ["„Ich zähle {} Lampen“, sagte er.", "Er ging {} Schritte am Wasser entlang.", "„Warum {} Mal?“"],
    "es": ["—¿Por qué {} veces? —preguntó ella.", "Caminó {} pasos.", "—Vete al {} —dijo él—. No vuelvas."],
    "ru": ["— Почему {} раз? — тихо спросила она.", "Он прошёл {} шагов по причалу.", "«Иди в дом {}!»"],
    "el": ["«Πού είναι το {};»", "Περπάτησε {} βήματα μέχρι το λιμάνι.", "— Γιατί {} φορές; ρώτησε εκείνη."],
    "he": ["הוא הלך {} צעדים לאורך הרציף.", "״למה {} פעמים?״ שאלה בשקט.\u200f"],
    "ar": ["مشى {} خطوة على الرصيف.", "«لماذا سألت {} مرة؟»", "قالت: «اذهب إلى {}.»"],
    "hi": ["वह घाट पर {} कदम चला और रुक गया।", "“{} बार क्यों पूछा?”"],
    "ko": ["그는 부두를 따라 {} 걸음을 걸었다.", "“왜 {}번이나 물었어?”"],
    "ja": ["彼は誰もいない波止場を{}歩あるいた。", "「どうして{}回も聞いたの」"],
    "zh": ["他沿着空荡荡的码头走了{}步。", "“你为什么问了{}次？”"],
}


def sentence(number, language):
    forms = SENTENCES[language]
    return forms[number % len(forms)].format(number)


def speech(words, number, language):
    said = []
    while sum(map(count_words, said)) < words:
        said.append(sentence(number, language))
        number += 1
    return "\n\n".join(said)


def numbers_in(text):
    return [int(found) for found in re.findall(r"\d{5}", text)]


@pytest.mark.parametrize("language", SENTENCES)
async def test_no_line_of_speech_is_lost_or_broken(language):
    rng = random.Random(language)

    def cut(request, brief, call):
        if brief["stage"] != "chapter":
            return obedient(request, brief, call)
        said = "".join(message.text for message in request.messages if message.role == "assistant")
        text = speech(brief["words"], max(numbers_in(said), default=9_999) + 1, language)
        if rng.random() < 0.6:
            # Inside a sentence: a cut at the end of a line of dialogue could not be detected.
            end = rng.choice([found.start() for found in re.finditer(r"(?<=\d{5})", text)])
            return says(text[: end - 2], StopReason.LENGTH)
        return text

    draft = await write_chapter(some_material(1, words=1_500, content_language=language), 1, Scripted(cut))

    numbers = numbers_in(draft.content)
    assert numbers == list(range(10_000, 10_000 + len(numbers)))
    assert all(sentence(number, language).rstrip("\u200f") in draft.content for number in numbers)
    assert draft.content.endswith(sentence(numbers[-1], language))
    assert draft.findings == ()
