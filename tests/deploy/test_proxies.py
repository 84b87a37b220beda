"""The configurations of nginx and Caddy, as they are in `deploy/`, before a running service."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.http.conftest import Api, OpenApi, open_api
from tests.ports import free_port
from tests.service import ROOT

__all__ = ["open_api"]

HOST = "books.example.org"
CLIENT = "127.0.0.2"  # the proxies are on 127.0.0.1


@pytest.mark.checker("nginx")
async def test_nginx_forwards_requests_and_hides_the_operators_endpoints(
    open_api: OpenApi, tmp_path: Path, log_lines: io.StringIO
) -> None:
    api = await _service(open_api)
    key, certificate, port = tmp_path / "key.pem", tmp_path / "certificate.pem", free_port()
    _self_signed(key, certificate)
    ours = (ROOT / "deploy/nginx.conf").read_text()
    for told, here in (
        ("listen 443 ssl http2", f"listen 127.0.0.1:{port} ssl http2"),
        ("listen 80", f"listen 127.0.0.1:{free_port()}"),
        ("127.0.0.1:8000", f"127.0.0.1:{api.client.port}"),
        (f"/etc/letsencrypt/live/{HOST}/fullchain.pem", str(certificate)),
        (f"/etc/letsencrypt/live/{HOST}/privkey.pem", str(key)),
    ):  # fmt: skip
        assert ours.count(told) == 1
        ours = ours.replace(told, here)
    temporary = " ".join(
        f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{ access_log off; {temporary} scgi_temp_path {tmp_path}/scgi;\n{ours}\n}}\n"
    )

    async with _running("nginx", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), port=port):
        await _judge(f"https://127.0.0.1:{port}", log_lines)


@pytest.mark.checker("caddy")
async def test_caddy_forwards_requests_and_hides_the_operators_endpoints(
    open_api: OpenApi, tmp_path: Path, log_lines: io.StringIO
) -> None:
    api, port = await _service(open_api), free_port()
    settings = {
        "BOOKGEN_DOMAIN": f"http://{HOST}:{port}", "BOOKGEN_UPSTREAM": f"127.0.0.1:{api.client.port}",
        "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path),
    }  # fmt: skip
    (tmp_path / "Caddyfile").write_text("{\n\tadmin off\n}\n" + (ROOT / "deploy/Caddyfile").read_text())

    arguments = ("run", "--adapter", "caddyfile", "--config", str(tmp_path / "Caddyfile"))
    async with _running("caddy", *arguments, port=port, environment=settings):
        await _judge(f"http://127.0.0.1:{port}", log_lines)


async def _service(open_api: OpenApi) -> Api:
    """A service with the settings that the page for operators asks for behind a proxy."""
    return await open_api(public_url=f"https://{HOST}", trusted_proxies="127.0.0.1")


async def _judge(url: str, log_lines: io.StringIO) -> None:
    """Ask the service through the proxy, as a client at another address who lies about it."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    connector = aiohttp.TCPConnector(local_addr=(CLIENT, 0), ssl=trusting)
    headers = {"Host": HOST, "X-Forwarded-For": "192.0.2.66", "Forwarded": "for=192.0.2.66"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        for path, status in (("/healthz", 200), ("/readyz", 200), ("/metrics", 404), ("/api/v1/public-settings/", 200)):
            async with session.get(f"{url}{path}") as answer:
                assert answer.status == status, path
        async with session.post(f"{url}/api/v1/auth/login/", json={"username": "ada", "password": "x"}) as answer:
            assert answer.status == 401
        async with session.post(f"{url}/api/v1/auth/login/", data=io.BytesIO(bytes(3 << 20))) as answer:
            assert answer.status in (413, 502)  # 502: the service closed before the proxy had sent it all

    told = [json.loads(line) for line in log_lines.getvalue().splitlines() if "sign_in_failed" in line]
    assert [line["address"] for line in told] == [CLIENT]


@asynccontextmanager
async def _running(
    program: str, *arguments: str, port: int, environment: Mapping[str, str] | None = None
) -> AsyncIterator[None]:
    """A context in which the proxy runs and takes connections."""
    found = shutil.which(program)
    assert found is not None
    process = await asyncio.create_subprocess_exec(
        found, *arguments, env={**os.environ, **(environment or {})}, stderr=asyncio.subprocess.PIPE
    )
    said = asyncio.create_task(_read(process))
    try:
        async with asyncio.timeout(20):
            while not await _takes_connections(port):
                assert process.returncode is None, await said
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await said
        await process.wait()


async def _read(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    return (await process.stderr.read()).decode(errors="replace")


async def _takes_connections(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        await asyncio.sleep(0.02)
        return False
    writer.close()
    await writer.wait_closed()
    return True


def _self_signed(key_file: Path, certificate_file: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
