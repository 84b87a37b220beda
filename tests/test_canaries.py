"""A secret in the log fails a run of tests, whatever logged it."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

HARMLESS = "structlog.get_logger().info('request', route='/auth/reset-password/{uid}/{token}/')"
LEAKS = {
    "a password": "structlog.get_logger().info('request', line=CANARY)",
    "a library": "logging.getLogger('library').debug('got %s', CANARY)",
    "a token": "structlog.get_logger().info('request', line=watch('made-by-the-service'))",
    "a link": "print('GET /verify-email/MQ/0123456789abcdefgh/', file=kept)",
    "a process": "(tmp_path / 'serve.log').write_text(CANARY); keep_logs(tmp_path)",
}


async def run_of_tests(folder: Path, lines: Sequence[str], *options: str) -> tuple[int, str]:
    """Runs a test of each line. Returns the exit code and what was said."""
    tests = (f"def test_{number}(tmp_path):\n    {line}\n" for number, line in enumerate(lines))
    imports = "import logging\nimport structlog\nfrom tests.canaries import CANARY, keep_logs, kept, watch\n"
    (folder / "test_some.py").write_text("".join([imports, *tests]))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pytest", "-p", "tests.canaries", "-p", "no:cacheprovider", *options,
        "--rootdir", str(folder), str(folder / "test_some.py"),
        cwd=ROOT, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def test_every_leak_is_found_and_fails_the_run_even_if_every_test_passed(tmp_path: Path) -> None:
    code, said = await run_of_tests(tmp_path, [*LEAKS.values()])

    assert f"{len(LEAKS)} passed" in said
    assert f"{len(LEAKS)} secrets in the logs" in said
    assert code == pytest.ExitCode.TESTS_FAILED


async def test_a_leak_in_a_worker_fails_the_run(tmp_path: Path) -> None:
    code, said = await run_of_tests(tmp_path, [LEAKS["a password"]], "-p", "xdist", "-n", "1")

    assert "1 secrets in the logs" in said
    assert code == pytest.ExitCode.TESTS_FAILED


async def test_a_log_without_secrets_fails_nothing(tmp_path: Path) -> None:
    code, said = await run_of_tests(tmp_path, [HARMLESS])

    assert code == pytest.ExitCode.OK, said
