"""The forms of the contract's answers: each field and its type, written from the contract's tables alone.

A form is a dict of fields; a list of one form is an array of it; a tuple is a choice; a function judges the value.
Answers may have other fields, because the contract leaves them open.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from uuid import UUID

from bookgen.render.formats import FORMATS


def is_id(value: Any) -> bool:
    return type(value) is int and value >= 0


def is_integer(value: Any) -> bool:
    return type(value) is int


def is_number(value: Any) -> bool:
    return type(value) in (int, float)


def is_time(value: Any) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value))


def is_decimal(value: Any) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\d+\.\d\d", value)) and Decimal(value) >= 0


def is_uuid(value: Any) -> bool:
    return isinstance(value, str) and str(UUID(value)) == value


def is_url(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://"))


def one_of(*values: str) -> Any:
    return lambda value: value in values


def maximum(value: Any) -> bool:
    """A number of a plan; -1 is unlimited."""
    return type(value) is int and value >= -1


NONE = type(None)
ANY = object

PLAN_FEATURES = {
    "books_per_month": maximum,
    "ai_images_per_month": maximum,
    "ai_edits_per_month": maximum,
    "proofreading_checks_per_month": maximum,
    "export_formats": [one_of(*FORMATS)],
    "watermark": bool,
    "max_word_count_per_book": is_integer,
    "max_stored_mb": maximum,
}
PLAN = {
    "id": is_id,
    "name": str,
    "slug": str,
    "price_monthly": is_decimal,
    "price_yearly": is_decimal,
    "description": str,
    "is_active": bool,
    "sort_order": is_integer,
    "features": PLAN_FEATURES,
}
SUBSCRIPTION = {
    "id": is_id,
    "status": one_of("active", "trialing", "past_due", "canceled", "incomplete"),
    "plan": PLAN,
    "current_period_end": is_time,
}
NEW_USER = {
    "id": is_id,
    "username": str,
    "email": str,
    "first_name": str,
    "last_name": str,
    "email_verified": bool,
}
USER = NEW_USER | {
    "avatar_url": (str, NONE),
    "is_staff": bool,
    "is_superuser": bool,
    "subscription": SUBSCRIPTION,
}
TOKENS = {"access": str, "refresh": str}
MESSAGE = {"message": str}
USAGE_PERIOD = {
    "period_start": is_time,
    "period_end": is_time,
    "books_created": is_integer,
    "ai_images_generated": is_integer,
    "ai_edits_used": is_integer,
    "proofreading_checks_used": is_integer,
    "words_generated": is_integer,
}
CURRENT_SUBSCRIPTION = SUBSCRIPTION | {
    "subscription": SUBSCRIPTION,
    "usage": {"books_created": is_integer},
    "limits": {"books_per_month": maximum},
    "next_plan": ({"slug": str, "name": str, "interval": one_of("monthly", "yearly"), "effective_at": is_time}, NONE),
}
CREATION_OPTIONS = {
    "can_create": bool,
    "subscription_available": bool,
    "subscription_remaining": is_integer,
    "credits_available": bool,
    "credits_balance": is_integer,
    "suggested_source": one_of("subscription", "credits", "none"),
    "max_words": is_integer,
}
CREDIT_PACKAGE = {
    "id": is_id,
    "name": str,
    "slug": str,
    "credits": is_integer,
    "price": is_number,
    "price_cents": is_integer,
    "price_per_book": is_number,
    "price_per_book_cents": is_integer,
    "savings_percent": is_integer,
    "words_per_book": is_integer,
    "is_popular": bool,
    "is_active": bool,
    "display_order": is_integer,
}
CREDIT_BALANCE = {
    "id": is_id,
    "balance": is_integer,
    "total_purchased": is_integer,
    "total_used": is_integer,
    "created_at": is_time,
    "updated_at": is_time,
}
CREDIT_TRANSACTION = {
    "id": is_id,
    "kind": one_of("purchase", "book_spend", "refund", "bonus"),
    "amount": is_integer,
    "balance_after": is_integer,
    "description": str,
    "book": (is_id, NONE),
    "created_at": is_time,
}
ADDON = {
    "id": is_id,
    "slug": str,
    "name": str,
    "description": str,
    "price_monthly": (is_decimal, NONE),
    "price_per_use": (is_decimal, NONE),
    "billing_types": [one_of("monthly", "per_use")],
    "is_active": bool,
}
USER_ADDON = {
    "id": is_id,
    "addon": ADDON,
    "billing_type": one_of("monthly", "per_use"),
    "status": str,
    "uses_this_period": is_integer,
    "uses_remaining": maximum,
    "has_uses_remaining": bool,
    "current_period_end": is_time,
}
INVOICE = {
    "id": str,
    "number": (str, NONE),
    "amount": is_decimal,
    "currency": str,
    "status": str,
    "created_at": is_time,
    "period_start": is_time,
    "period_end": is_time,
    "hosted_invoice_url": (is_url, NONE),
    "invoice_pdf": (is_url, NONE),
}
CHECKOUT_SESSION = {"sessionId": str, "url": is_url}

COVER = {
    "id": is_id,
    "style": str,
    "prompt": str,
    "image_url": is_url,
    "thumbnail_url": is_url,
    "width": is_id,
    "height": is_id,
    "is_selected": bool,
    "created_at": is_time,
}
ILLUSTRATION = {
    "id": is_id,
    "chapter": is_id,
    "caption": str,
    "alt_text": str,
    "prompt": str,
    "image_url": is_url,
    "position": is_integer,
    "width": is_id,
    "height": is_id,
    "created_at": is_time,
}
CHAPTER = {
    "id": is_id,
    "book": is_id,
    "chapter_number": is_id,
    "title": str,
    "summary": str,
    "content": str,
    "word_count": is_integer,
    "target_word_count": is_integer,
    "status": one_of("pending", "writing", "completed", "error"),
    "is_sample": bool,
    "illustrations": [ILLUSTRATION],
    "written_at": (is_time, NONE),
    "created_at": is_time,
    "updated_at": is_time,
}
REVISION_LISTED = {"id": is_id, "origin": str, "word_count": is_integer, "created_at": is_time}
REVISION = REVISION_LISTED | {"content": str, "title": (str, NONE), "summary": (str, NONE)}
FAILURE = {
    "code": str,
    "message": str,
    "stage": (str, NONE),
    "chapter_number": (is_id, NONE),
    "retryable": bool,
}
MODE = one_of("full", "continue", "automated")
PROGRESS = {
    "generation_status": one_of("running", "paused", "stopped", "completed", "error"),
    "completed_chapters": is_integer,
    "total_chapters": is_integer,
    "percentage": is_number,
    "status_message": str,
    "task_id": is_uuid,
    "mode": MODE,
    "phase": one_of("outline", "chapters", "proofreading", "cover", "files"),
    "queue_position": (is_id, NONE),
    "current_chapter": (is_id, NONE),
    "words_written": is_integer,
    "started_at": is_time,
    "updated_at": is_time,
    "finished_at": (is_time, NONE),
    "estimated_seconds_remaining": (is_number, NONE),
    "failure": (FAILURE, NONE),
}
GENERATION_STATUS = PROGRESS | {
    "outline": [
        {
            "id": is_id,
            "chapter_number": is_id,
            "title": str,
            "has_content": bool,
            "word_count": is_integer,
            "is_new": bool,
        }
    ]
}
GENERATION_START = {
    "message": str,
    "book_id": is_id,
    "task_id": is_uuid,
    "mode": MODE,
}
STEERED = {"message": str, "book_id": is_id, "task_id": is_uuid, "generation_status": PROGRESS["generation_status"]}
BOOK_LISTED = {
    "id": is_id,
    "title": str,
    "subtitle": str,
    "author_name": str,
    "genre": str,
    "target_audience": str,
    "description": str,
    "blurb": str,
    "style_notes": str,
    "chapter_count": is_integer,
    "target_word_count": is_integer,
    "trim_size": str,
    "content_language": str,
    "status": one_of("draft", "outline", "generating", "completed"),
    "generation_progress": (PROGRESS, NONE),
    "cover_image_url": (is_url, NONE),
    "chapters_count": is_integer,
    "word_count": is_integer,
    "funding_source": (one_of("subscription", "credits"), NONE),
    "kind": one_of("prose", "childrens"),
    "age_range": (one_of("0-3", "3-5", "6-8", "9-12"), NONE),
    "theme": str,
    "characters": [{"name": str, "description": str}],
    "page_count": (is_integer, NONE),
    "export_settings": dict,
    "created_at": is_time,
    "updated_at": is_time,
}
MODEL_USAGE = {
    "calls": is_integer,
    "input_tokens": is_integer,
    "output_tokens": is_integer,
    "cache_write_tokens": is_integer,
    "cache_read_tokens": is_integer,
    "images": is_integer,
    "cost_micros": is_integer,
    "currency": str,
    "unknown_price": bool,
}
BOOK = BOOK_LISTED | {
    "font_warning": (str, NONE),
    "is_verse": bool,
    "chapters": [CHAPTER],
    "covers": [COVER],
    "character_sheet_url": (is_url, NONE),
    "usage": MODEL_USAGE,
    "estimated_cost_micros": (is_integer, NONE),
    "estimated_seconds": (is_integer, NONE),
}
DECLARATION = {
    "text": {
        "model_words": is_integer,
        "human_words": is_integer,
        "edited_words": is_integer,
        "chapters": [{"chapter_number": is_id, "origin": one_of("model", "human", "edited", "sample")}],
    },
    "images": {"model": is_integer, "human": is_integer},
    "translation": (str, NONE),
    "models": [str],
    "statement": str,
}
REPORT = {
    "id": is_id,
    "book": is_id,
    "kind": one_of("proofreading", "review"),
    "status": one_of("pending", "running", "completed", "error"),
    "progress": is_number,
    "counts": dict,
    "summary": str,
    "failure": (FAILURE, NONE),
    "created_at": is_time,
    "completed_at": (is_time, NONE),
}
FACT = {
    "id": is_id,
    "chapter_number": is_id,
    "kind": one_of("person", "place", "object", "state", "time", "knowledge", "thread_opened", "thread_closed"),
    "event": (str, NONE),
    "subject": str,
    "value": str,
    "quote": str,
    "status": one_of("settled", "intended", "wrong"),
    "reason": str,
}
SUGGESTION = {
    "id": is_id,
    "report": is_id,
    "chapter": is_id,
    "chapter_number": is_id,
    "type": one_of("spelling", "grammar", "punctuation", "style", "clarity", "consistency", "continuity"),
    "severity": one_of("critical", "major", "minor", "info"),
    "original_text": str,
    "suggested_text": (str, NONE),
    "prefix": str,
    "suffix": str,
    "explanation": str,
    "start": is_integer,
    "end": is_integer,
    "status": one_of("pending", "applied", "dismissed", "stale"),
}
SUGGESTIONS = {"count": is_integer, "next": (is_url, NONE), "previous": (is_url, NONE), "results": [SUGGESTION]}
SUGGESTION_PREVIEW = {"before": str, "after": str, "context_before": str, "context_after": str, "diff": str}
APPLIED = {"applied": is_integer, "stale": is_integer, "chapters": [is_id]}
DROPDOWN = [{"id": is_id, "title": str}]
PREVIEW_DATA = {
    "book_id": is_id,
    "title": str,
    "trim_size": str,
    "page_width_mm": is_number,
    "page_height_mm": is_number,
    "page_count": is_integer,
    "cover_image_url": (is_url, NONE),
    "covers": [COVER],
    "pages": [
        {
            "number": is_integer,
            "kind": one_of("title", "copyright", "toc", "chapter"),
            "chapter_id": (is_id, NONE),
            "html": str,
        }
    ],
}
STATS = {
    "books_total": is_integer,
    "books_by_status": dict,
    "chapters_total": is_integer,
    "chapters_written": is_integer,
    "words_total": is_integer,
    "words_this_period": is_integer,
    "exports_total": is_integer,
    "images_total": is_integer,
    "recent_books": [BOOK_LISTED],
}
PUBLIC_SETTINGS = {
    "site_name": str,
    "registration_enabled": bool,
    "email_verification_required": bool,
    "google_client_id": (str, NONE),
    "billing_enabled": bool,
    "stripe_publishable_key": (str, NONE),
    "models": [str],
    "genres": [str],
    "trim_sizes": [{"value": str, "label": str, "width_mm": is_number, "height_mm": is_number}],
    "languages": [{"value": str, "label": str}],
    "export_formats": [
        {"value": str, "label": str, "use": str, "extension": str, "content_type": str, "settings": [str]}
    ],
    "export_settings": dict,
    "features": dict,
}
ANSWER = {"answer": str, "sources": [{"title": str, "url": is_url}]}
OVERVIEW = {
    "accounts": {"total": is_integer, "blocked": is_integer},
    "books": {"total": is_integer, "by_status": dict},
    "runs": {"by_status": dict},
    "actors": {"resident": is_integer, "running": is_integer, "queued": is_integer},
    "usage": MODEL_USAGE | {"by_model": [MODEL_USAGE | {"model": str}]},
}


def misfits(value: Any, form: Any, where: str = "$") -> list[str]:
    """The differences between a value and its form."""
    if isinstance(form, tuple):
        return [] if any(not misfits(value, each) for each in form) else [f"{where} is {value!r:.80}"]
    if isinstance(form, type):
        return [] if isinstance(value, form) else [f"{where} is {value!r:.80}, no {form.__name__}"]
    if callable(form):
        return [] if form(value) else [f"{where} is {value!r:.80}, not what {form.__name__} takes"]
    if not isinstance(value, type(form)):
        return [f"{where} is {value!r:.80}"]
    if isinstance(form, list):
        return [each for number, member in enumerate(value) for each in misfits(member, form[0], f"{where}[{number}]")]
    missing = [f"{where}.{name} is missing" for name in form if name not in value]
    return missing + [
        each for name, inner in form.items() if name in value for each in misfits(value[name], inner, f"{where}.{name}")
    ]
