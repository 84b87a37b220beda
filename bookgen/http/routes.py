"""The routes of the API, in one table."""

from __future__ import annotations

from bookgen.http import (
    addons,
    auth,
    bible,
    books,
    chapters,
    childrens,
    covers,
    credits,
    declarations,
    exports,
    facts,
    generation,
    illustrations,
    outlines,
    payments,
    proofreading,
    site,
    subscriptions,
)
from bookgen.http.console import pages, static
from bookgen.http.docs import documents
from bookgen.http.edge.routing import Route
from bookgen.http.outside import media, metrics, probes
from bookgen.rate_limits import LimitClass

READ, WRITE, EXPENSIVE = LimitClass.READ, LimitClass.WRITE, LimitClass.EXPENSIVE
PUBLIC, AUTH = LimitClass.PUBLIC, LimitClass.AUTH
SUGGESTIONS = "/proofreading-reports/{id}/suggestions"

# Features of the plan, and add-ons, that decide whether the caller may use a route. The OpenAPI document shows them.
CHILDRENS = "books_per_month, the add-on childrens-book"
PRODUCTION = "automated-production, books_per_month, ai_images_per_month"
CHAPTER_IMAGES = "chapter_images, ai_images_per_month"
CHECKS = "proofreading_checks_per_month"

# Paths are relative to /api/v1 and to its alias /api.
ACCOUNT: tuple[Route, ...] = (
    Route("POST", "/auth/register/", auth.register, AUTH, public=True),
    Route("POST", "/auth/login/", auth.login, AUTH, public=True),
    Route("POST", "/auth/token/refresh/", auth.refresh_tokens, AUTH, public=True),
    Route("POST", "/auth/google/", auth.google_login, AUTH, public=True),
    Route("POST", "/auth/magic-login/{uid}/{token}/", auth.magic_login, AUTH, public=True),
    Route("POST", "/auth/logout/", auth.logout, PUBLIC, public=True),
    Route("POST", "/auth/forgot-password/", auth.forgot_password, AUTH, public=True),
    Route("POST", "/auth/reset-password/{uid}/{token}/", auth.reset_password, AUTH, public=True),
    Route("GET", "/auth/verify-email/{uid}/{token}/", auth.verify_email, PUBLIC, public=True, once=True),
    Route("POST", "/auth/resend-verification/", auth.resend_verification, AUTH, public=True),
    Route("POST", "/auth/undo-email/{uid}/{token}/", auth.undo_email, AUTH, public=True),
    Route("POST", "/auth/approve-email/{uid}/{token}/", auth.approve_email, AUTH, public=True),
    Route("GET", "/auth/profile/", auth.read_profile, READ, cookie=True),
    Route("PATCH", "/auth/profile/", auth.change_profile, WRITE),
    Route("POST", "/auth/change-password/", auth.change_password, WRITE),
    Route("POST", "/auth/delete-account/", auth.delete_account, WRITE),
    Route("GET", "/admin/overview/", site.read_overview, READ),
)

PAYMENT: tuple[Route, ...] = (
    Route("GET", "/auth/subscriptions/plans/", subscriptions.list_plans, PUBLIC, public=True),
    Route("GET", "/auth/subscriptions/current/", subscriptions.read_current, READ),
    Route("GET", "/auth/subscriptions/usage/", subscriptions.list_usage, READ),
    Route("GET", "/auth/subscriptions/book-creation-options/", subscriptions.read_creation_options, READ),
    Route("POST", "/auth/subscriptions/checkout/", subscriptions.checkout, WRITE),
    Route("POST", "/auth/subscriptions/portal/", payments.open_portal, WRITE),
    Route("GET", "/auth/subscriptions/payments/", payments.list_payments, READ),
    Route("GET", "/auth/addons/available/", addons.list_available, PUBLIC, public=True),
    Route("GET", "/auth/addons/my_addons/", addons.list_owned, READ),
    Route("POST", "/auth/addons/checkout/", addons.checkout, WRITE),
    Route("GET", "/auth/credits/packages/", credits.list_packages, PUBLIC, public=True),
    Route("GET", "/auth/credits/balance/", credits.read_balance, READ),
    Route("GET", "/auth/credits/transactions/", credits.list_transactions, READ),
    Route("POST", "/auth/credits/checkout/", credits.checkout, WRITE),
    Route("POST", "/auth/credits/guest-checkout/", credits.guest_checkout, PUBLIC, public=True),
    Route("POST", "/webhooks/stripe/", payments.receive, None, public=True),
)

