"""Common questions, without a language model: answered from the service's own tables, in their language."""

import pytest

from bookgen.app.package_data import documents
from bookgen.errors import catalogue
from bookgen.models import LANGUAGES
from bookgen.support import topics
from bookgen.support.assistant import Support
from bookgen.support.facts import CODES, Facts

LIMITS = {"read": "300/minute", "expensive": "20/minute"}
FORMATS = ("PDF", "Word", "EPUB")
FACTS = Facts(tuple(LANGUAGES.values()), FORMATS, ("6x9", "a5"), LIMITS, 100, sells=True)

ANSWERED = {
    "How much does the Starter plan cost?": ("19.00 USD a month", "190.00 USD a year"),
    "What do five credits cost?": ("39.99", "50,000 words"),
    "What add-ons do you sell for children's books?": ("14.00 USD a month", "3.99 USD per use"),
    "Which languages can I write in?": ("Deutsch", "हिन्दी", f"{len(LANGUAGES)} languages"),
    "How many requests may I send per minute?": ("300/minute", "20/minute"),
    "What does the error QUOTA_EXCEEDED mean?": ("429", "period_end"),
    "How many chapters can a book have?": ("1 to 100 chapters", "Pro 150,000"),
    "How do I set a cost cap on my own server?": ("BOOKGEN_BOOK_COST_CAP",),
    "Wie viel kostet der Pro-Tarif?": ("Pro: 49.00 USD im Monat", "150,000 Wörter"),
    "Wie lösche ich mein Konto?": ("löscht das Konto", "delete-account"),
    "Dans quels formats puis-je exporter mon livre ?": ("exportés en PDF, Word, EPUB",),
    "¿Cómo puedo pausar la escritura?": ("pausa la escritura", "pause-generation"),
    "Quanto costa un pacchetto di crediti?": ("9.99", "credito"),
    "Сколько стоит тариф Pro?": ("49.00 USD в месяц",),
    "パスワードを忘れました。どうすればいいですか": ("forgot-password", "1 回だけ"),
}
UNKNOWN = {
    "What will the weather be in Paris tomorrow?": "I don't know",
    "Wer hat gestern das Fußballspiel gewonnen?": "Das weiß ich nicht",
    "Quelle heure est-il à Tokyo ?": "Je ne sais pas",
    "¿Quién escribió el Quijote?": "No lo sé",
    "今日の天気はどうですか": "わかりません",
}


@pytest.fixture
def support(pool) -> Support:
    return Support.over(documents(), "http://here/docs/", None, facts=FACTS, db=pool)


async def test_all_fifteen_questions_are_answered_in_their_own_language(support: Support) -> None:
    answers = {question: (await support.ask(question)).answer for question in ANSWERED}

    wrong = {
        question: answers[question]
        for question, said in ANSWERED.items()
        if not all(map(answers[question].__contains__, said))
    }
    assert len(ANSWERED) == 15
    assert wrong == {}


async def test_facts_missing_from_tables_and_documents_are_not_made_up(support: Support) -> None:
    answers = {question: (await support.ask(question)).answer for question in UNKNOWN}

    assert {question: answer for question, answer in answers.items() if not answer.startswith(UNKNOWN[question])} == {}


async def test_a_price_comes_from_the_plan_table(support: Support, pool) -> None:
    await pool.execute("UPDATE plan SET price_monthly = 23.50 WHERE slug = 'starter'")

    assert "23.50 USD a month" in (await support.ask("What is the price of Starter?")).answer


async def test_a_follow_up_question_refers_to_the_earlier_one(support: Support) -> None:
    history = [{"role": "user", "content": "How much does Pro cost?"}, {"role": "assistant", "content": "…"}]

    assert "49.00" in (await support.ask("And in a year?", history)).answer


async def test_a_server_without_billing_says_that_nothing_is_sold(pool) -> None:
    free = Facts(("English",), FORMATS, ("6x9",), LIMITS, 100, sells=False)
    support = Support.over(documents(), "http://here/docs/", None, facts=free, db=pool)

    assert "everything is included and free of charge" in (await support.ask("What does it cost?")).answer


@pytest.mark.parametrize("language", topics.languages())
def test_every_language_has_the_same_texts(language: str) -> None:
    english, other = topics.languages()["en"], topics.languages()[language]

    assert (other.keys(), other["words"].keys()) == (english.keys(), english["words"].keys())
    assert "delete-account" in other["account"]


def test_every_error_code_mentioned_exists() -> None:
    assert {entry.code for entry in CODES.values()} <= {entry.code for entry in catalogue()}
