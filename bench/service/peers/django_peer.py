"""Django REST framework and SimpleJWT under gunicorn with threads, in the usual style: models and serializers."""

from __future__ import annotations

from typing import Any

import django
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from bench.service.peers.common import DSN, SECRET, take

_address = conninfo_to_dict(DSN)
settings.configure(
    SECRET_KEY=SECRET,
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _address["dbname"],
            "USER": _address["user"],
            "PASSWORD": _address.get("password", ""),
            "HOST": _address.get("host", ""),
            "PORT": _address.get("port", ""),
            "CONN_MAX_AGE": None,
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework"],
    MIDDLEWARE=["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"],
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework_simplejwt.authentication.JWTStatelessUserAuthentication"],
        "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    },
    SIMPLE_JWT={"SIGNING_KEY": SECRET, "ALGORITHM": "HS256"},
)
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402 (after the settings)
from django.db import models  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework import serializers, throttling, views  # noqa: E402
from rest_framework.exceptions import NotFound  # noqa: E402
from rest_framework.response import Response  # noqa: E402


class MemoryThrottle(throttling.BaseThrottle):
    def allow_request(self, request: Any, view: Any) -> bool:
        try:
            view.rate_headers = take(request.user.id)
        except KeyError:
            return False
        return True


class BookRow(models.Model):
    user_id = models.BigIntegerField()
    title = models.TextField()
    subtitle = models.TextField()
    genre = models.TextField()
    target_audience = models.TextField()
    description = models.TextField()
    chapter_count = models.IntegerField()
    target_word_count = models.IntegerField()
    trim_size = models.TextField()
    content_language = models.TextField()
    status = models.TextField()
    chapters_count = models.IntegerField()
    word_count = models.IntegerField()
    cover_url = models.TextField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        app_label, db_table, managed = "auth", "books", False


class ChapterRow(models.Model):
    book = models.ForeignKey(BookRow, models.CASCADE, related_name="chapters")
    number = models.IntegerField()
    title = models.TextField()
    summary = models.TextField()
    content = models.TextField()
    word_budget = models.IntegerField()

    class Meta:
        app_label, db_table, managed = "auth", "chapters", False


class ProgressRow(models.Model):
    book = models.OneToOneField(BookRow, models.CASCADE, primary_key=True)
    generation_status = models.TextField()
    completed_chapters = models.IntegerField()
    total_chapters = models.IntegerField()
    status_message = models.TextField()
    outline = models.JSONField()

    class Meta:
        app_label, db_table, managed = "auth", "generation_progress", False


class ChapterSerializer(serializers.ModelSerializer):
    class Meta:
        model = ChapterRow
        fields = ("id", "number", "title", "summary", "content", "word_budget")


class BookSerializer(serializers.ModelSerializer):
    class Meta:
        model = BookRow
        exclude = ("user_id",)


class WholeBookSerializer(BookSerializer):
    chapters = ChapterSerializer(many=True)


class ProgressSerializer(serializers.ModelSerializer):
    percentage = serializers.SerializerMethodField()

    class Meta:
        model = ProgressRow
        exclude = ("book",)

    def get_percentage(self, row: ProgressRow) -> float:
        return round(100 * row.completed_chapters / row.total_chapters, 1) if row.total_chapters else 0.0


class ThrottledView(views.APIView):
    throttle_classes = (MemoryThrottle,)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        answer = super().finalize_response(request, response, *args, **kwargs)
        for name, value in getattr(self, "rate_headers", {}).items():
            answer[name] = value
        return answer


class StatusView(ThrottledView):
    def get(self, request: Any, book_id: int) -> Response:
        found = ProgressRow.objects.filter(book_id=book_id, book__user_id=request.user.id).first()
        if found is None:
            raise NotFound
        return Response(ProgressSerializer(found).data)


class ListView(ThrottledView):
    def get(self, request: Any) -> Response:
        found = BookRow.objects.filter(user_id=request.user.id).order_by("-updated_at")
        return Response(BookSerializer(found, many=True).data)


class WholeBookView(ThrottledView):
    def get(self, request: Any, book_id: int) -> Response:
        found = BookRow.objects.filter(user_id=request.user.id, pk=book_id).prefetch_related("chapters").first()
        if found is None:
            raise NotFound
        return Response(WholeBookSerializer(found).data)


class ChapterView(ThrottledView):
    def patch(self, request: Any, chapter_id: int) -> Response:
        found = ChapterRow.objects.filter(pk=chapter_id, book__user_id=request.user.id).first()
        if found is None:
            raise NotFound
        changed = ChapterSerializer(found, data=request.data, partial=True)
        changed.is_valid(raise_exception=True)
        changed.save()
        return Response(changed.data)


urlpatterns = [
    path("api/v1/books/<int:book_id>/generation-status/", StatusView.as_view()),
    path("api/v1/books/", ListView.as_view()),
    path("api/v1/books/<int:book_id>/", WholeBookView.as_view()),
    path("api/v1/chapters/<int:chapter_id>/", ChapterView.as_view()),
]
application = get_wsgi_application()
