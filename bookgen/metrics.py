"""All Prometheus metrics. Labels take few values: never the id of a book, an account's name or an address."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from functools import cache

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Counter, Gauge, Histogram, generate_latest

__all__ = ["CONTENT_TYPE_LATEST", "exposition"]

MINUTES = (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3600)  # of chapters, in seconds
CALL_SECONDS = (0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640)
RENDER_SECONDS = (0.05, 0.2, 0.5, 1, 2, 5, 10, 20, 60)

# Requests and the event loop

ANSWERS = Counter("bookgen_http_requests_total", "HTTP responses.", ["method", "route", "status"])
ANSWER_TIMES = Histogram(
    "bookgen_http_request_seconds",
    "Time from a request's headers to its response.",
    ["route"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60),
)
REFUSED = Counter(
    "bookgen_http_rate_limited_total", "Requests refused because a rate limit was reached.", ["limit_class"]
)
OPEN_CONNECTIONS = Gauge("bookgen_http_open_connections", "Open client connections.")
CROWDED_OUT = Counter(
    "bookgen_http_crowded_out_total", "Connections refused because their IP address had too many open."
)
SIGN_INS_FAILED = Counter("bookgen_sign_ins_failed_total", "Refused sign-ins.", ["way"])
LOOP_LAG = Histogram(
    "bookgen_event_loop_lag_seconds",
    "Delay of the event loop, measured twenty times a second.",
    buckets=(0.001, 0.005, 0.02, 0.05, 0.1, 0.5, 1, 5, 20),
)
TASKS = Gauge("bookgen_event_loop_tasks", "Unfinished asyncio tasks.")

# Runs and chapters

RUNS = Gauge("bookgen_runs", "Queued, running and paused runs in the database, of all processes.", ["state"])
RUN_OLDEST_WAIT = Gauge(
    "bookgen_run_oldest_wait_seconds", "How long the run that has waited longest has been in its account's queue."
)
UNOWNED_RUNS = Gauge(
    "bookgen_runs_unowned", "Runs in the database that are marked as running, but that no live process works on."
)
WAITING_RUNS = Gauge(
    "bookgen_runs_waiting_for_model", "Runs that wait because this process does not have their model.", ["model"]
)
RUNS_ENDED = Counter(
    "bookgen_runs_ended_total", "Runs that this process ended, with the code of the failure.", ["state", "code"]
)
CHAPTERS_IN_WORK = Gauge("bookgen_chapters_in_work", "Chapters and other phases that this process is working on.")
CHAPTER_TIMES = Histogram(
    "bookgen_chapter_seconds", "Time to write a chapter, without the wait until it could begin.", buckets=MINUTES
)
WORDS = Counter("bookgen_words_written_total", "Words of finished chapters.")

# Models

CALLS = Counter(
    "bookgen_model_calls_total",
    "Attempts at model calls, by outcome. Each retry is an attempt.",
    ["provider", "model", "outcome"],
)
CALL_TIMES = Histogram(
    "bookgen_model_call_seconds", "Duration of an attempt at a model call.", ["provider", "model"],
    buckets=CALL_SECONDS,
)  # fmt: skip
CALL_WAITS = Histogram(
    "bookgen_model_wait_seconds", "How long an attempt waited because the provider's limit was reached.",
    ["provider", "model"], buckets=(0.1, *CALL_SECONDS),
)  # fmt: skip
CALLS_WAITING = Gauge(
    "bookgen_model_calls_waiting",
    "Model calls that wait because the provider's limit is reached.",
    ["provider", "model"],
)
TOKENS = Counter("bookgen_model_tokens_total", "Tokens, as reported by the providers.", ["provider", "model", "kind"])
IMAGES = Counter("bookgen_model_images_total", "Images that providers made.", ["provider", "model"])
COST = Counter(
    "bookgen_model_cost_total",
    "Cost of model calls, in the currency of the price table.",
    ["provider", "model", "currency"],
)
BREAKER_OPEN = Gauge(
    "bookgen_model_breaker_open",
    "1 while no calls are made because the provider has failed repeatedly.",
    ["provider", "model"],
)
MODEL_REFUSES = Gauge(
    "bookgen_model_refuses", "1 while the provider refuses calls because of the key or missing credit.", ["model"]
)
COST_CAPS_REACHED = Counter(
    "bookgen_cost_caps_reached_total", "Model calls that were not made because a cost cap was reached.", ["cap"]
)

# Mail

MAIL_QUEUED = Gauge("bookgen_mail_queued", "E-mails that wait in the database, counted up to 10,000.")
MAIL_OLDEST_WAIT = Gauge("bookgen_mail_oldest_wait_seconds", "How long the oldest of these e-mails has waited.")
MAIL_SENT = Counter("bookgen_mail_sent_total", "E-mails that the mail server accepted.")
MAIL_FAILURES = Counter("bookgen_mail_failures_total", "Failed attempts to send an e-mail.", ["reason"])
MAIL_FAILING = Gauge(
    "bookgen_mail_failing", "1 for the reason of the last failure, until an e-mail is sent.", ["reason"]
)

# Files

EXPORTS = Counter("bookgen_exports_total", "Exports, by outcome.", ["format", "outcome"])
EXPORT_TIMES = Histogram(
    "bookgen_export_seconds",
    "Time to make an export, including the wait for a worker.",
    ["format"],
    buckets=RENDER_SECONDS,
)
RENDER_WORKERS = Gauge("bookgen_render_workers", "Worker processes that make exports, covers and previews.", ["state"])
RENDER_WAITING = Gauge("bookgen_render_jobs_waiting", "Jobs that wait for one of these workers.")

# The database, the disk, the lease

DATABASE_UP = Gauge("bookgen_database_up", "1 while the database answers.")
CONNECTIONS_IN_USE = Gauge("bookgen_database_connections_in_use", "Database connections in use.", ["pool"])
CONNECTIONS_MAX = Gauge(
    "bookgen_database_connections_max", "The most database connections that the pool may open.", ["pool"]
)
CONNECTION_WAITERS = Gauge(
    "bookgen_database_connection_waiters", "Operations that wait for a database connection.", ["pool"]
)
DISK_FREE = Gauge("bookgen_disk_free_bytes", "Free space on the disk of the data folder.")
DISK_SIZE = Gauge("bookgen_disk_size_bytes", "Size of the disk of the data folder.")
DISK_READ_ONLY = Gauge("bookgen_read_only", "1 while the disk is almost full, so that nothing new is stored.")
LEASE_HELD = Gauge("bookgen_lease_held", "1 while this process has its lease. Without it, the process writes no books.")
LEASE_LEFT = Gauge("bookgen_lease_remaining_seconds", "Time until this process's lease ends unless it is renewed.")
PROCESSES = Gauge("bookgen_processes", "Live processes on the database, including this one.")
WORKING_PROCESSES = Gauge("bookgen_processes_taking_work", "Live processes on the database that write books.")

# Backups

BACKUP_AGE = Gauge(
    "bookgen_backup_age_seconds", "Age of the newest backup that was restored as a test; +Inf if there is none."
)
BACKUP_MISSING = Gauge("bookgen_backup_missing_pictures", "Stored pictures that are missing in that backup.")
BACKUPS = Counter(
    "bookgen_backups_total", "Scheduled backups made by this process: ok, incomplete or failed.", ["outcome"]
)

# Caches, because finding a labelled counter takes longer than counting. There are few combinations of labels.
answers = cache(ANSWERS.labels)
answer_times = cache(ANSWER_TIMES.labels)


def start_at_zero(counted: Counter | Histogram, *values: Iterable[str]) -> None:
    """Expose the metric at 0 for every combination of label values, one iterable of values for each label.

    Prometheus does not see the first increase of a series that appears with it.
    """
    for labels in itertools.product(*values):
        counted.labels(*labels)


start_at_zero(BACKUPS, ("ok", "incomplete", "failed"))


def exposition() -> bytes:
    """All metrics in Prometheus' text format. Call it on the event loop."""
    TASKS.set(len(asyncio.all_tasks()))
    return generate_latest(REGISTRY)
