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

ANSWERS = Counter("bookgen_http_requests_total", "Answers of the API.", ["method", "route", "status"])
ANSWER_TIMES = Histogram(
    "bookgen_http_request_seconds",
    "Time from a request's headers to its answer.",
    ["route"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60),
)
REFUSED = Counter("bookgen_http_rate_limited_total", "Requests over their budget.", ["limit_class"])
OPEN_CONNECTIONS = Gauge("bookgen_http_open_connections", "Connections that are open.")
CROWDED_OUT = Counter("bookgen_http_crowded_out_total", "Connections over what one address may have open.")
SIGN_INS_FAILED = Counter("bookgen_sign_ins_failed_total", "Sign-ins that were refused.", ["way"])
LOOP_LAG = Histogram(
    "bookgen_event_loop_lag_seconds",
    "Delay of the event loop, measured twenty times a second.",
    buckets=(0.001, 0.005, 0.02, 0.05, 0.1, 0.5, 1, 5, 20),
)
TASKS = Gauge("bookgen_event_loop_tasks", "Tasks that have not ended.")

# Runs and chapters

RUNS = Gauge("bookgen_runs", "Active runs in the database, of all processes.", ["state"])
RUN_OLDEST_WAIT = Gauge(
    "bookgen_run_oldest_wait_seconds", "How long the longest waiting run has been in its account's queue."
)
UNOWNED_RUNS = Gauge("bookgen_runs_unowned", "Running runs in the database that no living process writes.")
WAITING_RUNS = Gauge("bookgen_runs_waiting_for_model", "Runs whose model this process does not have.", ["model"])
RUNS_ENDED = Counter(
    "bookgen_runs_ended_total", "Runs that this process ended, with the code of the failure.", ["state", "code"]
)
CHAPTERS_IN_WORK = Gauge("bookgen_chapters_in_work", "Chapters and other phases that this process is working on.")
CHAPTER_TIMES = Histogram(
    "bookgen_chapter_seconds", "Time to write a chapter, from its place at the model to its text.", buckets=MINUTES
)
WORDS = Counter("bookgen_words_written_total", "Words of finished chapters.")

# Models

CALLS = Counter(
    "bookgen_model_calls_total", "Tries of model calls, by what became of them.", ["provider", "model", "outcome"]
)
CALL_TIMES = Histogram(
    "bookgen_model_call_seconds", "Time of a try, from its request to its end.", ["provider", "model"],
    buckets=CALL_SECONDS,
)  # fmt: skip
CALL_WAITS = Histogram(
    "bookgen_model_wait_seconds", "Time that a call waited for its turn at the provider before a try.",
    ["provider", "model"], buckets=(0.1, *CALL_SECONDS),
)  # fmt: skip
CALLS_WAITING = Gauge("bookgen_model_calls_waiting", "Calls that wait for their provider.", ["provider", "model"])
TOKENS = Counter("bookgen_model_tokens_total", "Tokens that providers reported.", ["provider", "model", "kind"])
IMAGES = Counter("bookgen_model_images_total", "Images that providers made.", ["provider", "model"])
COST = Counter(
    "bookgen_model_cost_total",
    "Price of all calls, in the currency of the price table.",
    ["provider", "model", "currency"],
)
BREAKER_OPEN = Gauge(
    "bookgen_model_breaker_open",
    "1 while calls are held back because the provider failed repeatedly.",
    ["provider", "model"],
)
MODEL_REFUSES = Gauge(
    "bookgen_model_refuses", "1 while the model's provider refuses this server's key or credit.", ["model"]
)
COST_CAPS_REACHED = Counter("bookgen_cost_caps_reached_total", "Model calls that a cost cap refused.", ["cap"])

# Mail

MAIL_QUEUED = Gauge("bookgen_mail_queued", "Letters in the database that wait, counted up to 10,000.")
MAIL_OLDEST_WAIT = Gauge("bookgen_mail_oldest_wait_seconds", "How long the oldest letter has been waiting.")
MAIL_SENT = Counter("bookgen_mail_sent_total", "Letters that the mail server accepted.")
MAIL_FAILURES = Counter("bookgen_mail_failures_total", "Letters that could not be sent.", ["reason"])
MAIL_FAILING = Gauge(
    "bookgen_mail_failing", "1 for the reason of the last failure, until a letter is sent again.", ["reason"]
)

# Files

EXPORTS = Counter("bookgen_exports_total", "Files that were made for an export.", ["format", "outcome"])
EXPORT_TIMES = Histogram(
    "bookgen_export_seconds", "Time to make a file, with its wait for a worker.", ["format"], buckets=RENDER_SECONDS
)
RENDER_WORKERS = Gauge("bookgen_render_workers", "Worker processes that make files.", ["state"])
RENDER_WAITING = Gauge("bookgen_render_jobs_waiting", "Jobs that wait for a worker process.")

# The database, the disk, the lease

DATABASE_UP = Gauge("bookgen_database_up", "1 while the database answers.")
CONNECTIONS_IN_USE = Gauge("bookgen_database_connections_in_use", "Connections that are lent.", ["pool"])
CONNECTIONS_MAX = Gauge("bookgen_database_connections_max", "Connections that the pool may open.", ["pool"])
CONNECTION_WAITERS = Gauge("bookgen_database_connection_waiters", "Callers that wait for a connection.", ["pool"])
DISK_FREE = Gauge("bookgen_disk_free_bytes", "Free space where the data folder is.")
DISK_SIZE = Gauge("bookgen_disk_size_bytes", "Size of the file system where the data folder is.")
DISK_READ_ONLY = Gauge("bookgen_read_only", "1 while the disk is almost full and nothing new is stored.")
LEASE_HELD = Gauge("bookgen_lease_held", "1 while this process has its lease.")
LEASE_LEFT = Gauge("bookgen_lease_remaining_seconds", "Time until this process's lease ends unless it is renewed.")
PROCESSES = Gauge("bookgen_processes", "Living processes on the database, this one included.")
WORKING_PROCESSES = Gauge("bookgen_processes_taking_work", "Living processes on the database that write books.")

# Backups

BACKUP_AGE = Gauge(
    "bookgen_backup_age_seconds", "Age of the newest backup that was restored in a drill; +Inf if there is none."
)
BACKUP_MISSING = Gauge("bookgen_backup_missing_pictures", "Stored pictures that the newest drilled backup lacks.")
BACKUPS = Counter("bookgen_backups_total", "Scheduled backups of this process: ok, incomplete or failed.", ["outcome"])

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
