import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from bookgen.errors import StartupError
from bookgen.store import migrate as migrating
from bookgen.store.migrate import migrate, pending
from tests.databases import command, empty_database

Ask = Callable[[str, Path], Awaitable[list[str]]]
WAITS_FOR_ONE = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'one'::regclass AND NOT granted)"
SQL = Path(__file__).parents[2] / "sql"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_first.sql").write_text("CREATE TABLE one (id int); INSERT INTO one VALUES (1);")
    (tmp_path / "0002_second.sql").write_text("CREATE TABLE two (id int);")
    return tmp_path


async def tables(dsn: str) -> set[str]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {row["tablename"] for row in rows}
    finally:
        await connection.close()


async def test_files_are_applied_in_order_and_once(empty_dsn: str, folder: Path) -> None:
    assert await migrate(empty_dsn, folder) == ["0001_first.sql", "0002_second.sql"]
    assert await migrate(empty_dsn, folder) == []
    assert await tables(empty_dsn) == {"schema_migration", "one", "two"}


async def test_of_five_concurrent_processes_one_applies_each_file(empty_dsn: str, folder: Path) -> None:
    applied = await asyncio.gather(*(migrate(empty_dsn, folder) for _ in range(5)))

    assert sorted(name for names in applied for name in names) == ["0001_first.sql", "0002_second.sql"]


async def test_a_failing_file_is_rolled_back(empty_dsn: str, folder: Path) -> None:
    (folder / "0002_second.sql").write_text("CREATE TABLE two (id int); SELECT nonsense;")

    with pytest.raises(StartupError, match=r"0002_second\.sql failed"):
        await migrate(empty_dsn, folder)

    assert await tables(empty_dsn) == {"schema_migration", "one"}


@pytest.mark.parametrize("ask", [migrate, pending])
async def test_a_role_without_create_permission_gets_the_command_to_grant_it(
    cluster_dsn: str, folder: Path, ask: Ask
) -> None:
    async with empty_database(cluster_dsn) as dsn:
        await command(dsn, "DO $$ BEGIN CREATE ROLE a_visitor; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        with pytest.raises(StartupError, match=r"role a_visitor may not .* OWNER TO a_visitor$"):
            await ask(f"{dsn}&role=a_visitor", folder)
        assert await tables(dsn) == set()
    await command(cluster_dsn, "DROP ROLE a_visitor")


@pytest.mark.parametrize("ask", [migrate, pending])
async def test_a_database_without_utf8_encoding_is_refused(cluster_dsn: str, folder: Path, ask: Ask) -> None:
    async with empty_database(cluster_dsn, "template0 ENCODING 'LATIN1' LOCALE 'C'") as dsn:
        with pytest.raises(
            StartupError,
            match=r"the encoding of the database .* is LATIN1; .*ENCODING 'UTF8' TEMPLATE template0$",
        ):
            await ask(dsn, folder)


async def test_a_file_changed_after_it_was_applied_is_refused(empty_dsn: str, folder: Path) -> None:
    await migrate(empty_dsn, folder)
    (folder / "0001_first.sql").write_text("CREATE TABLE other (id int);")

    with pytest.raises(StartupError, match=r"0001_first\.sql was changed"):
        await migrate(empty_dsn, folder)


async def test_a_schema_newer_than_the_code_is_refused(empty_dsn: str, folder: Path) -> None:
    (folder / "0003_third.sql").write_text("CREATE TABLE three (id int);")
    await migrate(empty_dsn, folder)
    (folder / "0003_third.sql").unlink()
    (folder / "0002_second.sql").unlink()

    with pytest.raises(StartupError, match="migration 0003"):
        await migrate(empty_dsn, folder)


async def test_a_schema_one_migration_ahead_is_accepted_so_that_an_update_can_be_rolled_back(
    empty_dsn: str, folder: Path
) -> None:
    await migrate(empty_dsn, folder)
    (folder / "0002_second.sql").unlink()

    assert await migrate(empty_dsn, folder) == []


async def test_a_migration_that_waits_too_long_for_a_lock_names_its_holder(
    empty_dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(empty_dsn, folder)
    (folder / "0003_third.sql").write_text("ALTER TABLE two ADD COLUMN name text;")
    monkeypatch.setattr(migrating, "LOCK_SECONDS", 0.5)
    other = await asyncpg.connect(empty_dsn, server_settings={"application_name": "a report"})
    async with other.transaction():
        await other.execute("SELECT id FROM two")

        with pytest.raises(StartupError, match=r"0003_third\.sql waited .*\(a report\): SELECT id FROM two"):
            await migrate(empty_dsn, folder)

    await other.close()
    assert await migrate(empty_dsn, folder) == ["0003_third.sql"]


async def test_a_migration_blocked_by_a_transaction_is_retried(empty_dsn: str, folder: Path) -> None:
    await migrate(empty_dsn, folder)
    (folder / "0003_third.sql").write_text("ALTER TABLE two ADD COLUMN name text; CREATE INDEX ON one (id);")
    service = await asyncpg.connect(empty_dsn)
    async with service.transaction():
        await service.execute("SET LOCAL deadlock_timeout = '1min'")  # so that the migration gives way
        await service.execute("UPDATE one SET id = 2")
        migration = asyncio.create_task(migrate(empty_dsn, folder))
        while not await service.fetchval(WAITS_FOR_ONE):  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.01)
        await service.execute("INSERT INTO two VALUES (1)")  # which the migration has locked

    assert await migration == ["0003_third.sql"]
    await service.close()


INDEX = "CREATE INDEX CONCURRENTLY IF NOT EXISTS one_id ON one (id);"
IS_THERE = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'one_id')"
IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'one_id'::regclass"


