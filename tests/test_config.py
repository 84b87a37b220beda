from pathlib import Path

import pytest
from pydantic import ValidationError

from bookgen import config
from bookgen.errors import StartupError
from bookgen.parallelism import Sizes
from bookgen.rate_limits import LimitClass
from bookgen.settings import Config, names, reveal


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*names().values(), "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_without_settings_the_defaults_apply() -> None:
    settings = config.load()

    assert (settings.host, settings.port, settings.data_dir) == ("127.0.0.1", 8000, Path("data"))
    assert settings.database_url is None
    assert not settings.billing_enabled


@pytest.mark.parametrize(
    ("cores", "sizes"), [(1, Sizes(32, 4, 8, 1)), (2, Sizes(64, 8, 16, 1)), (64, Sizes(256, 16, 32, 2))], ids=str
)
def test_concurrency_follows_the_machine(monkeypatch: pytest.MonkeyPatch, cores: int, sizes: Sizes) -> None:
    monkeypatch.setattr(config.os, "sched_getaffinity", lambda _: range(cores))

    assert config.load().sizes == sizes


def test_concurrency_can_be_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CHAPTERS_AT_ONCE": "5", "DATABASE_POOL": "3", "HTTP_POOL": "7"}.items():
        monkeypatch.setenv(f"BOOKGEN_{name}", value)

    sizes = config.load().sizes
    assert (sizes.chapters_at_once, sizes.run_connections, sizes.http_connections) == (5, 3, 7)


def test_a_config_is_immutable() -> None:
    with pytest.raises(ValidationError):
        config.load().port = 1


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("BOOKGEN_PORT", "abc", "BOOKGEN_PORT takes 0 to 65535, not 'abc'."),
        ("BOOKGEN_PORT", "70000", "BOOKGEN_PORT takes 0 to 65535, not '70000'."),
        ("BOOKGEN_MODEL", "gpt", "BOOKGEN_MODEL takes auto, offline, anthropic:MODEL or openai:MODEL, not 'gpt'."),
        ("BOOKGEN_RATE_READ", "300", "BOOKGEN_RATE_READ takes a rate like 300/minute, not '300'."),
        ("BOOKGEN_BILLING", "yes", "BOOKGEN_BILLING takes auto, on or off, not 'yes'."),
        ("BOOKGEN_SECRET_KEY", "short", "BOOKGEN_SECRET_KEY takes at least 32 bytes, not the given value."),
        (
            "DATABASE_URL",
            "mysql://u:hush@h/d",
            "BOOKGEN_DATABASE_URL or DATABASE_URL takes a URL like "
            "postgresql://user:password@host/name, not the given value.",
        ),
        (
            "BOOKGEN_TRUSTED_PROXIES",
            "10.0.0.0/8, nonsense",
            "BOOKGEN_TRUSTED_PROXIES takes networks like 10.0.0.0/8, separated by commas, not 'nonsense'.",
        ),
        ("BOOKGEN_CONTEXT_TOKENS", "3999", "BOOKGEN_CONTEXT_TOKENS takes 4000 or more, not '3999'."),
        ("BOOKGEN_DRAIN_SECONDS", "inf", "BOOKGEN_DRAIN_SECONDS takes seconds, 0 or more, not 'inf'."),
        (
            "BOOKGEN_PUBLIC_URL",
            "https://books.example.org:80000",
            "BOOKGEN_PUBLIC_URL takes an address like https://books.example.org, not 'https://books.example.org:80000'.",
        ),
        (
            "BOOKGEN_SMTP_URL",
            "smtp://u:hush@mail.example.org:port",
            "BOOKGEN_SMTP_URL takes a URL like smtp://user:password@host:port or smtps://host "
            "(?tls=off allows smtp without TLS), not the given value.",
        ),
        (
            "BOOKGEN_SMTP_URL",
            "smtp://u:hush@mail.example.org\n",
            "BOOKGEN_SMTP_URL takes a URL like smtp://user:password@host:port or smtps://host "
            "(?tls=off allows smtp without TLS), not the given value.",
        ),
        (
            "OPENAI_API_KEY",
            "sk-clé",
            "OPENAI_API_KEY takes a key of ASCII letters, digits and signs, without spaces, not the given value.",
        ),
        (
            "BOOKGEN_METRICS_TOKEN",
            "ü x",
            "BOOKGEN_METRICS_TOKEN takes a key of ASCII letters, digits and signs, without spaces, "
            "not the given value.",
        ),
        (
            "OPENAI_BASE_URL",
            "http://ada:hush@127.0.0.1/v1",
            "OPENAI_BASE_URL takes an http(s) URL without a login, not the given value.",
        ),
        ("BOOKGEN_MAIL_FROM", "the books", "BOOKGEN_MAIL_FROM takes an e-mail address, not 'the books'."),
        (
            "BOOKGEN_BOOK_COST_CAP",
            "-1",
            "BOOKGEN_BOOK_COST_CAP takes an amount like 12.50, in US dollars or in the currency of your models file, "
            "not '-1'.",
        ),
        ("BOOKGEN_BACKUP_EVERY", "daily", "BOOKGEN_BACKUP_EVERY takes a time like 24h, 30m or 7d, not 'daily'."),
        (
            "BOOKGEN_FILES",
            "s3:/books",
            "BOOKGEN_FILES takes database, a folder or s3://bucket/prefix, not 's3:/books'.",
        ),
        ("BOOKGEN_FILES", "gs://b/x", "BOOKGEN_FILES takes database, a folder or s3://bucket/prefix, not 'gs://b/x'."),
        ("BOOKGEN_EXPORTS_FOR", "0d", "BOOKGEN_EXPORTS_FOR takes a time like 24h or 30d, not '0d'."),
        (
            "BOOKGEN_S3_ENDPOINT",
            "http://127.0.0.1:9000",
            "BOOKGEN_S3_ENDPOINT needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
        ),
        ("BOOKGEN_BACKUP_KEEP", "0", "BOOKGEN_BACKUP_KEEP takes 1 or more, not '0'."),
        (
            "BOOKGEN_BACKUP_DIR",
            "/backups",
            "BOOKGEN_BACKUP_DIR needs BOOKGEN_BACKUP_PASSPHRASE, which encrypts the backups.",
        ),
        ("BOOKGEN_ROLE", "worker", "BOOKGEN_ROLE takes web, actors or both, not 'worker'."),
        (
            "BOOKGEN_ROLE",
            "web",
            "BOOKGEN_ROLE=web needs BOOKGEN_DATABASE_URL. With the embedded database only `both` works.",
        ),
        ("BOOKGEN_PROT", "1", "BOOKGEN_PROT is not a setting. Did you mean BOOKGEN_PORT?"),
        ("BOOKGEN_ZZZZZZZZ", "1", "BOOKGEN_ZZZZZZZZ is not a setting."),
    ],
)
def test_an_invalid_setting_is_reported_in_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, line: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(StartupError) as refused:
        config.load()

    assert str(refused.value) == line


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1_800), ("24h", 86_400), ("7d", 604_800)])
def test_the_time_between_backups_is_read_with_its_unit(
    monkeypatch: pytest.MonkeyPatch, text: str, seconds: float
) -> None:
    monkeypatch.setenv("BOOKGEN_BACKUP_EVERY", text)

    assert config.load().backup_seconds == seconds


