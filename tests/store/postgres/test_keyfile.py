from pathlib import Path

import pytest

from bookgen.errors import StartupError
from bookgen.store.postgres.keyfile import kept_secret


def test_a_secret_is_created_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    first = kept_secret(tmp_path / "secret.key")

    assert kept_secret(tmp_path / "secret.key") == first
    assert len(first.encode()) >= 32
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]


@pytest.mark.parametrize("found", [b"", b"short\n", b"\xff" * 40])
def test_a_file_without_a_secret_is_named_in_the_error_and_not_changed(tmp_path: Path, found: bytes) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(found)

    with pytest.raises(StartupError, match=str(path)):
        kept_secret(path)

    assert path.read_bytes() == found


def test_a_secret_that_cannot_be_stored_gives_an_error(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"can't be used: No such file or directory\.$"):
        kept_secret(tmp_path / "nowhere" / "secret.key")
