"""The nouns of the service: frozen dataclasses, enums and the pure rules between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

SAMPLE_WRITER = "offline"  # the name of the model that writes sample text


class BookStatus(StrEnum):
    DRAFT = "draft"
    OUTLINE = "outline"
    GENERATING = "generating"
    COMPLETED = "completed"


class BookKind(StrEnum):
    """What a book is written and laid out as. The chapters of a children's book are spreads."""

    PROSE = "prose"
    CHILDRENS = "childrens"


class AgeRange(StrEnum):
    """The years of those that a children's book is for."""

    TODDLERS = "0-3"
    PRESCHOOLERS = "3-5"
    FIRST_READERS = "6-8"
    READERS = "9-12"


class ChapterStatus(StrEnum):
    PENDING = "pending"
    WRITING = "writing"
    COMPLETED = "completed"
    ERROR = "error"


class RunStatus(StrEnum):
    """The stored state of a run. `queued` is shown to callers as `running`."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    COMPLETED = "completed"
    ERROR = "error"

    @property
    def active(self) -> bool:
        return self in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)


class RunMode(StrEnum):
    FULL = "full"
    CONTINUE = "continue"
    AUTOMATED = "automated"


class RunPhase(StrEnum):
    """What a run is at, in order. Only a production has other phases than its chapters."""

    OUTLINE = "outline"
    CHAPTERS = "chapters"
    PROOFREADING = "proofreading"
    CORRECTIONS = "corrections"
    BLURB = "blurb"
    COVER = "cover"
    FILES = "files"


class FundingSource(StrEnum):
    SUBSCRIPTION = "subscription"
    CREDITS = "credits"


class RevisionOrigin(StrEnum):
    """Who replaced a chapter's former text."""

    EDITOR = "editor"
    MODEL = "model"
    REGENERATE = "regenerate"
    RESTORE = "restore"
    PROOFREADING = "proofreading"
    QUALITY_GATE = "quality_gate"  # the model's own text, before the quality gate changed a passage of it


class SourceType(StrEnum):
    """How content was made: a term of the IPTC vocabulary "Digital Source Type"."""

    MODEL = "trainedAlgorithmicMedia"  # a generative model made all of it
    PARTLY_MODEL = "compositeWithTrainedAlgorithmicMedia"  # a generative model made some of it
    DRAWN = "algorithmicMedia"  # an algorithm without training data: our cover designs, sample text

    @property
    def uri(self) -> str:
        return f"http://cv.iptc.org/newscodes/digitalsourcetype/{self.value}"


class SuggestionType(StrEnum):
    """What a proofreading suggestion is about."""

    SPELLING = "spelling"
    GRAMMAR = "grammar"
    PUNCTUATION = "punctuation"
    STYLE = "style"
    CLARITY = "clarity"
    CONSISTENCY = "consistency"
    CONTINUITY = "continuity"


class Severity(StrEnum):
    """How much a suggestion matters, the worst first."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    INFO = "info"


class SuggestionStatus(StrEnum):
    """A stale suggestion's text is no longer where it was found."""

    PENDING = "pending"
    APPLIED = "applied"
    DISMISSED = "dismissed"
    STALE = "stale"


class ReportStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    ERROR = "error"


class LinkPurpose(StrEnum):
    """What a mailed one-time link is good for; also the name of its page."""

    VERIFY_EMAIL = "verify-email"
    RESET_PASSWORD = "reset-password"
    MAGIC_LOGIN = "magic-login"
    UNDO_EMAIL = "undo-email"


class Notice(StrEnum):
    """What a letter without a link tells of."""

    RECEIPT = "receipt"
    PASSWORD_CHANGED = "password-changed"
    GOOGLE_LINKED = "google-linked"
    NEW_SIGN_IN = "new-sign-in"


