"""The bench of recorded books runs, and detects planted faults."""

from dataclasses import replace

from bench.authored.compare import compare
from bench.authored.corpus import BOOKS, read_books
from bench.authored.plants import KINDS, Plant, plant, plants
from bench.authored.rows import BookResult, verdicts
from bench.authored.service import press

SENT = "One bell rang. Two men came in.\n\n“Late,” she said.\n\nSnow on the sill,  \nsnow on the stove.\n"


def test_a_difference_in_white_space_is_not_a_loss():
    spaced = "\n\nOne bell rang.  Two men came in. \n\n\n“Late,” she said.\n\nSnow on the sill,   \nsnow on the stove."

    assert compare(SENT, spaced).is_none


def test_a_lost_sentence_or_word_or_line_break_is_detected():
    lost = compare(SENT, SENT.replace(" Two men came in.", ""))
    changed = compare(SENT, SENT.replace("Two men", "Three men"))
    joined = compare(SENT, SENT.replace("sill,  \n", "sill, "))
    unmarked = compare(SENT, SENT.replace("sill,  \n", "sill,\n"))

    assert (lost.lost, lost.added, lost.words) == (("Two men came in.",), (), 4)
    assert (changed.lost, changed.added, changed.words) == (("Two men came in.",), ("Three men came in.",), 1)
    assert (joined.words, joined.lines, joined.is_none) == (0, 2, False)
    assert (unmarked.words, unmarked.lines) == (0, 1)


async def test_a_book_is_sent_through_the_service_and_its_losses_are_detected(tmp_path):
    (book,) = read_books(["bademeister"])
    async with press(tmp_path) as service:
        written = await service.print(book)
        longer = {
            number: f"{reply.rstrip()}\n\nEin Satz, den niemand schickt." for number, reply in book.replies.items()
        }
        (listed,) = await service.client.list_books()
        handle = await service.client.books.get(listed["id"])
        first = await service.judge(replace(book, replies=longer), handle.chapters[0], set())
        await service.client.change_chapter(handle.chapters[1]["id"], content="Nichts davon.")
        await handle.reload()
        second = await service.judge(book, handle.chapters[1], set())

    assert (written.failure, len(written.chapters)) == ("", 2)
    assert written.calls["note"] >= 1  # the last chapter is noted once the book is finished
    assert all(chapter.difference.is_none for chapter in written.chapters)
    assert first.unrecorded == ("Ein Satz, den niemand schickt.",)
    assert second.difference.lost
    assert (second.unrecorded, second.repairs) == ((), second.difference.changes)  # the former text is a revision
    marred = BookResult("book", book.words, (first,))
    assert [each.is_kept for each in verdicts([marred])][1:4] == [False, False, False]


async def test_a_planted_fault_that_is_still_there_does_not_count_as_found():
    (book,) = read_books(["bademeister"])
    unknown = "Zwei Möwen sahen zu."
    stays = Plant("meta text", book, 1, unknown, f"{book.text(1)}\n\n{unknown}")

    outcome = await plant(stays)

    assert (outcome.found, outcome.lost) == ("", ())


def test_every_kind_of_fault_is_planted_at_least_twenty_times():
    made = list(plants(read_books([])))

    assert {kind: sum(each.kind == kind for each in made) >= 20 for kind in KINDS} == dict.fromkeys(KINDS, True)


def test_every_book_states_its_licence_and_origin():
    for book in read_books([]):
        origin = (BOOKS / book.name / "ORIGIN.md").read_text(encoding="utf-8")
        assert origin.startswith("Licence: CC0-1.0\n"), book.name