def test_a_model_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKGEN_MODEL", "openai:some-model")
    with pytest.raises(StartupError, match=r"^BOOKGEN_MODEL=openai:some-model needs OPENAI_API_KEY\.$"):
        config.load()

    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1")
    assert config.load().model == "openai:some-model"


def test_every_problem_is_on_its_own_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKGEN_PORT", "abc")
    monkeypatch.setenv("BOOKGEN_HOSTS", "x")

    with pytest.raises(StartupError) as refused:
        config.load()

    assert len(str(refused.value).splitlines()) == 2


def test_a_dotenv_file_is_read_and_the_environment_takes_precedence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("BOOKGEN_PORT=9000\nBOOKGEN_HOST=0.0.0.0\nOTHER=1\n")
    monkeypatch.setenv("BOOKGEN_HOST", "::1")

    settings = config.load()

    assert (settings.port, settings.host) == (9000, "::1")


@pytest.mark.parametrize("line", ['BOOKGEN_MODEL="openai:x', "BOOKGEN_PORT: 8001", "BOOKGEN_PORT 8001"])
def test_an_invalid_line_in_the_dotenv_file_is_named(
    tmp_path: Path, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".env").write_text(f"# ours\nOTHER='a b' # theirs\n{line}\n")

    with pytest.raises(StartupError, match=r"^Line 3 of \.env must have the form NAME=value, with every quote closed"):
        config.load()

    assert not caplog.records


def test_a_setting_in_lower_case_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("bookgen_port=8001\n")

    with pytest.raises(StartupError, match=r"^bookgen_port is not a setting\. Did you mean BOOKGEN_PORT\?$"):
        config.load()


def test_a_path_may_start_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    (tmp_path / ".env").write_text("BOOKGEN_DATA_DIR=~/books\n")

    assert config.load().data_dir == Path("/home/ada/books")


def test_an_unknown_name_in_the_dotenv_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("BOOKGEN_COLOUR=blue\n")

    with pytest.raises(StartupError, match="BOOKGEN_COLOUR is not a setting"):
        config.load()


@pytest.mark.parametrize("given", [b"BOOKGEN_PORT=\xff\n", b"\xff\xfeB\0"])
def test_a_dotenv_file_that_is_not_text_is_named(tmp_path: Path, given: bytes) -> None:
    (tmp_path / ".env").write_bytes(given)

    with pytest.raises(StartupError, match=r"^\.env can't be read: it is not UTF-8\.$"):
        config.load()


def test_an_empty_setting_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKGEN_DATABASE_URL", "")
    monkeypatch.setenv("DATABASE_URL", "postgresql://u@h/d")

    assert reveal(config.load().database_url) == "postgresql://u@h/d"


def test_lists_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKGEN_ALLOWED_ORIGINS", "https://a.example, http://b.example:3000")

    assert config.load().allowed_origins == ("https://a.example", "http://b.example:3000")


def test_a_payment_key_turns_billing_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIPE_SECRET_KEY", "sk_test_x")
    assert config.load().billing_enabled

    monkeypatch.setenv("BOOKGEN_BILLING", "off")
    assert not config.load().billing_enabled


def test_secrets_are_hidden_when_the_config_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKGEN_DATABASE_URL", "postgresql://u:hush@h/d")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-hush")

    assert "hush" not in repr(config.load())


def test_every_setting_documents_its_values_and_meaning() -> None:
    for field in Config.model_fields.values():
        assert isinstance(field.json_schema_extra, dict)
        assert field.json_schema_extra["takes"]
        assert field.description


def test_every_limit_class_has_its_setting() -> None:
    rates = {name: field.default for name, field in Config.model_fields.items() if name.startswith("rate_")}

    assert rates == {each.setting: each.default for each in LimitClass}