BOOKS: tuple[Route, ...] = (
    Route("GET", "/books/", books.list_books, READ),
    Route("POST", "/books/", books.create_book, WRITE, gate="books_per_month, max_word_count_per_book"),
    Route("POST", "/books/childrens/", childrens.create_childrens, WRITE, gate=CHILDRENS),
    Route("GET", "/books/dropdown/", books.dropdown, READ),
    Route("GET", "/books/{id}/", books.read_book, READ),
    Route("PATCH", "/books/{id}/", books.change_book, WRITE, gate="max_word_count_per_book"),
    Route("DELETE", "/books/{id}/", books.delete_book, WRITE),
    Route("POST", "/books/{id}/duplicate/", books.duplicate_book, WRITE),
    Route("POST", "/books/{id}/generate-outline/", outlines.generate_outline, EXPENSIVE),
    Route("POST", "/books/{id}/update-outline/", outlines.update_outline, WRITE),
    Route("GET", "/books/{id}/bible/", bible.read_bible, READ),
    Route("PATCH", "/books/{id}/bible/", bible.change_bible, WRITE),
    Route("GET", "/books/{id}/facts/", facts.list_facts, READ),
    Route("GET", "/books/{id}/facts/{fact_id}/", facts.read_fact, READ),
    Route("PATCH", "/books/{id}/facts/{fact_id}/", facts.change_fact, WRITE),
    Route("POST", "/books/{id}/regenerate-chapters/", outlines.regenerate_chapters, EXPENSIVE),
    Route("POST", "/books/{id}/generate/", generation.generate, EXPENSIVE, gate="books_per_month"),
    Route("POST", "/books/{id}/produce/", generation.produce, EXPENSIVE, gate=PRODUCTION),
    Route("GET", "/books/{id}/generation-status/", generation.generation_status, READ, quiet=True),
    Route("POST", "/books/{id}/pause-generation/", generation.pause_generation, WRITE),
    Route("POST", "/books/{id}/resume-generation/", generation.resume_generation, WRITE),
    Route("POST", "/books/{id}/stop-generation/", generation.stop_generation, WRITE),
    Route("POST", "/books/{id}/generate-cover/", covers.generate_cover, EXPENSIVE, gate="ai_images_per_month"),
    Route("POST", "/books/{id}/select-cover/", covers.select_cover, WRITE),
    Route("GET", "/books/{id}/declaration/", declarations.read_declaration, READ),
)

EXPORTS: tuple[Route, ...] = (
    *(
        Route("POST", f"/books/{{id}}/{export.__name__}/", export, EXPENSIVE, gate="export_formats, watermark")
        for export in exports.EXPORTS
    ),
    Route("POST", "/books/{id}/preview_pdf/", exports.preview_pdf, EXPENSIVE),
    Route("GET", "/books/{id}/preview-data/", exports.preview_data, EXPENSIVE),
    Route("POST", "/books/{id}/preview-data/", exports.preview_images, EXPENSIVE),
)

CHAPTERS: tuple[Route, ...] = (
    Route("GET", "/chapters/", chapters.list_chapters, READ),
    Route("GET", "/chapters/{id}/", chapters.read_chapter, READ),
    Route("PATCH", "/chapters/{id}/", chapters.change_chapter, WRITE),
    Route("POST", "/chapters/{id}/regenerate/", chapters.regenerate_chapter, EXPENSIVE, gate="ai_edits_per_month"),
    Route("POST", "/chapters/{id}/generate-image/", illustrations.generate_image, EXPENSIVE, gate=CHAPTER_IMAGES),
    Route("GET", "/chapters/{id}/illustrations/", illustrations.list_illustrations, READ),
    Route("PATCH", "/illustrations/{id}/", illustrations.change_illustration, WRITE),
    Route("DELETE", "/illustrations/{id}/", illustrations.delete_illustration, WRITE),
    Route("GET", "/chapters/{id}/revisions/", chapters.list_revisions, READ),
    Route("GET", "/chapters/{id}/revisions/{revision_id}/", chapters.read_revision, READ),
    Route("POST", "/chapters/{id}/revisions/{revision_id}/restore/", chapters.restore_revision, WRITE),
)