@dataclass(frozen=True, slots=True)
class Letter:
    """`message_id` is the same for every attempt, so that a mailbox can drop a repeated one."""

    recipient: str
    subject: str
    text: str
    html: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Account:
    id: int
    username: str
    email: str
    first_name: str
    last_name: str
    email_verified: bool
    avatar_url: str | None
    is_staff: bool
    is_superuser: bool
    blocked: bool
    created_at: datetime
    tokens_valid_from: datetime
    pending_email: str | None = None

    @property
    def author_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.username


MAX_BLURB_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Book:
    """`description` is the author's idea, which is never printed; `blurb` is what readers are told.

    `age_range`, `theme` and `characters` (name and description of each) are those of a children's book.
    `character_sheet_key` is that of its hero's picture, which every other picture goes by.
    """

    id: int
    account_id: int
    title: str
    subtitle: str
    author_name: str
    genre: str
    target_audience: str
    description: str
    style_notes: str
    chapter_count: int
    target_word_count: int
    trim_size: str
    content_language: str
    status: BookStatus
    bible: Mapping[str, Any]
    funding_source: FundingSource | None
    created_at: datetime
    updated_at: datetime
    blurb: str = ""
    kind: BookKind = BookKind.PROSE
    age_range: AgeRange | None = None
    theme: str = ""
    characters: Sequence[Mapping[str, str]] = ()
    character_sheet_key: str | None = None


@dataclass(frozen=True, slots=True)
class Chapter:
    """`content` is Markdown, empty until written; `content_version` grows with every overwrite.

    `rewrite_run` is the run that will replace the content, where the reader asked for it. `written_at` is when the
    model wrote the content; None when it did not, or when that is not known. `writer` is the model that wrote the
    content; empty for an author's text.
    """

    id: int
    book_id: int
    chapter_number: int
    title: str
    summary: str
    content: str
    word_count: int
    target_word_count: int
    status: ChapterStatus
    content_version: int
    created_at: datetime
    updated_at: datetime
    rewrite_run: UUID | None = None
    written_at: datetime | None = None
    writer: str = ""

    @property
    def is_sample(self) -> bool:
        """Whether the content is sample text, which no language model wrote."""
        return self.writer == SAMPLE_WRITER


@dataclass(frozen=True, slots=True)
class Cover:
    """A variant of a book's cover, in pixels. The keys are those of its media; `design` draws it in any other size."""

    id: int
    book_id: int
    style: str
    prompt: str
    image_key: str
    thumbnail_key: str
    width: int
    height: int
    is_selected: bool
    created_at: datetime
    design: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Illustration:
    """A chapter's picture, in pixels; `position` is how many of the chapter's paragraphs stand before it."""

    id: int
    chapter_id: int
    caption: str
    alt_text: str
    prompt: str
    image_key: str
    position: int
    width: int
    height: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Run:
    """One run over a book's chapters. `epoch` fences its owner, `call_no` its chapter in flight.

    `done` of `total` chapters need no writing any more; `written` of them this run wrote itself.
    `call_started_at` is set while a chapter is being written, or the work of another phase is done, also when the run
    was paused meanwhile. `remark` says what was left out. `draft_words` are the words of the stored parts of
    `current_chapter`, as long as it is not finished. `writer` is the model that writes the run; None before its first
    call.
    """

    id: UUID
    book_id: int
    account_id: int
    status: RunStatus
    mode: RunMode
    total: int
    done: int
    call_no: int
    epoch: int
    owner: UUID | None
    crash_count: int
    queue_seq: int
    current_chapter: int | None
    words_written: int
    failure: Mapping[str, Any] | None
    last_op: UUID | None
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    written: int = 0
    writing_seconds: float = 0.0
    call_started_at: datetime | None = None
    phase: RunPhase = RunPhase.CHAPTERS
    remark: str = ""
    draft_words: int = 0
    writer: str | None = None

    @property
    def keeps_writer(self) -> bool:
        """Whether a real model writes it: sample text may be continued by any model."""
        return self.writer not in (None, SAMPLE_WRITER)

    @property
    def waits_for_writer(self) -> bool:
        """Whether it waits for a process that has its model: it is running, and no process has it."""
        return (
            self.status is RunStatus.RUNNING
            and self.owner is None
            and self.call_started_at is None
            and self.keeps_writer
        )


