"""What the prompts of a book of 100,000 words cost, with earlier chapters in view and with digests only.

python -m bench.economics

The prompts come from the real prompt builder, the author is a script, and the prices come from the price table. A token
is four characters, for input and output. No network.

Each token in view is written to the provider's cache once, for a quarter of the output price, and read by every later
call, for a hundredth of it. So n chapters in n calls cost at least 1.25 + n / 200 times the price of their output: 1.38
for 25 chapters, without any task or note.
"""

from __future__ import annotations

import asyncio
import sys

from bench.economics.calls import PricedCalls
from bookgen import logs
from bookgen.providers.prices import prices
from bookgen.writing.window import WINDOW
from tests.writing.authored import write_book
from tests.writing.scripted import some_material

WORDS = 100_000
CHAPTERS = (10, 25, 33, 50)
MAX_RATIO, MIN_CACHED_SHARE = 1.35, 0.85
COLUMNS = (
    "model",
    "chapters",
    "earlier chapters",
    "output",
    "uncached",
    "written",
    "read",
    "total ÷ output",
    "cached",
    "",
)


async def row(model: str, chapters: int, context_tokens: int) -> tuple[str, bool]:
    price = prices().of(model)
    if price is None:
        raise LookupError(model)
    calls = PricedCalls(model.partition(":")[0], price)
    material = some_material(
        chapters, words=WORDS // chapters, description="A keeper looks for who put her lamp out. " * 9
    )
    await write_book(material, calls, context_tokens)
    kept = calls.ratio <= MAX_RATIO and calls.cached_share >= MIN_CACHED_SHARE
    amounts = " | ".join(f"{amount / 1e12:.3f}" for amount in (calls.output, calls.uncached, calls.written, calls.read))
    how = "by digests" if context_tokens <= WINDOW else f"in view, {calls.largest:,} tokens at most"
    verdict = "kept" if kept else "MISSED"
    return (
        f"| {model} | {chapters} | {how} | {amounts} | {calls.ratio:.2f} | {calls.cached_share:.0%} | {verdict} |",
        kept,
    )


async def main() -> int:
    logs.configure_logs("console", "critical")
    known = prices()
    print(f"A book of {WORDS:,} words; amounts in {known.currency}. Bar: total <= {MAX_RATIO} x output, ", end="")
    print(f"cached share >= {MIN_CACHED_SHARE:.0%}.\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    all_kept = True
    for provider, default in known.defaults.items():
        model = f"{provider}:{default}"
        for chapters in CHAPTERS:
            for context_tokens in (WINDOW, known.context_window(model) or WINDOW):
                line, kept = await row(model, chapters, context_tokens)
                print(line, flush=True)
                all_kept = all_kept and (kept or context_tokens == WINDOW)
    return 0 if all_kept else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
