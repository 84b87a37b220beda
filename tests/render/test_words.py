"""Words keep the style they are asked for."""

from bookgen.render.fonts.typeface import Typeface
from bookgen.render.layout.words import WordMaker
from bookgen.render.model import Run


def test_a_word_met_in_the_text_is_set_as_a_title_in_a_title() -> None:
    maker = WordMaker(Typeface("serif", "en"))
    maker.words([Run("the promise kept in the morning")])

    title = maker.words([Run("in the morning")], display=True)

    assert {style for token in title.tokens for _, style in token.pieces} == {maker.typeface.style(display=True)}
