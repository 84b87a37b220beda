"""Prices as data: integer millionths, and no guess for an unknown price."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from bookgen.errors import StartupError
from bookgen.models import Usage
from bookgen.providers import prices as module
from bookgen.providers.anthropic import AnthropicProvider
from bookgen.providers.prices import Price, prices, use


def test_each_kind_of_token_has_its_price() -> None:
    price = Price(input=2_000_000, output=10_000_000, cache_write=2_500_000, cache_read=200_000)
    usage = Usage(input_tokens=1000, output_tokens=500, cache_write_tokens=200, cache_read_tokens=4000)

    assert price.of(usage) == 2000 + 5000 + 500 + 800


def test_the_cost_of_a_call_is_never_rounded_down() -> None:
    price = Price(input=100_000, output=0, cache_write=0, cache_read=0)

    assert price.of(Usage(input_tokens=1)) == 1


def test_a_long_prompt_has_the_higher_price() -> None:
    haiku = prices().of("anthropic:claude-haiku-5-5")
    assert haiku is not None

    assert haiku.of(Usage(input_tokens=100_000)) == 10_000
    assert haiku.of(Usage(calls=10, input_tokens=1_000_000)) == 100_000
    assert haiku.of(Usage(input_tokens=50_000, cache_read_tokens=50_001)) > 25_000


def test_usage_without_a_known_price_is_flagged_and_not_counted() -> None:
    usage = prices().priced(Usage(calls=1, input_tokens=10), "openai:my-own-model")

    assert usage.unknown_price
    assert usage.cost_micros == 0


def test_a_dated_model_name_has_the_price_of_its_model() -> None:
    assert prices().of("anthropic:claude-sonnet-5-5-20260928") == prices().of("anthropic:claude-sonnet-5-5")
    assert prices().of("openai:gpt-6.1-terra-2026-10-26") == prices().of("openai:gpt-6.1-terra")
    assert prices().of("anthropic:claude-sonnet-5-5-preview") is None


def test_the_default_models_have_prices_and_the_table_has_a_date() -> None:
    for provider, model in (*prices().defaults.items(), *prices().image_defaults.items()):
        assert prices().of(f"{provider}:{model}") is not None
    assert date.fromisoformat(prices().verified_on)
    assert prices().of("offline") == Price(0, 0, 0, 0)
    assert prices().picture_tokens > 1_000


def test_the_operators_file_overrides_the_packaged_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_current", None)
    before = prices().of("anthropic:claude-sonnet-5-5")
    assert before is not None
    (tmp_path / "models.toml").write_text("""
        [openai."my-own-model"]
        input = 250_000
        output = 1_000_000
        context_window = 32_768
        [anthropic.claude-sonnet-5-5]
        output = 9_000_000
        max_output_tokens = 64_000
    """)

    use(tmp_path / "models.toml")

    assert prices().of("openai:my-own-model") == Price(250_000, 1_000_000, 250_000, 250_000)
    assert prices().context_window("openai:my-own-model") == 32_768
    after = prices().of("anthropic:claude-sonnet-5-5")
    assert after is not None
    assert (after.input, after.output) == (before.input, 9_000_000)
    assert prices().max_output("anthropic:claude-sonnet-5-5-20260928") == 64_000
    assert AnthropicProvider("claude-sonnet-5-5")._most_tokens == 64_000
    assert prices().of("openai:gpt-6.1-terra") is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[openai."gpt-6.1-terra"]\ninput = -1', 'openai."gpt-6.1-terra".input: '),
        ("[openai.mine]\ninput = 2.5\noutput = 1", "openai.mine.input: "),
        ("[openai.mine]\noutput = 1", "openai.mine.input: "),
        ("[openai.mine]\nprice = 1", "openai.mine.price: "),
        ("[openai.mine]\ncontext_window = 1", "openai.mine.context_window: "),
        ("openai = 1", "openai: "),
        ("[openai", "is not valid TOML"),
    ],
)
def test_an_invalid_entry_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setattr(module, "_current", None)
    (tmp_path / "models.toml").write_text(text)

    with pytest.raises(StartupError) as error:
        use(tmp_path / "models.toml")

    assert said in str(error.value)
    assert str(error.value).startswith("BOOKGEN_MODELS_FILE=")
    assert len(str(error.value).splitlines()) == 1
