"""The domain model: frozen dataclasses, enums and the pure rules between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    """The kind of a book, which decides how it is written and laid out. A children's book has spreads as chapters."""

    PROSE = "prose"
    CHILDRENS = "childrens"


class AgeRange(StrEnum):
    """The age in years of a children's book's readers."""

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
    """The phases of a run, in order. Only a production has phases other than CHAPTERS."""

    OUTLINE = "outline"
    CHAPTERS = "chapters"
    REVIEW = "review"
    PROOFREADING = "proofreading"
    CORRECTIONS = "corrections"
    BLURB = "blurb"
    COVER = "cover"
    FILES = "files"


class FundingSource(StrEnum):
    SUBSCRIPTION = "subscription"
    CREDITS = "credits"


class RevisionOrigin(StrEnum):
    """What replaced a chapter's former text."""

    EDITOR = "editor"
    MODEL = "model"
    REGENERATE = "regenerate"
    RESTORE = "restore"
    PROOFREADING = "proofreading"
    REVIEW = "review"  # the author's model answered an editor's findings
    QUALITY_GATE = "quality_gate"  # the former text is the model's, before the quality gate changed it


class SourceType(StrEnum):
    """How content was made: a term of the IPTC vocabulary "Digital Source Type"."""

    MODEL = "trainedAlgorithmicMedia"  # a generative model made all of it
    PARTLY_MODEL = "compositeWithTrainedAlgorithmicMedia"  # a generative model made some of it
    DRAWN = "algorithmicMedia"  # an algorithm without training data: our cover designs, sample text

    @property
    def uri(self) -> str:
        return f"http://cv.iptc.org/newscodes/digitalsourcetype/{self.value}"


class SuggestionType(StrEnum):
    """The topic of a proofreading suggestion."""

    SPELLING = "spelling"
    GRAMMAR = "grammar"
    PUNCTUATION = "punctuation"
    STYLE = "style"
    CLARITY = "clarity"
    CONSISTENCY = "consistency"
    CONTINUITY = "continuity"


class Severity(StrEnum):
    """The severity of a suggestion, the worst first."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    INFO = "info"


class SuggestionStatus(StrEnum):
    """The state of a suggestion. A stale one no longer matches the chapter's text."""

    PENDING = "pending"
    APPLIED = "applied"
    DISMISSED = "dismissed"
    STALE = "stale"


class ReportKind(StrEnum):
    """Who has read the chapters of a report."""

    PROOFREADING = "proofreading"
    REVIEW = "review"  # an editor, who reads the whole book at once
    PASSAGE = "passage"  # nobody: its author wanted one passage in other words


class RevisionMode(StrEnum):
    """What a production does with the findings of its editor's reading."""

    OFF = "off"  # no reading is made
    REPORT = "report"
    APPLY = "apply"  # the author's model answers them with small edits


class ReportStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    ERROR = "error"