@dataclass(frozen=True, slots=True)
class Unread:
    """A chapter that the model has not read, or not the `whole` of: it `refused`, or its replies were of no use."""

    chapter_number: int
    refused: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Report:
    """A proofreading report of some chapters, `done` of which are read.

    The counts are of all its suggestions, whatever became of them. `unread`: what the rules alone have read.
    """

    id: int
    book_id: int
    status: ReportStatus
    chapters: int
    done: int
    by_type: Mapping[str, int]
    by_severity: Mapping[str, int]
    unread: Sequence[Unread]
    failure: Mapping[str, Any] | None
    created_at: datetime
    completed_at: datetime | None

    @property
    def progress(self) -> int:
        """0 to 100."""
        return 100 if self.status is ReportStatus.COMPLETED else 100 * self.done // max(self.chapters, 1)


# What may be applied without its author's looking at it; `writing.proofreading.correction.honest` sees to their size.
SAFE = (SuggestionType.SPELLING, SuggestionType.PUNCTUATION)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A correction of a report. The offsets count characters of the content that has `content_version`.

    `prefix` and `suffix` are what stood before and after it there. `source`: the rule, checker or model that made it.
    """

    id: int
    report_id: int
    chapter_id: int
    chapter_number: int
    type: SuggestionType
    severity: Severity
    original_text: str
    suggested_text: str
    explanation: str
    start_offset: int
    end_offset: int
    prefix: str
    suffix: str
    content_version: int
    fingerprint: str
    status: SuggestionStatus
    source: str

    @property
    def safe(self) -> bool:
        return self.type in SAFE


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls used. `cost_micros` counts only calls with a known price; `unknown_price`
    says that at least one call had none."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    images: int = 0
    cost_micros: int = 0
    unknown_price: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.images + other.images,
            self.cost_micros + other.cost_micros,
            self.unknown_price or other.unknown_price,
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a full run takes. `cost_micros` is None when the model's price is not known."""

    cost_micros: int | None
    seconds: int
    calls: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Digest:
    """What later chapters must know of a finished one. Keyed by the hash of the text it was read from."""

    chapter_number: int
    content_hash: str
    summary: str
    facts: tuple[str, ...] = ()
    threads_opened: tuple[str, ...] = ()
    threads_closed: tuple[str, ...] = ()


class Allowance(StrEnum):
    """What a plan gives so many of in a period. The value is the `quota_type` that callers see."""

    BOOKS = "books"
    AI_IMAGES = "ai_images"
    AI_EDITS = "ai_edits"
    PROOFREADING_CHECKS = "proofreading_checks"


class SubscriptionStatus(StrEnum):
    ACTIVE = "active"
    TRIALING = "trialing"
    PAST_DUE = "past_due"
    CANCELED = "canceled"
    INCOMPLETE = "incomplete"


class CreditKind(StrEnum):
    PURCHASE = "purchase"
    BOOK_SPEND = "book_spend"
    REFUND = "refund"
    BONUS = "bonus"


UNLIMITED = -1  # a limit that there is not, in the row and as callers are told


@dataclass(frozen=True, slots=True)
class Features:
    """What a plan allows. A limit of UNLIMITED is never spent."""

    books_per_month: int
    ai_images_per_month: int
    ai_edits_per_month: int
    proofreading_checks_per_month: int
    export_formats: tuple[str, ...]
    watermark: bool
    max_word_count_per_book: int
    max_stored_mb: int
    chapter_images: bool

    def limit(self, allowance: Allowance) -> int:
        limit: int = getattr(self, f"{allowance}_per_month")
        return limit


