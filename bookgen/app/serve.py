"""`bookgen serve`: runs the service from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import sys
from asyncio.subprocess import DEVNULL, PIPE
from typing import Unpack

import structlog

from bookgen import logs, metrics, threads
from bookgen.app.announcement import announcement
from bookgen.app.build import Overrides, build, running
from bookgen.errors import StartupError, Unavailable
from bookgen.http.application import build_app, build_probes
from bookgen.http.edge import listening
from bookgen.http.edge.connection import BoundedRunner
from bookgen.http.edge.watchdog import Watchdog
from bookgen.render.fonts import missing
from bookgen.settings import Config
from bookgen.store.postgres.space import make_data_folder, no_room

# How long a computing thread may hold the interpreter before the event loop gets it.
SWITCH_SECONDS = 0.001
# New objects that trigger a garbage collection. With Python's default of 700, collections took a ninth of the time when
# a process takes over a thousand books at once.
OBJECTS_A_COLLECTION = 10_000
# Slow imports that the start does not need. They are imported after it, so that no request waits for them.
LATER = ("email_validator", "disposable_email_domains", "markdown_it", "json_repair")


log = structlog.get_logger(__name__)


async def serve(config: Config, **overrides: Unpack[Overrides]) -> None:
    """Run the service until SIGTERM or SIGINT. Raises StartupError only before the first request is answered."""
    logs.configure_logs(config.log_format or ("console" if sys.stderr.isatty() else "json"), config.log_level)
    make_data_folder(config.data_dir)
    listening.allow_open_files()
    async with contextlib.AsyncExitStack() as closing:
        await closing.enter_async_context(Watchdog(metrics.LOOP_LAG.observe).watching())
        bound = closing.enter_context(listening.bind(config.host, config.port))
        address = listening.address(bound)
        if config.public_url is None and config.role != "actors" and listening.is_everywhere(bound):
            log.warning(
                "links_lead_nowhere",
                what=f"Links in e-mails begin with {address}, which does not work on other machines.",
                to_do="Set BOOKGEN_PUBLIC_URL to the address at which users reach the service.",
            )
        config = config.model_copy(update={"public_url": config.public_url or address})
        try:
            service = await closing.enter_async_context(build(config, **overrides))
        except (StartupError, Unavailable) as error:
            full = None if config.database_url else no_room(config.data_dir)
            if full:
                raise StartupError(full) from error
            raise
        build_http = build_app if service.role.answers_requests else build_probes
        runner = BoundedRunner(build_http(service.services))
        closing.push_async_callback(runner.cleanup)
        await listening.listen(runner, bound)
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # objects alive now stay alive, so the collector can skip them
        gc.set_threshold(OBJECTS_A_COLLECTION)
        await closing.enter_async_context(service.working())
        stop = closing.enter_context(listening.StopSignal().listening())
        print(announcement(config, address, service.model), flush=True)
        closing.enter_context(running(import_the_rest()))
        closing.enter_context(running(warn_of_missing_fonts()))
        await stop.requested.wait()
        log.info("draining", seconds=config.drain_seconds)
        await listening.drain(service.supervisor.drain, config.drain_seconds, stop.forced)


async def warn_of_missing_fonts() -> None:
    """Log a warning that lists the languages for which this machine has no font, and the fonts to install."""
    looking = await asyncio.create_subprocess_exec(
        sys.executable, "-m", missing.__name__, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
    )
    try:
        found, _ = await looking.communicate()
    except asyncio.CancelledError:
        looking.kill()
        await looking.wait()
        raise
    if tags := found.decode().split():
        log.warning(
            "fonts_missing",
            what=f"No font for {', '.join(tags)}: PDFs and covers in these languages are refused.",
            to_do=f"Install fonts, on Debian and Ubuntu: {missing.to_install(tags)}",
        )


async def import_the_rest() -> None:
    """Import the slow modules in LATER. This happens in a thread, so that requests are answered meanwhile."""
    for name in LATER:
        await threads.compute(importlib.import_module, name)