class LinkPurpose(StrEnum):
    """The purpose of a one-time link sent by e-mail. The value is also the name of its page."""

    VERIFY_EMAIL = "verify-email"
    RESET_PASSWORD = "reset-password"
    MAGIC_LOGIN = "magic-login"
    UNDO_EMAIL = "undo-email"
    APPROVE_EMAIL = "approve-email"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What rewriting a chapter costs: AI edits, and words in unpaid books."""

    edits: int
    unpaid_words: int


class Notice(StrEnum):
    """The subject of a letter without a link."""

    RECEIPT = "receipt"
    PASSWORD_CHANGED = "password-changed"
    GOOGLE_LINKED = "google-linked"
    NEW_SIGN_IN = "new-sign-in"


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter. `message_id` is the same for all attempts, so that a mailbox can drop duplicates."""

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
    """A book. `description` is the author's idea, which is never printed. `blurb` is the text for readers.

    `age_range`, `theme` and `characters` (with name and description) are for children's books. `character_sheet_key` is
    the media key of the hero's picture, the reference for all other pictures. `authored_bible` has the entries of
    `bible` that the author wrote, `bible_changes` what they have changed in its entries (`facts.corrections`).
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
    authored_bible: Mapping[str, Any] = field(default_factory=dict)
    bible_changes: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter. `content` is Markdown, empty until written. `content_version` grows with each new text.

    `rewrite_run` is the run that will replace the content, if one will. `written_at` is when a model wrote the content;
    None if an author did or if the time is unknown. `writer` is the model that wrote the content; empty for an author's
    text. `plan`: its scenes or steps beside the summary (`writing.chapter_plan`), possibly empty.
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
    plan: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_sample(self) -> bool:
        """Whether the content is sample text, which no language model wrote."""
        return self.writer == SAMPLE_WRITER


@dataclass(frozen=True, slots=True)
class Cover:
    """A cover variant, with its size in pixels and its media keys. `design` allows drawing it in any other size."""

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
    """A chapter's picture, with its size in pixels. `position`: how many of the chapter's paragraphs come before it."""

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
    """One run over a book's chapters. `epoch` fences off former owners, `call_no` outdated calls.

    `done` of `total` chapters are finished; the run itself wrote `written` of them.
    `call_started_at` is set while a chapter is being written or another phase works, even if the run was paused since.
    `remark` says what was left out.
    `draft_words`: the words of the stored parts of `current_chapter` while it is unfinished.
    `writer`: the model that writes the run; None before its first call.
    `salt`: that of an earlier run whose stored parts this run continues with.
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
    salt: UUID | None = None

    @property
    def keeps_writer(self) -> bool:
        """Whether only its own model may continue the run. Any model may continue sample text."""
        return self.writer not in (None, SAMPLE_WRITER)

    @property
    def waits_for_writer(self) -> bool:
        """Whether the run waits for a process with its model: it is running, but no process owns it."""
        return (
            self.status is RunStatus.RUNNING
            and self.owner is None
            and self.call_started_at is None
            and self.keeps_writer
        )


class ProcessRole(StrEnum):
    """What a process does: it serves requests (`web`), takes runs, reports and blurbs (`actors`), or `both`."""

    WEB = "web"
    ACTORS = "actors"
    BOTH = "both"

    @property
    def takes_work(self) -> bool:
        return self is not ProcessRole.WEB

    @property
    def answers_requests(self) -> bool:
        return self is not ProcessRole.ACTORS


@dataclass(frozen=True, slots=True)
class Unread:
    """A chapter that the model could not proofread, because it `refused` or gave unusable replies.

    `whole`: this applies to the whole chapter, not just a part.
    """

    chapter_number: int
    refused: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Report:
    """A report on some chapters, `done` of which are read.

    The counts include all suggestions, in any state. `unread`: text that only the rules have read, not the model.
    """

    id: int
    book_id: int
    kind: ReportKind
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
        """The progress in percent, 0 to 100."""
        return 100 if self.status is ReportStatus.COMPLETED else 100 * self.done // max(self.chapters, 1)


# Types that may be applied without review by the author. `writing.proofreading.correction.honest` limits their size.
SAFE = (SuggestionType.SPELLING, SuggestionType.PUNCTUATION)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested correction, or a finding without one: then `suggested_text` is None.

    The offsets count characters in the text with `content_version`. `prefix` and `suffix` are the text before and after
    it. `source`: the rule, checker or model that suggested it.
    """

    id: int
    report_id: int
    chapter_id: int
    chapter_number: int
    type: SuggestionType
    severity: Severity
    original_text: str
    suggested_text: str | None
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
    """The usage of model calls. `cost_micros` only includes calls with a known price.

    `unknown_price`: at least one call had no known price.
    """

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
    """The estimated cost and time of a full run. `cost_micros` is None if the model's price is unknown."""

    cost_micros: int | None
    seconds: int
    calls: int
    usage: Usage


class FactKind(StrEnum):
    """What a fact of the story is about."""

    PERSON = "person"
    PLACE = "place"
    OBJECT = "object"
    STATE = "state"
    TIME = "time"
    KNOWLEDGE = "knowledge"
    THREAD_OPENED = "thread_opened"
    THREAD_CLOSED = "thread_closed"