PROOFREADING: tuple[Route, ...] = (
    Route("GET", "/proofreading-reports/", proofreading.list_reports, READ),
    Route("POST", "/proofreading-reports/", proofreading.create_report, EXPENSIVE, gate=CHECKS),
    Route("POST", "/books/{id}/review/", proofreading.review_book, EXPENSIVE, gate=CHECKS),
    Route("GET", "/proofreading-reports/{id}/", proofreading.read_report, READ),
    Route("DELETE", "/proofreading-reports/{id}/", proofreading.delete_report, WRITE),
    Route("POST", "/proofreading-reports/{id}/apply/", proofreading.apply_suggestions, WRITE),
    Route("GET", f"{SUGGESTIONS}/", proofreading.list_suggestions, READ),
    Route("GET", f"{SUGGESTIONS}/{{suggestion_id}}/preview/", proofreading.preview_suggestion, READ),
    Route("POST", f"{SUGGESTIONS}/{{suggestion_id}}/apply/", proofreading.apply_suggestion, WRITE),
    Route("POST", f"{SUGGESTIONS}/{{suggestion_id}}/dismiss/", proofreading.dismiss_suggestion, WRITE),
)

SITE: tuple[Route, ...] = (
    Route("GET", "/", documents.index, PUBLIC, public=True),
    Route("GET", "/books/demo/", books.demo, PUBLIC, public=True),
    Route("GET", "/stats/", site.show_stats, READ),
    Route("GET", "/public-settings/", site.public_settings, PUBLIC, public=True),
    Route("POST", "/chatbot/ask/", site.ask, PUBLIC, public=True),
    Route("GET", "/schema/", documents.schema, PUBLIC, public=True),
    Route("GET", "/docs/", documents.browse, PUBLIC, public=True),
    Route("GET", "/docs/errors/", documents.error_catalogue, PUBLIC, public=True),
    Route("GET", "/docs/agents/", documents.agents_guide, PUBLIC, public=True),
    Route("GET", "/docs/{name}/", documents.manual, PUBLIC, public=True),
)

ROUTES = (*ACCOUNT, *PAYMENT, *BOOKS, *EXPORTS, *CHAPTERS, *PROOFREADING, *SITE)

# For health checks and monitoring. A process that does not serve the API has only these routes.
OPERATION: tuple[Route, ...] = (
    Route("GET", "/healthz", probes.alive, None, public=True, quiet=True),
    Route("GET", "/readyz", probes.ready, None, public=True, quiet=True),
    Route("GET", "/metrics", metrics.metrics, None, public=True, quiet=True),
)

# Routes outside the API. Their paths are relative to the root of the service.
OUTSIDE: tuple[Route, ...] = (
    Route("GET", "/", pages.index, PUBLIC, public=True),
    Route("GET", "/console/{version}/{name:.+}", static.asset, None, public=True, quiet=True),
    Route("GET", "/media/{key}", media.show, None, public=True, quiet=True),
    *OPERATION,
    Route("GET", "/llms.txt", documents.llms, PUBLIC, public=True),
    Route("GET", "/docs-assets/{name}", documents.asset, None, public=True, quiet=True),
    Route("GET", "/verify-email/{uid}/{token}/", pages.verify_email, PUBLIC, public=True),
    Route("GET", "/reset-password/{uid}/{token}/", pages.reset_password, PUBLIC, public=True),
    Route("GET", "/magic-login/{uid}/{token}/", pages.magic_login, PUBLIC, public=True),
    Route("GET", "/undo-email/{uid}/{token}/", pages.undo_email, PUBLIC, public=True),
    Route("GET", "/approve-email/{uid}/{token}/", pages.approve_email, PUBLIC, public=True),
    Route("GET", "/checkout/success/", pages.checkout_success, PUBLIC, public=True),
    Route("GET", "/checkout/canceled/", pages.checkout_canceled, PUBLIC, public=True),
    Route("GET", "/checkout/done/", pages.portal_done, PUBLIC, public=True),
)
