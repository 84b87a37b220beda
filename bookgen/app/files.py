"""Builds the store for the files of books from the settings, and checks the store when the service starts."""

from __future__ import annotations

from functools import partial

import structlog

from bookgen.errors import FilesUnavailable, StartupError
from bookgen.files.cleanup import KeepTimes
from bookgen.files.keeping import MAKE_REACHABLE, Files
from bookgen.files.opened_places import Places, address_of
from bookgen.files.place import BucketAccess, FilesRefused
from bookgen.setting_types import seconds_of
from bookgen.settings import Config, reveal
from bookgen.store import stored_files
from bookgen.store.database import DB
from bookgen.store.exports import ExportLimits

MEGABYTE = 1_000_000

log = structlog.get_logger(__name__)


def build_files(config: Config) -> Files:
    """The store for the files of books. The setting BOOKGEN_FILES chooses the database, a folder or a bucket."""
    limits = ExportLimits(config.exports_per_book, config.exports_mb * MEGABYTE)
    return Files(build_places(config), address_of(config.files), limits)


def build_places(config: Config) -> Places:
    """Access to the folders and buckets in which files may be stored."""
    access = BucketAccess(
        config.s3_endpoint or "",
        config.aws_region,
        reveal(config.aws_access_key_id) or "",
        reveal(config.aws_secret_access_key) or "",
        reveal(config.aws_session_token) or "",
    )
    return Places(access)


def keep_times(config: Config) -> KeepTimes:
    return KeepTimes(
        export_seconds=seconds_of(config.exports_for) if config.exports_for else None,
        covers=config.covers_per_book,
        cover_seconds=seconds_of(config.covers_for) if config.covers_for else None,
    )


async def require_place(config: Config, files: Files, db: DB) -> None:
    """Raise StartupError if the place for new files is unusable. If it is only unreachable for now, log a warning."""
    try:
        await files.check_place(files.address, partial(stored_files.samples, db))
    except FilesRefused as error:
        raise StartupError(f"BOOKGEN_FILES={config.files} can't be used: {error.reason}") from error
    except FilesUnavailable as error:
        log.warning(
            "files_unreachable",
            place=files.address,
            reason=error.reason,
            to_do=MAKE_REACHABLE,
        )
