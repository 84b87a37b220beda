"""Markdown as models write it becomes typed blocks."""

from __future__ import annotations

import pytest

from bookgen.render.markdown import parse
from bookgen.render.model import (
    Block,
    Code,
    Heading,
    ItemList,
    Paragraph,
    Quote,
    SceneBreak,
    Span,
    Table,
    Verse,
    lines_by_hand,
)


def blocks(text: str, title: str = "The Tide") -> tuple[Block, ...]:
    return parse(text, title, lambda each: each)[0]


def test_emphasis_and_links_and_code_become_spans() -> None:
    (paragraph,) = blocks("a *b* **c** ***d*** `e` ~~f~~ [g](https://h.org)")

    assert isinstance(paragraph, Paragraph)
    assert [span for span in paragraph.spans if span.text.strip()] == [
        Span("a "),
        Span("b", italic=True),
        Span("c", bold=True),
        Span("d", bold=True, italic=True),
        Span("e", code=True),
        Span("f", strike=True),
        Span("g", href="https://h.org"),
    ]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("彼は*『止まれ。』*と言った。", [Span("彼は"), Span("『止まれ。』", italic=True), Span("と言った。")]),
        ("それは**「鍵」**だった。", [Span("それは"), Span("「鍵」", bold=True), Span("だった。")]),
        ("他说*等一下。*然后走了。", [Span("他说"), Span("等一下。", italic=True), Span("然后走了。")]),
        ("*ひと混ぜだけ*、と思った。", [Span("ひと混ぜだけ", italic=True), Span("、と思った。")]),
        (
            "三*四と五*六は`*違う。*と`",
            [Span("三"), Span("四と五", italic=True), Span("六は"), Span("*違う。*と", code=True)],
        ),
        ("一つ * 二つ * 三つ。", [Span("一つ * 二つ * 三つ。")]),
        ('She *said "no."*and left.', [Span('She *said "no."*and left.')]),
    ],
)
def test_emphasis_beside_a_wide_mark_is_emphasis(text: str, spans: list[Span]) -> None:
    (paragraph,) = blocks(text)

    assert isinstance(paragraph, Paragraph)
    assert [span for span in paragraph.spans if span.text] == spans


@pytest.mark.parametrize("mark", ["***", "* * *", "---", "###", "⁂", "\\* \\* \\*", "— — —"])
def test_every_spelling_of_a_scene_break_is_one(mark: str) -> None:
    assert [type(block) for block in blocks(f"One.\n\n{mark}\n\nTwo.")] == [Paragraph, SceneBreak, Paragraph]


@pytest.mark.parametrize("heading", ["# The Tide", "## Chapter 3: The Tide", "# **The tide**", "# Chapter Three"])
def test_a_heading_that_repeats_the_title_is_dropped(heading: str) -> None:
    assert [type(block) for block in blocks(f"{heading}\n\nText.")] == [Paragraph]


def test_other_headings_are_kept() -> None:
    (heading, _) = blocks("## The Ebb\n\nText.")

    assert heading == Heading(2, (Span("The Ebb"),))


def test_lists_and_quotes_and_tables_and_code_keep_their_structure() -> None:
    found = blocks("3. a\n4. b\n\n> c\n\n| d | e |\n|:-:|--:|\n| f |\n\n```\ng\n  h\n```")

    assert [type(block) for block in found] == [ItemList, Quote, Table, Code]
    items, _, table, code = found
    assert isinstance(items, ItemList)
    assert isinstance(table, Table)
    assert isinstance(code, Code)
    assert items.start == 3
    assert (table.aligns, table.rows) == (("center", "right"), (((Span("f"),), ()),))
    assert code.lines == ("g", "  h")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("29. März. Der Wind dreht.\n\nNoch nichts.", ["29. März. Der Wind dreht.", "Noch nichts."]),
        ("1. Mai. Regen.\n\n2. Mai. Mehr.", ["1. Mai. Regen.", "2. Mai. Mehr."]),
        ("1953. Nobody asked.\n\nSo.", ["1953. Nobody asked.", "So."]),
    ],
    ids=["a date", "a diary", "a year"],
)
def test_a_paragraph_that_begins_with_a_date_is_no_list(text: str, said: list[str]) -> None:
    found = blocks(text)

    assert ["".join(span.text for span in each.spans) for each in found if isinstance(each, Paragraph)] == said


@pytest.mark.parametrize(
    "text",
    ["1. Maismehl\n2. Marinade", "1. Knead.\n\nWait.\n\n2. Bake.", "7. Eggs\n8. Milk", "1) Eggs"],
    ids=["words like months", "steps with text between", "a list that goes on", "another sign"],
)
def test_a_numbered_list_stays_one(text: str) -> None:
    found = blocks(text)

    assert any(isinstance(each, ItemList) for each in found)
    assert not any(isinstance(each, Paragraph) and each.spans[0].text[:1].isdigit() for each in found)


