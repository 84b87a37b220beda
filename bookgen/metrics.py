"""All Prometheus metrics. A label has few possible values: never the id of a book, an account's name or an address."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from functools import cache

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Counter, Gauge, Histogram, generate_latest

__all__ = ["CONTENT_TYPE_LATEST", "exposition"]

CHAPTER_SECONDS = (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3600)
CALL_SECONDS = (0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640)
RENDER_SECONDS = (0.05, 0.2, 0.5, 1, 2, 5, 10, 20, 60)

# Requests and the event loop

ANSWERS = Counter(
    "bookgen_http_requests_total",
    "HTTP requests that were answered. Requests to unknown paths are counted with the route (none).",
    ["method", "route", "status"],
)
ANSWER_TIMES = Histogram(
    "bookgen_http_request_seconds",
    "Seconds from the arrival of an HTTP request's headers to its answer.",
    ["route"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60),
)
REFUSED = Counter(
    "bookgen_http_rate_limited_total",
    "Requests refused with 429 because the caller exceeded a rate limit (BOOKGEN_RATE_ settings).",
    ["limit_class"],
)
OPEN_CONNECTIONS = Gauge("bookgen_http_open_connections", "Client connections that are open now.")
CROWDED_OUT = Counter(
    "bookgen_http_crowded_out_total", "Client connections closed at once because their IP address had too many open."
)
SIGN_INS_FAILED = Counter(
    "bookgen_sign_ins_failed_total", "Refused sign-ins, by method: password, google or link (from an e-mail).", ["way"]
)
LOOP_LAG = Histogram(
    "bookgen_event_loop_lag_seconds",
    "Seconds by which the event loop is late, measured 20 times a second. Every request waits that long.",
    buckets=(0.001, 0.005, 0.02, 0.05, 0.1, 0.5, 1, 5, 20),
)
TASKS = Gauge("bookgen_event_loop_tasks", "asyncio tasks in progress.")

# Runs and chapters

RUNS = Gauge("bookgen_runs", "Active runs in the database: queued, running or paused.", ["state"])
RUN_OLDEST_WAIT = Gauge(
    "bookgen_run_oldest_wait_seconds",
    "How many seconds the oldest queued run in the database has waited for other runs of its account.",
)
UNOWNED_RUNS = Gauge(
    "bookgen_runs_unowned",
    "Runs in the database with the state running that no live process works on. If there are any for more than a "
    "minute, no process can continue them.",
)
WAITING_RUNS = Gauge(
    "bookgen_runs_waiting_for_model",
    "Runs in the database that wait because this process does not have their model.",
    ["model"],
)
RUNS_ENDED = Counter(
    "bookgen_runs_ended_total",
    "Runs that this process ended: completed, stopped or error. The code says why a run failed.",
    ["state", "code"],
)
CHAPTERS_IN_WORK = Gauge(
    "bookgen_chapters_in_work",
    "Chapters and other steps of runs (such as a cover) in progress, or waiting for their turn.",
)
CHAPTER_TIMES = Histogram(
    "bookgen_chapter_seconds",
    "Seconds to write a chapter and its illustration, not counting the wait for its turn.",
    buckets=CHAPTER_SECONDS,
)
WORDS = Counter("bookgen_words_written_total", "Words of the chapters that this process finished.")

# Models

CALLS = Counter(
    "bookgen_model_calls_total",
    "Tries of model calls, by outcome: ok, refused (by the model), or the reason why there is no reply.",
    ["provider", "model", "outcome"],
)
CALL_TIMES = Histogram(
    "bookgen_model_call_seconds", "Seconds that one try of a model call took.", ["provider", "model"],
    buckets=CALL_SECONDS,
)  # fmt: skip
CALL_WAITS = Histogram(
    "bookgen_model_wait_seconds", "Seconds that a model call waited for its turn at the provider before a try.",
    ["provider", "model"], buckets=(0.1, *CALL_SECONDS),
)  # fmt: skip
CALLS_WAITING = Gauge(
    "bookgen_model_calls_waiting",
    "Model calls that wait for their turn, for the next try or for the end of an outage.",
    ["provider", "model"],
)
TOKENS = Counter(
    "bookgen_model_tokens_total",
    "Tokens of model calls, by kind: input, output, cache_write or cache_read.",
    ["provider", "model", "kind"],
)
IMAGES = Counter("bookgen_model_images_total", "Images that a model painted.", ["provider", "model"])
COST = Counter(
    "bookgen_model_cost_total",
    "Cost of all model calls, in units of the currency (dollars, not cents). Calls without a price are left out.",
    ["provider", "model", "currency"],
)
BREAKER_OPEN = Gauge(
    "bookgen_model_breaker_open",
    "1 while the model gets only single test calls, because it failed repeatedly.",
    ["provider", "model"],
)
MODEL_REFUSES = Gauge(
    "bookgen_model_refuses",
    "1 while the model's provider refuses this server's key or has no credit left for it.",
    ["model"],
)
COST_CAPS_REACHED = Counter(
    "bookgen_cost_caps_reached_total",
    "Model calls that were not made because of a cost cap: book, account_day or day (the whole server).",
    ["cap"],
)

# Mail

MAIL_QUEUED = Gauge("bookgen_mail_queued", "E-mails in the database that wait to be sent, counted up to 10,000.")
MAIL_OLDEST_WAIT = Gauge(
    "bookgen_mail_oldest_wait_seconds",
    "How many seconds the oldest unsent e-mail in the database has waited; 0 if there is none.",
)
MAIL_SENT = Counter("bookgen_mail_sent_total", "E-mails that the mail server accepted.")
MAIL_FAILURES = Counter(
    "bookgen_mail_failures_total",
    "Failed tries to send an e-mail, by reason: connection, login, recipient, refused, disk or other.",
    ["reason"],
)
MAIL_FAILING = Gauge(
    "bookgen_mail_failing", "1 for the reason why the last try to send an e-mail failed, until one is sent.", ["reason"]
)

# Files

EXPORTS = Counter(
    "bookgen_exports_total",
    "Attempts to make a file for an export or a preview, by result: ok, timeout or failed.",
    ["format", "outcome"],
)
EXPORT_TIMES = Histogram(
    "bookgen_export_seconds",
    "Seconds to make a file, including its wait for a worker process.",
    ["format"],
    buckets=RENDER_SECONDS,
)
RENDER_WORKERS = Gauge("bookgen_render_workers", "Worker processes that make files: busy or idle.", ["state"])
RENDER_WAITING = Gauge("bookgen_render_jobs_waiting", "Files that wait for a worker process.")

# The database, the disk, the lease

DATABASE_UP = Gauge("bookgen_database_up", "1 while the database answers within two seconds.")
CONNECTIONS_IN_USE = Gauge(
    "bookgen_database_connections_in_use",
    "Database connections in use, by pool: http (requests), runs or lease.",
    ["pool"],
)
CONNECTIONS_MAX = Gauge(
    "bookgen_database_connections_max",
    "Database connections that the pool may open (BOOKGEN_HTTP_POOL, BOOKGEN_DATABASE_POOL).",
    ["pool"],
)
CONNECTION_WAITERS = Gauge(
    "bookgen_database_connection_waiters",
    "Requests or runs that wait because all connections of the pool are in use.",
    ["pool"],
)
DISK_FREE = Gauge("bookgen_disk_free_bytes", "Free bytes on the disk of the data folder.")
DISK_SIZE = Gauge("bookgen_disk_size_bytes", "Size in bytes of the disk of the data folder.")
DISK_READ_ONLY = Gauge(
    "bookgen_read_only", "1 while the disk of the data folder is almost full, so that nothing new is stored."
)
LEASE_HELD = Gauge(
    "bookgen_lease_held",
    "1 while this process has its lease (a claim that it renews). Without a lease it writes no books.",
)
LEASE_LEFT = Gauge("bookgen_lease_remaining_seconds", "Seconds until this process's lease ends unless it is renewed.")
PROCESSES = Gauge(
    "bookgen_processes", "Live processes of the service that are registered in the database, including this one."
)
WORKING_PROCESSES = Gauge(
    "bookgen_processes_taking_work",
    "Live processes registered in the database that write books. If 0, no process writes: all books wait.",
)

# Backups

BACKUP_AGE = Gauge(
    "bookgen_backup_age_seconds",
    "Age in seconds of the newest backup that passed its drill (a trial restore), as recorded in the database. +Inf if "
    "there is none.",
)
BACKUP_MISSING = Gauge(
    "bookgen_backup_missing_pictures",
    "Pictures that are missing from the newest backup that passed its drill, as recorded in the database.",
)
BACKUPS = Counter(
    "bookgen_backups_total",
    "Scheduled backups of this process: ok, incomplete (pictures are missing) or failed.",
    ["outcome"],
)

# Caches, because finding a labelled counter takes longer than counting. There are few combinations of labels.
answers = cache(ANSWERS.labels)
answer_times = cache(ANSWER_TIMES.labels)


def start_at_zero(counted: Counter | Histogram, *values: Iterable[str]) -> None:
    """Expose the metric at 0 for every combination of label values. `values`: for each label, all its values.

    Otherwise a series would first appear with the value 1, which Prometheus does not count as an increase.
    """
    for labels in itertools.product(*values):
        counted.labels(*labels)


start_at_zero(BACKUPS, ("ok", "incomplete", "failed"))


def exposition() -> bytes:
    """All metrics in the text format of Prometheus. Call this on the event loop, because it counts the loop's tasks."""
    TASKS.set(len(asyncio.all_tasks()))
    return generate_latest(REGISTRY)