async def test_an_index_is_built_while_another_transaction_writes_to_its_table(empty_dsn: str, folder: Path) -> None:
    await migrate(empty_dsn, folder)
    (folder / "0003_index.sql").write_text(f"-- concurrently\n{INDEX}\n")
    writer = await asyncpg.connect(empty_dsn)
    try:
        transaction = writer.transaction()
        await transaction.start()
        await writer.execute("INSERT INTO one VALUES (2)")
        building = [asyncio.create_task(migrate(empty_dsn, folder)) for _ in range(2)]
        while not await writer.fetchval(IS_THERE):  # noqa: ASYNC110 (PostgreSQL gives no signal)
            await asyncio.sleep(0.01)
        await writer.execute("INSERT INTO one VALUES (3)")
        await transaction.commit()

        assert sorted(await asyncio.gather(*building)) == [[], ["0003_index.sql"]]
        assert await writer.fetchval(IS_VALID)
    finally:
        await writer.close()


@pytest.mark.parametrize("other", ["CREATE INDEX one_id ON one (id);", "CREATE TABLE three (id int);", "SELECT 1"])
async def test_a_file_that_builds_indexes_has_no_other_statements(empty_dsn: str, folder: Path, other: str) -> None:
    (folder / "0003_index.sql").write_text(f"-- concurrently\n{INDEX}\n{other}\n")

    with pytest.raises(StartupError, match=r"0003_index\.sql may only contain CREATE INDEX CONCURRENTLY"):
        await migrate(empty_dsn, folder)