def test_an_entry_with_a_number_in_a_quotation_is_no_list_and_keeps_its_lines() -> None:
    entry, list_in_quotation = blocks("> 212. H. S. 6.000 €. Agua.\n> 10-X-2004.\n\nSo.\n\n> 1. Eggs\n> 2. Milk")[::2]

    assert isinstance(entry, Quote)
    (lines,) = entry.blocks
    assert isinstance(lines, Paragraph)
    assert "".join(span.text for span in lines.spans) == "212. H. S. 6.000 €. Agua.\n10-X-2004."
    assert isinstance(list_in_quotation, Quote)
    assert isinstance(list_in_quotation.blocks[0], ItemList)


def test_hard_line_breaks_make_verse() -> None:
    (verse,) = blocks("> Roses  \n> are  \n> red")

    assert isinstance(verse, Verse)
    assert [line[0].text for line in verse.lines] == ["Roses", "are", "red"]


RHYME = "One for the barrel and one for the bin,\nOne for the master who counts them in,\n*One for the sea.*"
NAMES = "J. Lappin, clerk\nThe Harbour Office"
WRAPPED = "The copy was due at the company's office by the last boat, and by the second week\nshe had reached 1986."


LOG = """1830 Sailed. Took seat in saloon, after end, facing fwd. Both deck doors and inner stair in view.
1934 Miss T. leaves by inner stair with small case.
**1940 ALL LIGHTS FAIL.**"""
TALK = "— Et vous, demanda-t-elle sans lever les yeux de son ouvrage, vous partez quand ?\n— Demain.\n— Ah."
PSALM = """Blessed is the man that walketh not in the counsel of the ungodly, nor standeth in the way,
Nor sitteth in the seat of the scornful.
But his delight is in the law."""
ONE_LINE_EACH = """The tide was out when they came down to the slip, and nobody had thought of a light.
"Wait here," she said.
The boat was gone."""
SPOKEN = """He came down to the slip in the dark, looked at her across the boats, and said:
"Wait here, and if nobody comes with a light before the tide is out again, then go—"
She looked back; he was gone;
The boat was there."""
LONG = "\n".join(f"{'Then they waited on the slip ' * count}," for count in (8, 1, 1))
FILLED = """Am Morgen war der Hafen leer, und niemand hatte daran gedacht, nach dem
Boot zu sehen, das Lappin am Abend vorher an der Mole gelassen hatte, ohne
Licht und ohne Leine."""
RAGGED = """The tide was out when they came down to the slip, and nobody had thought
of a light.
The boat was gone."""


@pytest.mark.parametrize("text", [RHYME, NAMES, "白日依山尽，\n黄河入海流。", LOG, TALK, PSALM])
@pytest.mark.parametrize("mark", ["", "> "])
def test_lines_stay_lines_without_marks_of_a_line_break(text: str, mark: str) -> None:
    """Models and authors write a rhyme or an address like this, though Markdown joins such lines."""
    (block,) = blocks("\n".join(mark + line for line in text.split("\n")))
    (inner,) = block.blocks if isinstance(block, Quote) else (block,)

    assert isinstance(inner, Verse | Paragraph)
    shown = inner.lines if isinstance(inner, Verse) else lines_by_hand(inner.spans)
    assert ["".join(span.text for span in line) for line in shown] == text.replace("*", "").split("\n")


@pytest.mark.parametrize("text", [WRAPPED, f"> {WRAPPED}", f"- {NAMES}", ONE_LINE_EACH, SPOKEN, LONG, FILLED, RAGGED])
def test_lines_that_an_editor_wrapped_and_lines_of_a_list_are_joined(text: str) -> None:
    (block,) = blocks(text)
    (inner,) = block.blocks if isinstance(block, Quote) else block.items[0] if isinstance(block, ItemList) else (block,)

    assert isinstance(inner, Paragraph)
    assert "\n" not in "".join(span.text for span in inner.spans)


def test_notes_are_collected_and_called_by_number() -> None:
    found, notes = parse("a[^x] b[^y]\n\n[^y]: second\n[^x]: first", "", lambda each: each)

    assert [span.note for span in found[0].spans if span.note is not None] == [0, 1]  # type: ignore[union-attr]
    assert [note[0].spans[0].text for note in notes] == ["first", "second"]  # type: ignore[union-attr]


def test_html_is_plain_text_and_a_script_link_is_not_a_link() -> None:
    (paragraph,) = blocks("<b>x</b> [y](javascript:z)")

    assert isinstance(paragraph, Paragraph)
    assert "".join(span.text for span in paragraph.spans) == "<b>x</b> [y](javascript:z)"
    assert not any(span.href for span in paragraph.spans)


@pytest.mark.parametrize("code", ["```\n# a\n#\nb\n```", "~~~sh\n# a\n#\nb\n~~~"])
def test_a_scene_break_mark_inside_code_is_code(code: str) -> None:
    assert blocks(f"{code}\n\nAfter.") == (Code(("# a", "#", "b")), Paragraph((Span("After."),)))


