"""A secret in the log fails a run of tests, whatever logged it."""

import asyncio
import os
import sys
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


async def run_of_tests(folder: Path, line: str, *options: str) -> tuple[int, str]:
    (folder / "test_some.py").write_text(
        "import logging\nimport structlog\nfrom tests.canaries import CANARY, keep_logs, kept, watch\n"
        f"def test_some(tmp_path):\n    {line}\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pytest", "-p", "tests.canaries", "-p", "no:cacheprovider", *options,
        "--rootdir", str(folder), str(folder / "test_some.py"),
        cwd=ROOT, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


@pytest.mark.parametrize("line", LEAKS.values(), ids=LEAKS)
async def test_a_leak_fails_the_run_even_if_every_test_passed(tmp_path: Path, line: str) -> None:
    code, said = await run_of_tests(tmp_path, line)

    assert "1 passed" in said
    assert "1 secrets in the logs" in said
    assert code == pytest.ExitCode.TESTS_FAILED


async def test_a_leak_in_a_worker_fails_the_run(tmp_path: Path) -> None:
    code, said = await run_of_tests(tmp_path, LEAKS["a password"], "-p", "xdist", "-n", "1")

    assert "1 secrets in the logs" in said
    assert code == pytest.ExitCode.TESTS_FAILED


async def test_a_log_without_secrets_fails_nothing(tmp_path: Path) -> None:
    code, said = await run_of_tests(tmp_path, HARMLESS)

    assert code == pytest.ExitCode.OK, said