async def test_an_interrupted_index_build_is_repeated(empty_dsn: str, folder: Path) -> None:
    await migrate(empty_dsn, folder)
    (folder / "0003_index.sql").write_text(f"-- concurrently\n{INDEX}\n")
    await command(empty_dsn, INDEX)
    await command(empty_dsn, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'one_id'::regclass")

    assert await migrate(empty_dsn, folder) == ["0003_index.sql"]

    connection = await asyncpg.connect(empty_dsn)
    try:
        assert await connection.fetchval(IS_VALID)
    finally:
        await connection.close()


async def test_a_folder_without_migrations_is_refused(empty_dsn: str, tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="no migrations"):
        await migrate(empty_dsn, tmp_path / "nowhere")


async def test_pending_migrations_can_be_listed_without_being_applied(empty_dsn: str, folder: Path) -> None:
    assert await pending(empty_dsn, folder) == ["0001_first.sql", "0002_second.sql"]
    assert await tables(empty_dsn) == set()

    await migrate(empty_dsn, folder)

    assert await pending(empty_dsn, folder) == []


async def test_an_account_older_than_plans_gets_the_free_plan(empty_dsn: str, tmp_path: Path) -> None:
    for file in SQL.glob("000[123]_*.sql"):
        shutil.copy(file, tmp_path)
    await migrate(empty_dsn, tmp_path)
    connection = await asyncpg.connect(empty_dsn)
    try:
        await connection.execute("INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com')")

        await migrate(empty_dsn, SQL)

        found = await connection.fetchrow(
            "SELECT slug, anchor = account.created_at AS since_sign_up, version FROM account"
            " JOIN subscription ON subscription.account_id = account.id JOIN plan ON plan.id = plan_id"
            " JOIN account_slot ON account_slot.account_id = account.id"
        )
        assert tuple(found) == ("free", True, 0)
    finally:
        await connection.close()


A_SALE = """
    INSERT INTO checkout (account_id, kind, slug, billing, amount_cents, status)
    SELECT id, 'addon', 'automated-production', 'per_use', 499, $1 FROM account RETURNING id
"""

A_USE = """
    WITH owned AS (
        INSERT INTO account_addon (account_id, addon_id, billing_type)
        SELECT account.id, addon.id, 'per_use' FROM account, addon WHERE slug = 'automated-production' RETURNING id)
    INSERT INTO addon_use (run_id, account_addon_id, used_at) SELECT gen_random_uuid(), id, now() FROM owned
"""


@pytest.mark.parametrize(("sales", "charged"), [(["refunded"], 0), (["refunded", "paid", "paid"], 1)])
async def test_an_older_use_of_an_addon_is_assigned_to_a_purchase(
    empty_dsn: str, tmp_path: Path, sales: list[str], charged: int
) -> None:
    for file in SQL.glob("00[012]*_*.sql"):
        if file.name < "0028":
            shutil.copy(file, tmp_path)
    await migrate(empty_dsn, tmp_path)
    connection = await asyncpg.connect(empty_dsn)
    try:
        await connection.execute("INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com')")
        ids = [await connection.fetchval(A_SALE, status) for status in sales]
        await connection.execute(A_USE)

        await migrate(empty_dsn, SQL)

        assert await connection.fetchval("SELECT checkout_id FROM addon_use") == ids[charged]
    finally:
        await connection.close()


REWRITTEN = """
    WITH about AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        SELECT id, 'A book', 3, 2, '6x9', 'en' FROM account RETURNING id, account_id
    ), rewrite AS (
        INSERT INTO run (id, book_id, account_id, status, mode, total, started_at)
        SELECT gen_random_uuid(), id, account_id, $1, 'full', 3, '2026-01-01T12:00Z' FROM about RETURNING id, book_id)
    INSERT INTO chapter (book_id, chapter_number, title, content, target_word_count, updated_at, rewrite_run)
    SELECT book_id, n, 'A chapter', 'Text.', n - 1, '2026-01-01T12:00Z'::timestamptz + (2 - n) * interval '1 hour',
           CASE WHEN n = 3 THEN id END
      FROM rewrite, generate_series(1, 3) AS n
"""


@pytest.mark.parametrize(("status", "new"), [("stopped", [True, True, False]), ("completed", [False, False, False])])
async def test_chapters_of_an_older_rewrite_count_as_new_and_none_has_a_budget_of_zero_words(
    empty_dsn: str, tmp_path: Path, status: str, new: list[bool]
) -> None:
    for file in SQL.glob("00[0123]*_*.sql"):
        if file.name < "0033":
            shutil.copy(file, tmp_path)
    await migrate(empty_dsn, tmp_path)
    connection = await asyncpg.connect(empty_dsn)
    try:
        await connection.execute("INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com')")
        await connection.execute(REWRITTEN, status)

        await migrate(empty_dsn, SQL)

        rows = await connection.fetch("SELECT written_at, target_word_count FROM chapter ORDER BY chapter_number")
        assert [row["written_at"] is not None for row in rows] == new
        assert [row["target_word_count"] for row in rows] == [1, 1, 2]
    finally:
        await connection.close()


A_BOOK_OF_TWO_MODELS = """
    WITH about AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        SELECT id, 'A book', 3, 300, '6x9', 'en' FROM account RETURNING id, account_id
    ), outline AS (
        INSERT INTO chapter (book_id, chapter_number, title, content, target_word_count)
        SELECT id, n, 'A chapter', CASE WHEN n < 4 THEN 'Text.' ELSE '' END, 100 FROM about, generate_series(1, 4) AS n
        RETURNING id, chapter_number
    ), edited AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count)
        SELECT id, 'editor', 'Before.', 1 FROM outline WHERE chapter_number = 3
    ), run AS (
        INSERT INTO run (id, book_id, account_id, status, mode, total)
        SELECT gen_random_uuid(), id, account_id, 'running', 'full', 4 FROM about RETURNING id, book_id
    )
    INSERT INTO model_call (book_id, run_id, stage, chapter_number, call_id, model, images)
    SELECT book_id, id, stage, number, gen_random_uuid(), model, images
      FROM run, (VALUES ('illustration', 1, 'openai:painter', 1), ('chapter', 1, 'anthropic:a', 0),
                        ('digest', 1, 'anthropic:b', 0), ('chapter', 2, 'offline', 0), ('chapter', 3, 'offline', 0))
                AS call (stage, number, model, images)
"""


async def test_older_runs_and_texts_get_their_writers_from_the_ledger(empty_dsn: str, tmp_path: Path) -> None:
    for file in SQL.glob("00*_*.sql"):
        if file.name < "0032":
            shutil.copy(file, tmp_path)
    await migrate(empty_dsn, tmp_path)
    connection = await asyncpg.connect(empty_dsn)
    try:
        await connection.execute("INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com')")
        await connection.execute(A_BOOK_OF_TWO_MODELS)

        await migrate(empty_dsn, SQL)

        texts = await connection.fetch("SELECT writer FROM chapter ORDER BY chapter_number")
        assert [row["writer"] for row in texts] == ["anthropic:a", "offline", "", ""]
        assert await connection.fetchval("SELECT writer FROM run") == "anthropic:a"
    finally:
        await connection.close()


A_BOOK_WITH_PICTURES = """
    WITH about AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        SELECT id, 'A book', 1, 300, '6x9', 'en' FROM account RETURNING id
    ), outline AS (
        INSERT INTO chapter (book_id, chapter_number, title, content, target_word_count, writer)
        SELECT id, n, 'A chapter', 'Text.', 100, CASE n WHEN 1 THEN 'anthropic:a' ELSE '' END
          FROM about, generate_series(1, 2) AS n
        RETURNING id, chapter_number
    ), kept AS (
        INSERT INTO chapter_revision (chapter_id, origin, content, word_count, writer)
        SELECT o.id, 'editor', text, 1, CASE chapter_number WHEN 1 THEN 'anthropic:a' ELSE '' END
          FROM outline o, (VALUES ('First.'), ('Second.')) AS texts (text)
         ORDER BY text
    ), stored AS (
        INSERT INTO media (key, book_id, body, width, height)
        SELECT repeat(k, 32), id, '', 10, 10 FROM about, unnest('{a,b,c,d,e}'::text[]) AS k
    ), variants AS (
        INSERT INTO cover (book_id, style, image_key, thumbnail_key, width, height, design)
        SELECT id, '', repeat(image, 32), repeat(thumbnail, 32), 10, 10, design
          FROM about, (VALUES ('a', 'b', '{}'::jsonb), ('c', 'd', NULL)) AS v (image, thumbnail, design)
    )
    INSERT INTO model_call (book_id, stage, chapter_number, call_id, model, images)
    SELECT id, stage, number, gen_random_uuid(), model, images
      FROM about, (VALUES ('cover', NULL, 'offline', 1), ('cover', NULL, 'openai:painter', 1),
                          ('chapter', 2, 'anthropic:b', 0)) AS call (stage, number, model, images)
"""


async def test_older_texts_get_their_origin_from_the_ledger(empty_dsn: str, tmp_path: Path) -> None:
    for file in SQL.glob("00*_*.sql"):
        if file.name < "0038":
            shutil.copy(file, tmp_path)
    await migrate(empty_dsn, tmp_path)
    connection = await asyncpg.connect(empty_dsn)
    try:
        await connection.execute("INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com')")
        await connection.execute(A_BOOK_WITH_PICTURES)

        await migrate(empty_dsn, SQL)

        pictures = await connection.fetch("SELECT left(key, 1) AS key, source_type FROM media ORDER BY key")
        assert [tuple(row) for row in pictures] == [
            *((key, "algorithmicMedia") for key in "ab"),
            *((key, "compositeWithTrainedAlgorithmicMedia") for key in "cd"),
            ("e", "trainedAlgorithmicMedia"),
        ]
        texts = await connection.fetch(
            "SELECT r.content, r.writer, r.written_at IS NOT NULL AS whole FROM chapter_revision r"
            " JOIN chapter c ON c.id = r.chapter_id ORDER BY chapter_number, r.id"
        )
        assert [tuple(row) for row in texts] == [
            ("First.", "anthropic:a", True),
            ("Second.", "anthropic:a", False),
            ("First.", "anthropic:b", True),
            ("Second.", "", False),
        ]
    finally:
        await connection.close()
