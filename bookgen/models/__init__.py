"""The domain model: frozen dataclasses, enums and the pure rules between them, in one file per subject.

Each name can be imported from here: `from bookgen.models import Book`.
"""

from bookgen.models.accounts import (
    Account as Account,
    Letter as Letter,
    LinkPurpose as LinkPurpose,
    Notice as Notice,
)
from bookgen.models.books import (
    MAX_BLURB_CHARACTERS as MAX_BLURB_CHARACTERS,
    SAMPLE_WRITER as SAMPLE_WRITER,
    UNNAMED_AUTHOR as UNNAMED_AUTHOR,
    AgeRange as AgeRange,
    Book as Book,
    BookKind as BookKind,
    BookStatus as BookStatus,
    Chapter as Chapter,
    ChapterStatus as ChapterStatus,
    Cover as Cover,
    FundingSource as FundingSource,
    Illustration as Illustration,
    RevisionOrigin as RevisionOrigin,
    SourceType as SourceType,
)
from bookgen.models.story_collections import has_separate_stories as has_separate_stories
from bookgen.models.story_kinds import (
    has_code as has_code,
    StoryKind as StoryKind,
    is_collection as is_collection,
    is_mystery as is_mystery,
    is_non_fiction as is_non_fiction,
    is_play as is_play,
    is_verse as is_verse,
    story_kind as story_kind,
)
from bookgen.models.languages import LANGUAGES as LANGUAGES
from bookgen.models.plans import (
    UNLIMITED as UNLIMITED,
    Allowance as Allowance,
    CreationOptions as CreationOptions,
    Features as Features,
    Hold as Hold,
    Plan as Plan,
    Rewrite as Rewrite,
    Subscription as Subscription,
    SubscriptionStatus as SubscriptionStatus,
    UsagePeriod as UsagePeriod,
)
from bookgen.models.purchases import (
    Addon as Addon,
    Checkout as Checkout,
    CreditKind as CreditKind,
    CreditLot as CreditLot,
    CreditPackage as CreditPackage,
    CreditTransaction as CreditTransaction,
    OwnedAddon as OwnedAddon,
    PaidCredits as PaidCredits,
    Wallet as Wallet,
)
from bookgen.models.reports import (
    Report as Report,
    ReportKind as ReportKind,
    ReportStatus as ReportStatus,
    Unread as Unread,
)
from bookgen.models.runs import (
    Estimate as Estimate,
    ProcessRole as ProcessRole,
    RevisionMode as RevisionMode,
    Run as Run,
    RunMode as RunMode,
    RunPhase as RunPhase,
    RunStatus as RunStatus,
    Usage as Usage,
)
from bookgen.models.story import (
    MAX_FACT_CHARACTERS as MAX_FACT_CHARACTERS,
    Digest as Digest,
    Fact as Fact,
    FactEvent as FactEvent,
    FactKind as FactKind,
    FactStatus as FactStatus,
)
from bookgen.models.suggestions import (
    SAFE_TYPES as SAFE_TYPES,
    Severity as Severity,
    Suggestion as Suggestion,
    SuggestionStatus as SuggestionStatus,
    SuggestionType as SuggestionType,
)