@dataclass(frozen=True, slots=True)
class Plan:
    """`limits` is the raw map of the row, as callers see it; `features` the same, typed."""

    id: int
    slug: str
    name: str
    description: str
    price_monthly: Decimal
    price_yearly: Decimal
    is_active: bool
    sort_order: int
    features: Features
    limits: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subscription:
    """What an account is subscribed to; whether it is entitled to it now is `billing/standing.py`.

    Allowances count by months from `anchor`. `processor_id` is None when nobody pays for it.
    """

    id: int
    account_id: int
    plan: Plan
    status: SubscriptionStatus
    billing_interval: str | None
    anchor: datetime
    current_period_end: datetime | None
    past_due_since: datetime | None
    cancel_at_period_end: bool
    processor_id: str | None


@dataclass(frozen=True, slots=True)
class UsagePeriod:
    period_start: datetime
    period_end: datetime
    books_created: int = 0
    ai_images_generated: int = 0
    ai_edits_used: int = 0
    proofreading_checks_used: int = 0
    words_generated: int = 0

    def used(self, allowance: Allowance) -> int:
        match allowance:
            case Allowance.BOOKS:
                return self.books_created
            case Allowance.AI_IMAGES:
                return self.ai_images_generated
            case Allowance.AI_EDITS:
                return self.ai_edits_used
            case Allowance.PROOFREADING_CHECKS:
                return self.proofreading_checks_used


@dataclass(frozen=True, slots=True)
class Hold:
    """Set aside for a book. `run_id` is None while it is kept after a run that ended with chapters written.

    `words_written`: by runs of its book since it was taken.
    """

    id: int
    account_id: int
    book_id: int | None
    run_id: UUID | None
    source: FundingSource
    lot_id: int | None
    words_per_book: int | None
    words_written: int
    period_start: datetime
    period_end: datetime


@dataclass(frozen=True, slots=True)
class CreditLot:
    """Credits that came together. `held` of the remaining ones are set aside for runs."""

    id: int
    remaining: int
    held: int
    words_per_book: int
    refund_due: int
    taken_back: int

    @property
    def available(self) -> int:
        return max(self.remaining - self.held - (self.refund_due - self.taken_back), 0)


@dataclass(frozen=True, slots=True)
class PaidCredits:
    """Credits of a paid checkout, by the checkout's id. `refunded_credits` of them were paid back."""

    id: int
    credits: int
    words_per_book: int
    refunded_credits: int


@dataclass(frozen=True, slots=True)
class CreationOptions:
    can_create: bool
    subscription_available: bool
    subscription_remaining: int
    credits_available: bool
    credits_balance: int
    suggested_source: str
    max_words: int


@dataclass(frozen=True, slots=True)
class CreditPackage:
    id: int
    slug: str
    name: str
    credits: int
    price_cents: int
    words_per_book: int
    is_popular: bool
    is_active: bool
    display_order: int


@dataclass(frozen=True, slots=True)
class Wallet:
    id: int
    balance: int
    total_purchased: int
    total_used: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CreditTransaction:
    """One row of the append-only ledger."""

    id: int
    kind: CreditKind
    amount: int
    balance_after: int
    description: str
    book_id: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Addon:
    """A price of None: not sold that way."""

    id: int
    slug: str
    name: str
    description: str
    price_monthly: Decimal | None
    price_per_use: Decimal | None
    is_active: bool

    @property
    def billing_types(self) -> list[str]:
        prices = {"monthly": self.price_monthly, "per_use": self.price_per_use}
        return [billing_type for billing_type, price in prices.items() if price is not None]


@dataclass(frozen=True, slots=True)
class OwnedAddon:
    """An account's add-on. Of the uses `bought`, `taken` are used or held by a production."""

    id: int
    addon: Addon
    billing_type: str
    status: SubscriptionStatus
    processor_id: str | None
    current_period_end: datetime | None
    past_due_since: datetime | None
    bought: int
    taken: int
    used_this_period: int


@dataclass(frozen=True, slots=True)
class Checkout:
    """One attempt to buy something, with what was offered. `account_id` is None for a guest who has not paid yet."""

    id: int
    account_id: int | None
    kind: str
    slug: str
    billing: str
    amount_cents: int
    credits: int | None
    words_per_book: int | None
    session_id: str | None
    status: str
