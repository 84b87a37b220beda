"""The author model sees the book and the findings, and answers with edits or with reasons to decline."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import pytest

from bookgen.words import tokens
from bookgen.writing.review.findings import BookReview
from bookgen.writing.review.revision import (
    BookRevision,
    PassageEdit,
    joined,
    read_revision,
    revision_requests,
)
from bookgen.writing.structured import Malformed
from tests.writing.review.recorded import NAMES, answer, reviewed

EDIT = {"finding": 2, "chapter": 1, "passage": "The lamp", "replacement": "A lamp", "drops_sentence": False}


@pytest.mark.parametrize("name", NAMES)
def test_the_author_model_gets_the_book_and_every_finding(name):
    material, review = reviewed(name)

    (request,) = revision_requests(material, review)

    text = "\n\n".join(request.texts)
    assert all(chapter.content in text for chapter in material.chapters)
    for number, finding in enumerate(review.findings, 1):
        assert f"\n{number}. {finding.kind}, {finding.severity}. Chapter {finding.place.chapter}: “" in text
        assert finding.why in text
        assert finding.remedy in text
    assert tokens(text) + request.max_tokens < 32_000


@pytest.mark.parametrize(
    ("genre", "has", "lacks"),
    [
        ("Novel", "a line of dialogue", "a term or a warning"),
        ("Cookbook", "a term or a warning", "a line of dialogue"),
        ("Memoir", "Invent nothing about a life", "a line of dialogue"),
        ("Poetry", "its metre and its rhymes", "a line of dialogue"),
    ],
)
def test_each_kind_of_book_is_revised_by_its_own_rules(genre, has, lacks):
    material, review = reviewed(NAMES[0])
    book = replace(material.book, genre=genre, bible={**material.book.bible, "kind": ""})

    (request,) = revision_requests(replace(material, book=book), review)

    assert has in request.system[0].text
    assert lacks not in request.system[0].text


def test_a_book_without_findings_makes_no_request():
    material, _ = reviewed("name-day")

    assert revision_requests(material, BookReview((), {})) == []


def test_each_finding_is_in_one_request_even_in_a_book_of_several_parts():
    material, review = reviewed("wrong-note")

    requests = revision_requests(material, review, 12_000)

    texts = ["\n\n".join(request.texts) for request in requests]
    assert len(requests) > 1
    for number, finding in enumerate(review.findings, 1):
        asked = [text for text in texts if f"\n{number}. {finding.kind}, {finding.severity}." in text]
        assert len(asked) == 1
        assert finding.quote in asked[0].partition("The findings:")[0]


def test_the_prompt_says_how_much_a_chapter_may_grow():
    material, review = reviewed("name-day")

    (request,) = revision_requests(material, review)

    room = "chapter 1: 120; chapter 2: 120; chapter 3: 120; chapter 4: 120."
    assert f"How many words the edits of a chapter may add, all together: {room}" in request.messages[0].text


@pytest.mark.parametrize("name", NAMES)
def test_recorded_revisions_match_the_requested_form(name):
    material, review = reviewed(name)

    (request,) = revision_requests(material, review)

    jsonschema.validate(answer(name, "revision"), request.schema)


@pytest.mark.parametrize(
    ("name", "edits", "declined"),
    [("wrong-note", 27, 0), ("name-day", 10, 0), ("first-loaf", 9, 1), ("die-chronik-von-walsheim", 3, 0)],
)
def test_every_finding_of_the_recorded_readings_is_answered(name, edits, declined):
    _, review = reviewed(name)

    revision = read_revision(answer(name, "revision"))

    assert (len(revision.edits), len(revision.declined)) == (edits, declined)
    assert revision.unanswered(len(review.findings)) == []


def test_a_finding_without_an_answer_is_listed():
    revision = read_revision({"edits": [EDIT], "declined": [{"finding": 3, "reason": "It is meant."}]})

    assert revision == BookRevision((PassageEdit(2, 1, "The lamp", "A lamp"),), {3: "It is meant."})
    assert revision.unanswered(4) == [1, 4]


def test_an_edit_without_a_passage_or_a_replacement_is_dropped():
    broken = [{**EDIT, "passage": None}, {**EDIT, "replacement": 3}, {**EDIT, "finding": "the second"}, "edit", None]

    assert len(read_revision({"edits": [*broken, EDIT]}).edits) == 1


def test_a_repeated_edit_counts_once():
    assert len(read_revision({"edits": [EDIT, EDIT]}).edits) == 1


def test_only_an_explicit_true_marks_a_sentence_as_removed():
    marks = [
        read_revision({"edits": [{**EDIT, "drops_sentence": mark}]}).edits[0].drops_sentence for mark in (True, "no")
    ]

    assert marks == [True, False]


@pytest.mark.parametrize("reply", [{}, {"edits": None}, {"edits": [{"finding": 1}]}, {"declined": []}])
def test_a_reply_without_edits_is_malformed(reply):
    with pytest.raises(Malformed):
        read_revision(reply)


def test_the_author_model_may_decline_every_finding():
    assert read_revision({"edits": [], "declined": [{"finding": 1, "reason": "No."}]}).declined == {1: "No."}


def test_the_answers_of_all_parts_are_merged():
    one, other = read_revision({"edits": [EDIT]}), BookRevision((), {4: "It is meant."})

    assert joined([one, other]) == BookRevision(one.edits, {4: "It is meant."})