def test_an_indented_paragraph_is_a_paragraph_and_no_code() -> None:
    assert blocks("    It rained.\n\n    It snowed *all* day.\n\nAfter.") == (
        Paragraph((Span("It rained."),)),
        Paragraph((Span("It snowed "), Span("all", italic=True), Span(" day."))),
        Paragraph((Span("After."),)),
    )


def test_a_scene_break_right_below_a_paragraph_does_not_make_it_a_heading() -> None:
    assert [type(block) for block in blocks("One.\n---\nTwo.")] == [Paragraph, SceneBreak, Paragraph]


def test_a_heading_with_a_note_is_kept() -> None:
    (heading, _), notes = parse("# The Tide[^1]\n\nText.\n\n[^1]: Called.", "The Tide", lambda each: each)

    assert isinstance(heading, Heading)
    assert len(notes) == 1


def test_lines_in_scripts_without_spaces_are_joined_without_a_space() -> None:
    line = "红楼梦" * 11
    (paragraph,) = blocks(f"{line}\n第一回\nabc")

    assert isinstance(paragraph, Paragraph)
    assert "".join(span.text for span in paragraph.spans) == f"{line}第一回 abc"


ORNAMENTS = ["*", "~", "#", "-", "+", "**", "• • •", "•••", "___", "~ * ~", "\\*", "**⁂**", "❦", "—", "✦", "☆ ☆ ☆"]
TAGGED = ["<hr>", "<hr/>", "<center>***</center>", '<p align="center">⁂</p>', "==========", "          * * *"]


@pytest.mark.parametrize("mark", [*ORNAMENTS, *TAGGED])
def test_an_ornament_on_its_own_line_is_a_scene_break(mark: str) -> None:
    assert [type(block) for block in blocks(f"One.\n\n{mark}\n\nTwo.")] == [Paragraph, SceneBreak, Paragraph]


@pytest.mark.parametrize("text", ["…", "?!", "...", "1", "II.", "★★★★☆", "❤", "♥", "`*`", "A*"])
def test_meaningful_text_is_not_a_scene_break(text: str) -> None:
    assert not any(isinstance(block, SceneBreak) for block in blocks(f"One.\n\n{text}\n\nTwo."))


def test_an_ornament_in_a_list_or_a_table_is_text() -> None:
    assert [type(block) for block in blocks("One.\n\n- yes\n- +\n-\n\n| a | b |\n|---|---|\n| + | * |")] == [
        Paragraph,
        ItemList,
        Table,
    ]


def test_an_ornament_right_above_text_is_a_scene_break() -> None:
    assert [type(block) for block in blocks("One.\n\n*\nTwo.")] == [Paragraph, SceneBreak, Paragraph]


def test_an_ornament_inside_a_quotation_is_a_scene_break() -> None:
    (quote,) = blocks("> One.\n>\n> *\n>\n> Two.")

    assert isinstance(quote, Quote)
    assert [type(block) for block in quote.blocks] == [Paragraph, SceneBreak, Paragraph]


def test_scene_breaks_at_the_start_and_the_end_of_a_chapter_are_dropped() -> None:
    assert [type(block) for block in blocks("*\n\nOne.\n\n~")] == [Paragraph]


@pytest.mark.parametrize("line", ["**Step 1: Mix**", "**What you need:**", "__Am Morgen__", "**A *very* short step**"])
def test_a_bold_line_above_a_paragraph_is_a_heading(line: str) -> None:
    assert [type(block) for block in blocks(f"One.\n\n{line}\n\n- Two")] == [Paragraph, Heading, ItemList]


@pytest.mark.parametrize("line", ["**Stop.**", "**ANNA**", "**Anna:** Come.", "**Never!**", f"**{'word ' * 20}**"])
def test_a_bold_sentence_or_name_is_not_a_heading(line: str) -> None:
    assert [type(block) for block in blocks(f"One.\n\n{line}\n\nTwo.")] == [Paragraph] * 3


def test_a_bold_line_at_the_end_is_not_a_heading() -> None:
    assert [type(block) for block in blocks("One.\n\n**The End**")] == [Paragraph, Paragraph]


def test_a_checklist_has_check_boxes() -> None:
    (checklist, plain) = blocks("- [ ] Rope\n- [x] *A* plank\n\n1. [ ] Numbered\n2. Two")

    assert isinstance(checklist, ItemList)
    assert [checklist.sign(item, outer=True, bullets="•–") for item in range(2)] == ["☐", "☑"]
    assert checklist.items[0] == (Paragraph((Span("Rope"),)),)
    assert checklist.items[1] == (Paragraph((Span("A", italic=True), Span(" plank"))),)
    assert isinstance(plain, ItemList)
    assert not plain.ticked


def test_superscript_and_subscript_digits_become_characters_and_other_such_tags_go() -> None:
    (paragraph,) = blocks("5 m<sup>2</sup> of CO<sub>2</sub> on the 1<sup>st</sup>, `<sup>2</sup>`")

    assert isinstance(paragraph, Paragraph)
    assert "".join(span.text for span in paragraph.spans) == "5 m² of CO₂ on the 1st, <sup>2</sup>"
