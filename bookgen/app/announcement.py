"""What `bookgen serve` prints once it is ready."""

from __future__ import annotations

from bookgen.models import ProcessRole
from bookgen.providers.text import TextModel
from bookgen.settings import Config

ROLES = {
    ProcessRole.WEB: "web: serves requests; other processes write books",
    ProcessRole.ACTORS: "actors: writes books; other processes serve requests",
    ProcessRole.BOTH: "both: serves requests and writes books",
}


def announcement(config: Config, address: str, model: TextModel) -> str:
    """The lines to print: the service's addresses, role, database, models, mail and billing."""
    page = "off (BOOKGEN_CONSOLE)" if config.console == "off" else f"{address}/"
    programs = f"{address}/api/v1/docs/"
    if config.role == "actors":
        page = programs = "off (BOOKGEN_ROLE=actors): probes and metrics only"
    database = "BOOKGEN_DATABASE_URL" if config.database_url else f"embedded in {config.data_dir}"
    mail = "by BOOKGEN_SMTP_URL" if config.smtp_url else f"not sent, but stored in {config.data_dir / 'outbox'}"
    billing = "on" if config.billing_enabled else "off"
    return "\n".join(
        [
            f"bookgen is ready at {address}",
            f"  for people    {page}",
            f"  for programs  {programs}",
            f"  role          {ROLES[ProcessRole(config.role)]}",
            f"  database      {database}",
            f"  models        {model.name}",
            f"  mail          {mail}; billing {billing}",
        ]
    )
