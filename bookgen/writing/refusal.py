"""The error for a model's refusal, which is never stored as prose."""

from bookgen.errors import UpstreamAIError
from bookgen.providers.text import StopReason, TextReply, TextRequest


class ModelRefused(UpstreamAIError):
    """The model refused to write this. Change the book's description or the chapter's summary, then try again."""


def raise_if_refused(reply: TextReply, request: TextRequest) -> None:
    if reply.stop is StopReason.REFUSAL:
        raise ModelRefused(
            ModelRefused.__doc__,
            stage=request.stage,
            chapter_number=request.chapter_number,
            retryable=False,
        )
