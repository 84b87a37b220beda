"""The slow tests, each with the reason. `make test` leaves them out; `make test-all` and `.ci/run` run them.

An entry is a folder or a file below tests/.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SLOW = {
    "chaos": "kills processes, fills disks and holds locks, and waits for what comes after",
    "sim": "plays hours of three processes",
    "deploy": "starts the programs of others before the service",
    "test_journeys.py": "makes whole books through the commands",
    "test_documented_commands.py": "runs the commands that the pages for operators print",
    "test_canaries.py": "starts test runs of its own",
    "test_authored.py": "recorded books through the service",
    "actors/test_blurbs.py": "waits until the lease of a dead process has expired",
    "actors/test_crashes.py": "waits until the lease of a dead process has expired",
    "actors/test_reports.py": "waits until the lease of a dead process has expired",
    "actors/test_life.py": "thousands of random steps against a model in memory",
    "actors/test_words_written.py": "follows the word count of whole runs",
    "billing/test_dying.py": "kills the service at every step of a payment",
    "billing/test_service.py": "kills the service during a purchase",
    "billing/test_histories.py": "random histories of an account",
    "client/test_books.py": "makes whole books through the client",
    "commands/test_cli.py": "starts the command for each test",
    "commands/test_backup.py": "drills a backup in a second cluster",
    "commands/test_files.py": "moves and backs up the files of a running service",
    "commands/test_full_disk.py": "fills a disk",
    "commands/test_mcp_conformance.py": "the suite of the protocol's makers",
    "commands/test_mcp.py": "a server and an agent's process for each test",
    "commands/test_mcp_kills.py": "kills a server and an agent's process",
    "commands/test_proof.py": "whole reports, by a command and its server",
    "http/console": "drives the page in Chromium",
    "http/test_blackbox.py": "every row of the contract, in one long story",
    "http/test_cover_ideas.py": "draws covers of whole books",
    "http/test_declaration.py": "makes books with pictures in every format",
    "http/docs/test_generated_clients.py": "generates clients with Node and compiles them",
    "http/test_childrens.py": "makes picture books with every picture",
    "http/test_exports.py": "makes whole files",
    "http/test_schemathesis.py": "some thousand requests that a program makes up",
    "http/test_odd_input.py": "every field with every kind of value",
    "http/edge/test_floods.py": "hostile callers by the hundred",
    "http/test_free_histories.py": "random histories of a free account",
    "http/test_covers.py": "draws covers, and their thumbnails and print files",
    "providers/test_faults.py": "waits as a model's provider asks, with every fault of every protocol",
    "render/test_ace.py": "Ace, in Chromium",
    "render/test_epubcheck.py": "EPUBCheck, in Java",
    "render/test_bare_machine.py": "every format in a process without the machine's fonts",
    "render/test_formats.py": "the same book with every setting, in every format",
    "render/test_pool.py": "starts and kills the processes that render",
    "render/cover/test_covers.py": "draws and judges covers by the dozen",
    "render/test_accessibility.py": "two checkers of PDF/UA",
    "render/test_hostile.py": "text that is made to be slow",
    "render/test_libreoffice.py": "LibreOffice",
    "render/test_only_chapter.py": "the same book with every setting, in every format",
    "render/test_preflight.py": "PDFBox, in Java",
    "render/test_text.py": "reads whole files back word for word",
    "render/test_wrap.py": "print wraps, read by two programs",
    "render/test_pages.py": "sets whole books and measures their pages",
    "render/test_spreads.py": "sets picture books and measures their pages",
    "services/test_backup_schedule.py": "makes and drills backups",
    "store/postgres/test_moving.py": "starts older servers and moves their databases",
    "store/postgres/test_embedded.py": "starts, kills and restarts PostgreSQL",
    "writing/review/test_simulated.py": "thousands of simulated revisions",
    "writing/test_drawn_names.py": "thousands of drawn stories",
    "writing/test_estimate.py": "writes whole books to compare them with their estimate",
    "writing/test_profiles.py": "every kind of local server and model",
    "writing/test_wire.py": "whole books over each SDK",
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: left out of `make test`, see tests/slow.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_slow(item):
            item.add_marker(pytest.mark.slow)


def is_slow(item: pytest.Item) -> bool:
    path = item.path.relative_to(TESTS)
    names = {path.as_posix(), *(parent.as_posix() for parent in path.parents)}
    return bool(names & SLOW.keys())
