"""From the settings to the model and its fallback."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from bookgen.errors import StartupError, UpstreamAIError
from bookgen.providers.access import Access
from bookgen.providers.registry import PROVIDERS, ModelSettings, build_text_model, without_price
from bookgen.providers.text import StopReason, known_name
from bookgen.setting_types import PROVIDERS as WITH_SETTINGS
from tests.fakes.model_script import fault
from tests.fakes.model_server import ModelServer
from tests.providers.calls import chapter_request


@pytest.mark.parametrize(
    ("spec", "access", "name"),
    [
        ("auto", {}, "offline"),
        ("auto", {"anthropic": Access("k"), "openai": Access("k")}, "anthropic:claude-sonnet-5-5"),
        ("auto", {"openai": Access("k")}, "openai:gpt-6.1-terra"),
        ("auto", {"openai": Access(url="http://localhost:8080")}, "openai:auto"),
        ("auto", {"anthropic": Access(url="http://localhost:8080")}, "offline"),
        ("offline", {"anthropic": Access("k")}, "offline"),
        ("anthropic:claude-opus-5-5", {"openai": Access("k")}, "anthropic:claude-opus-5-5"),
        ("openai:llama3:8b", {"openai": Access(url="http://localhost:11434")}, "openai:llama3:8b"),
    ],
)
def test_a_setting_selects_the_model(spec, access, name) -> None:
    assert build_text_model(spec, ModelSettings(access)).name == name


def test_models_that_cost_caps_cannot_limit_are_listed() -> None:
    keys = ModelSettings({"anthropic": Access("k"), "openai": Access("k")})

    assert without_price(build_text_model("anthropic", keys)) == []
    assert without_price(build_text_model("offline", keys)) == []
    assert without_price(build_text_model("anthropic", keys, fallback="openai:llama3")) == ["openai:llama3"]


def test_an_unknown_provider_stops_the_start() -> None:
    with pytest.raises(StartupError, match="anthropic, openai or offline"):
        build_text_model("mystery:model", ModelSettings())


def test_every_provider_has_its_own_settings_and_its_name() -> None:
    assert tuple(PROVIDERS) == WITH_SETTINGS
    assert all(load().provider == name for name, load in PROVIDERS.items())


async def test_a_server_with_one_model_needs_no_model_name(server) -> None:
    model = build_text_model("auto", ModelSettings({"openai": Access(url=server.openai_url)}))

    reply = await model.complete(chapter_request())

    assert reply.model == model.name == "openai:scripted"
    assert server.requests[0].body["model"] == "scripted"
    await model.close()


async def test_with_several_models_the_error_lists_them(server) -> None:
    server.configure(models=["mistral", "llama3"])
    model = build_text_model("openai", ModelSettings({"openai": Access(url=server.openai_url)}))

    several = re.escape("has several models (llama3, mistral); choose one with BOOKGEN_MODEL=openai:NAME")
    with pytest.raises(UpstreamAIError, match=several):
        await model.complete(chapter_request())

    assert server.requests == []
    await model.close()


async def test_a_request_refused_by_the_first_model_goes_to_the_second(server) -> None:
    server.script(fault("refusal", protocol="anthropic", times=9))
    model = build_text_model("anthropic:one", settings(server), fallback="openai:two")

    reply = await model.complete(chapter_request())

    assert reply.stop is StopReason.END
    assert reply.model == "openai:two"
    assert reply.usage.calls == 1
    assert [(each.model, each.usage.calls) for each in reply.also] == [("anthropic:one", 1)]
    await model.close()


async def test_during_an_outage_of_the_first_model_the_second_replies(server) -> None:
    server.script(fault("status", status=500, protocol="anthropic", times=9))
    model = build_text_model("anthropic:one", settings(server), fallback="openai:two")

    reply = await model.complete(chapter_request())

    assert reply.model == "openai:two"
    assert [call.protocol for call in server.requests] == ["anthropic", "anthropic", "chat"]
    await model.close()


async def test_if_both_models_refuse_the_result_is_a_refusal(server) -> None:
    server.script(fault("refusal", times=9))
    model = build_text_model("anthropic:one", settings(server), fallback="openai:two")

    reply = await model.complete(chapter_request())

    assert reply.stop is StopReason.REFUSAL
    assert reply.text == ""
    await model.close()


async def test_if_both_models_are_unreachable_the_error_is_typed(server) -> None:
    server.script(fault("drop", times=99))
    model = build_text_model("anthropic:one", settings(server), fallback="openai:two")

    with pytest.raises(UpstreamAIError) as error:
        await model.complete(chapter_request())

    assert error.value.retryable
    await model.close()


async def test_an_error_lists_the_usage_of_both_models(server) -> None:
    server.script(fault("refusal", protocol="anthropic"), fault("empty", protocol="chat", times=9))
    model = build_text_model("anthropic:one", settings(server), fallback="openai:two")

    with pytest.raises(UpstreamAIError) as error:
        await model.complete(chapter_request())

    assert [each.model for each in error.value.spent] == ["anthropic:one", "openai:two", "openai:two"]
    await model.close()


def test_building_a_model_does_not_import_an_sdk() -> None:
    code = """
import sys
from bookgen.providers.registry import ModelSettings, build_text_model
from bookgen.providers.access import Access
build_text_model("anthropic:a", ModelSettings({"anthropic": Access("k")}), fallback="openai:b")
assert not {"anthropic", "openai"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_keys_are_left_out_of_the_printed_settings() -> None:
    assert "secret" not in repr(ModelSettings({"anthropic": Access("secret")}))


def settings(server, *, timeout: float | None = 5) -> ModelSettings:
    return ModelSettings(
        {"anthropic": Access("k", server.anthropic_url), "openai": Access(url=server.openai_url)},
        timeout=timeout,
        outage=0,
        tries=2,
        retry_delay=0.01,
    )


async def test_the_name_of_a_servers_only_model_is_found_before_the_first_call(server: ModelServer) -> None:
    model = build_text_model("auto", ModelSettings({"openai": Access(url=server.url)}), fallback="offline")
    assert known_name(model) is None

    await model.find_name()

    assert known_name(model) == "openai:scripted"
    await model.close()