class FactEvent(StrEnum):
    """What happens to a fact's subject, where rules can compare it. The fact's value completes it."""

    BORN = "born"  # a person; the date
    DIES = "dies"
    ACTS = "acts"  # a person does or says something in the story's present
    RETURNS = "returns"  # whoever or whatever was taken for dead or gone is there after all
    ENTERS = "enters"  # a person; the place
    LEAVES = "leaves"  # for good
    IS_IN = "is_in"
    AT = "at"  # an object; its place or its holder
    MOVED = "moved"
    GONE = "gone"
    NOW = "now"  # the chapter; the date of what it tells
    BACK = "back"  # the chapter goes back to an earlier time
    ON = "on"  # an event; its date
    AFTER = "after"  # an event; the earlier event that it follows from
    LEARNS = "learns"  # a person; what
    KNOWS = "knows"


class FactStatus(StrEnum):
    """What the author has decided about a fact."""

    SETTLED = "settled"
    INTENDED = "intended"  # whatever contradicts it is not reported
    WRONG = "wrong"  # later chapters are not told of it


MAX_FACT_CHARACTERS = 300  # of a fact's subject, value or quote


@dataclass(frozen=True, slots=True)
class Fact:
    """What a chapter says about the story. `quote`: its passage. `value`: the current value.

    If the author has corrected the value, `noted` is the value that the model noted; otherwise it is empty.
    """

    chapter_number: int
    kind: FactKind
    subject: str
    value: str
    quote: str
    event: FactEvent | None = None
    status: FactStatus = FactStatus.SETTLED
    reason: str = ""
    noted: str = ""
    id: int = 0

    @property
    def told(self) -> str:
        """The fact as it is worded in the prompts of later chapters."""
        event = f" {self.event.replace('_', ' ')}" if self.event else ""
        intent = f" (intended: {self.reason})" if self.status is FactStatus.INTENDED and self.reason else ""
        return f"{self.subject}{event}: {self.value}{intent}"

    @property
    def is_decided(self) -> bool:
        """Whether the author has given it a value of their own or calls it intended."""
        return self.status is FactStatus.INTENDED or (bool(self.noted) and self.status is FactStatus.SETTLED)

    @property
    def is_told(self) -> bool:
        """Whether later chapters are given it. That someone acted is no information; threads are listed separately."""
        apart = self.kind in (FactKind.THREAD_OPENED, FactKind.THREAD_CLOSED) or self.event is FactEvent.ACTS
        return self.status is not FactStatus.WRONG and not apart


@dataclass(frozen=True, slots=True)
class Digest:
    """What later chapters must know about a finished one. `content_hash` is the hash of the text it summarises.

    `facts` and threads are in the form for prompts, with the author's corrections. `settled` are the facts that the
    author has corrected or calls intended. `noted` are the facts of a digest that was just made; None if it was stored
    before.
    """

    chapter_number: int
    content_hash: str
    summary: str
    facts: tuple[str, ...] = ()
    threads_opened: tuple[str, ...] = ()
    threads_closed: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    noted: tuple[Fact, ...] | None = None


class Allowance(StrEnum):
    """A quantity that a plan limits per period. The value is the `quota_type` in API responses."""

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


UNLIMITED = -1  # the value for "no limit" in rows and API responses


@dataclass(frozen=True, slots=True)
class Features:
    """What a plan allows. UNLIMITED means no limit."""

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
    """A plan. `limits` is the row's raw JSON, as the API returns it. `features` is the same with types."""

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
    """An account's subscription. `billing/standing.py` decides whether it is in force.

    Allowances renew monthly, counted from `anchor`. `processor_id` is None if the subscription is not paid for.
    `next_plan` is the slug of the smaller plan that begins when the paid period ends.
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
    next_plan: str | None
    next_interval: str | None


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
    """An allowance or credit set aside for a book.

    `run_id` is None while the hold is kept after a run that ended with written chapters. `words_written`: the words
    that runs of the book have written since the hold began.
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
    """Credits from one purchase or grant. `held` of the `remaining` ones are set aside for runs."""

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
    """Credits of a paid checkout; `id` is the checkout's. `refunded_credits` of them were refunded."""

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
    """One row of the append-only credit ledger."""

    id: int
    kind: CreditKind
    amount: int
    balance_after: int
    description: str
    book_id: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Addon:
    """An add-on for sale. A price of None means that it is not sold in that way."""

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
    """An account's add-on. `taken` of the `bought` uses are used, or held by a production."""

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
    """One attempt to buy something, with the offer. `account_id` is None for a guest who has not paid yet."""

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
