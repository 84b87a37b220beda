"""The slow tests, each with the reason.

`make test` leaves all of them out, and `.ci/run` leaves out FOR_A_RELEASE. `make test-all` runs every test.
An entry is a folder or a file below tests/.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SLOW = {
    "chaos": "kills processes, fills disks and holds locks, and waits for what comes after",
    "deploy": "starts the programs of others before the service",
    "test_authored.py": "recorded books through the service",
    "test_canaries.py": "starts test runs of its own",
    "test_journeys.py": "makes whole books through the commands",
    "accounts/test_proof.py": "hashes a password for every step of a change of address",
    "accounts/test_timing.py": "measures how long a sign-in takes",
    "actors/test_blurbs.py": "waits until the lease of a dead process has expired",
    "actors/test_crashes.py": "waits until the lease of a dead process has expired",
    "actors/test_production.py": "whole productions, phase by phase",
    "actors/test_reports.py": "waits until the lease of a dead process has expired",
    "actors/test_review.py": "whole productions with an editor's reading",
    "actors/test_words_written.py": "follows the word count of whole runs",
    "billing/test_dying.py": "kills the service at every step of a payment",
    "billing/test_service.py": "kills the service during a purchase",
    "client/test_books.py": "makes whole books through the client",
    "commands/test_cli.py": "starts the command for each test",
    "commands/test_files.py": "moves and backs up the files of a running service",
    "commands/test_full_disk.py": "fills a disk",
    "commands/test_mcp.py": "a server and an agent's process for each test",
    "commands/test_mcp_kills.py": "kills a server and an agent's process",
    "commands/test_proof.py": "whole reports, by a command and its server",
    "http/answers/test_large_answers.py": "answers of many megabytes",
    "http/console": "drives the page in Chromium",
    "http/edge/test_floods.py": "hostile callers by the hundred",
    "http/test_blackbox.py": "every row of the contract, in one long story",
    "http/test_childrens.py": "makes picture books with every picture",
    "http/test_covers.py": "draws covers, and their thumbnails and print files",
    "http/test_export_settings.py": "makes a preview and files with each setting",
    "http/test_exports.py": "makes whole files",
    "http/test_facts.py": "whole books with the facts of their chapters",
    "http/test_files.py": "files in a bucket, which goes away",
    "http/test_idempotency.py": "kills a server between a request and its retry",
    "http/test_image_providers.py": "every protocol of pictures, through the whole service",
    "http/test_odd_input.py": "every field with every kind of value",
    "http/test_passages.py": "passages rewritten in whole books",
    "http/test_production.py": "whole productions",
    "http/test_proofreading.py": "whole reports",
    "http/test_quality_notes.py": "makes whole books with their notes",
    "http/test_spending.py": "whole books until a cap is reached",
    "http/test_steering.py": "every command in every state of a run",
    "http/test_storage.py": "fills the storage of accounts",
    "providers/test_chat_servers.py": "every dialect of chat servers",
    "providers/test_ledger.py": "hundreds of failing calls",
    "providers/test_lockouts.py": "hours of a virtual clock",
    "providers/test_outage.py": "waits until an absent provider is asked again",
    "providers/test_sdks.py": "each SDK against a server of its protocol",
    "render/test_accessibility.py": "two checkers of PDF/UA",
    "render/test_bare_machine.py": "every format in a process without the machine's fonts",
    "render/test_docx.py": "makes and audits whole files",
    "render/test_epubcheck.py": "EPUBCheck, in Java",
    "render/test_formats.py": "the same book with every setting, in every format",
    "render/test_hostile.py": "text that is made to be slow",
    "render/test_libreoffice.py": "LibreOffice",
    "render/test_odd_books.py": "extreme books on every page size",
    "render/test_only_chapter.py": "the same book with every setting, in every format",
    "render/test_pages.py": "sets whole books and measures their pages",
    "render/test_pdf.py": "makes and parses whole PDFs",
    "render/test_pool.py": "starts and kills the processes that render",
    "render/test_preflight.py": "PDFBox, in Java",
    "render/test_same_bytes.py": "makes the same files in several processes",
    "render/test_scripts.py": "sets text in every script",
    "render/test_sent_markdown.py": "what models and authors type, in every format",
    "render/test_spreads.py": "sets picture books and measures their pages",
    "render/test_text.py": "reads whole files back word for word",
    "render/test_wrap.py": "print wraps, read by two programs",
    "store/postgres/test_embedded.py": "starts, kills and restarts PostgreSQL",
    "store/test_migrate.py": "migrates databases of every release",
    "store/test_pooler.py": "a service behind PgBouncer",
    "store/test_plans.py": "query plans on large tables",
    "support/test_assistant.py": "asks the assistant every question",
    "writing/proofreading/test_survey.py": "surveys whole books in a process of its own",
    "writing/review/test_applying.py": "thousands of random replies of an editor",
    "writing/test_bounds.py": "thousands of random replies of a model",
    "writing/test_chapters_in_view.py": "the prompts of whole books, for windows of every size",
    "writing/test_continuity.py": "books of up to 120 chapters",
    "writing/test_profiles.py": "every kind of local server and model",
    "writing/test_wire.py": "whole books over each SDK",
    "test_planted_facts.py": "books with planted contradictions",
}

# What takes longest, and breaks only if what it is about is changed.
FOR_A_RELEASE = {
    "chaos/test_blurbs.py": "kills the service at every step of a blurb",
    "chaos/test_failover.py": "a standby takes over",
    "chaos/test_fleet.py": "kills processes of a fleet for a minute",
    "chaos/test_locks.py": "requests at the same rows, by the hundred",
    "chaos/test_maintenance_disk.py": "fills a disk during backups, restores and moves",
    "chaos/test_productions.py": "kills the service in every phase of a production",
    "chaos/test_spending.py": "kills the service during paid calls for a minute",
    "sim": "plays hours of three processes",
    "actors/test_life.py": "thousands of random steps against a model in memory",
    "chaos/test_reports.py": "kills the service in every step of a report",
    "chaos/test_two_processes.py": "two processes, one of which is killed",
    "deploy/test_faults.py": "looks at every alert after kills and faults",
    "providers/test_faults.py": "waits as a model's provider asks, with every fault of every protocol",
    "commands/test_backup.py": "drills a backup in a second cluster",
    "http/test_schemathesis.py": "some thousand requests that a program makes up",
    "http/test_free_histories.py": "random histories of a free account",
    "store/postgres/test_moving.py": "starts older servers and moves their databases",
    "writing/review/test_simulated.py": "thousands of simulated revisions",
    "commands/test_mcp_conformance.py": "the suite of the protocol's makers",
    "writing/test_drawn_names.py": "thousands of drawn stories",
    "deploy/test_dashboard.py": "looks at every panel after kills and faults",
    "accounts/test_keyring.py": "rotates and resets keys by the command",
    "chaos/test_standby.py": "a standby hangs",
    "http/console/test_explorer.py": "axe on hundreds of operations",
    "http/docs/test_generated_clients.py": "generates clients with Node and compiles them",
    "http/test_cover_ideas.py": "draws covers of whole books",
    "http/test_declaration.py": "makes books with pictures in every format",
    "render/test_ace.py": "Ace, in Chromium",
    "render/cover/test_covers.py": "draws and judges covers by the dozen",
    "services/test_backup_schedule.py": "makes and drills backups",
    "test_documented_commands.py": "runs the commands that the pages for operators print",
    "writing/review/test_comparison.py": "compares whole books",
    "writing/test_estimate.py": "writes whole books to compare them with their estimate",
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: left out of `make test`, see tests/slow.py")
    config.addinivalue_line("markers", "release: left out of `.ci/run` too, see tests/slow.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = item.path.relative_to(TESTS)
        names = {path.as_posix(), *(parent.as_posix() for parent in path.parents)}
        if names & FOR_A_RELEASE.keys():
            item.add_marker(pytest.mark.release)
        if names & (SLOW.keys() | FOR_A_RELEASE.keys()):
            item.add_marker(pytest.mark.slow)
