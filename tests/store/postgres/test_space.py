import io
import shutil
from pathlib import Path

from bookgen.store.postgres.space import DiskGuard


def test_a_disk_shortage_is_detected_and_logged_once(tmp_path: Path, log_lines: io.StringIO) -> None:
    free = shutil.disk_usage(tmp_path).free
    guard = DiskGuard(tmp_path, least_free=free * 2)

    answers = [guard.shortage() for _ in range(3)]
    guard.least_free = free // 2
    answers += [guard.shortage() for _ in range(3)]

    assert all("almost full" in str(answer) for answer in answers[:3])
    assert answers[3:] == [None] * 3
    lines = log_lines.getvalue().splitlines()
    assert [("disk_almost_full" in line, "disk_has_room" in line) for line in lines] == [(True, False), (False, True)]
