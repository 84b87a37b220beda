from pathlib import Path

from bookgen.keyfile import kept_secret


def test_a_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    first = kept_secret(tmp_path / "secret.key")

    assert kept_secret(tmp_path / "secret.key") == first
    assert len(first.encode()) >= 32
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]
