"""Builds and runs the image, boots the unit under a systemd of its own, and makes a book with both.

    python -m tests.deploy.boot [image] [unit]

Run it as root on Debian with buildah, podman, catatonit, runc and debootstrap. No registry of images is asked: the base
image is a fresh Debian with its own Python, which differs from the one that the Dockerfile names in Python's version.
What is built stays in out/deploy, so that the next run is quicker. Each check prints a line; the first failure ends it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from bookgen import __version__
from bookgen.client import SyncClient
from tests.documented import blocks
from tests.service import ROOT

KEPT = ROOT / "out/deploy"
STORAGE = ("--root", KEPT / "images", "--runroot", KEPT / "run", "--storage-driver", "vfs")
# Where cgroups of both versions are mounted, crun refuses to start and runc does not.
PODMAN = ("podman", *STORAGE, "--cgroup-manager", "cgroupfs", "--runtime", shutil.which("runc") or "runc")
LIMITS = ("--ulimit", "nofile=1024:4096", "--ulimit", "nproc=4096:4096")
CERTIFICATES = Path("etc/ssl/certs/ca-certificates.crt")
START_SECONDS = 120
STOP_SECONDS = 60
PASSWORD = "a grey weighbridge in the rain"

BASE_PACKAGES = "python3,python3-venv,ca-certificates,curl"
SYSTEMD_PACKAGES = "systemd systemd-sysv dbus sudo git"


def told(*command: object) -> str:
    """What the command printed on standard output. Raises CalledProcessError, after its error output was printed."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n", file=sys.stderr)
    done.check_returncode()
    return done.stdout


def debian(name: str, packages: str) -> Path:
    """A folder with a Debian of the machine's own release, made once. It trusts the machine's certificates."""
    folder = KEPT / name
    if not folder.exists():
        release = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)
        assert release is not None
        being_made = folder.with_suffix(".part")
        shutil.rmtree(being_made, ignore_errors=True)
        told("debootstrap", "--variant=minbase", f"--include={packages}", release[1], being_made)
        shutil.copy(Path("/") / CERTIFICATES, being_made / CERTIFICATES)
        being_made.rename(folder)
    return folder


def passed(claim: str) -> None:
    print(f"ok  {claim}", flush=True)


def build_image() -> None:
    """Build `deploy/Dockerfile` on a base with the name that it asks for."""
    dockerfile = (ROOT / "deploy/Dockerfile").read_text()
    base = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)[-1]
    folder = debian("base", BASE_PACKAGES)
    with suppress(FileExistsError):
        (folder / "usr/bin/python").symlink_to("python3")
    container = told("buildah", *STORAGE, "from", "scratch").strip()
    told("buildah", *STORAGE, "add", container, folder, "/")
    told("buildah", *STORAGE, "commit", "--rm", container, f"docker.io/library/{base}")
    told("buildah", *STORAGE, "build", "--isolation", "chroot", "--pull-never", "--format", "docker",
         "-f", "deploy/Dockerfile", "-t", "bookgen", ".")  # fmt: skip
    passed("deploy/Dockerfile is built")


def run_image() -> None:
    """Run the image as the docs and `compose.yaml` do: a root that is read-only, no capability, no new privileges."""
    remove("bookgen-image")
    told(*PODMAN, "volume", "rm", "--force", "bookgen-data")
    port = 18080
    told(*PODMAN, "run", "-d", "--name", "bookgen-image", *LIMITS, "--init", "--read-only", "--tmpfs", "/tmp",
         "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "host",
         "-v", "bookgen-data:/var/lib/bookgen", "-e", f"BOOKGEN_PORT={port}", "bookgen")  # fmt: skip
    inside = (*PODMAN, "exec", "bookgen-image")
    try:
        make_a_book(port)
        assert told(*inside, "id", "-u").strip() == "10001"
        assert re.search(r"^CapEff:\s+0+$", told(*inside, "cat", "/proc/self/status"), re.MULTILINE)
        health = json.loads(told(*PODMAN, "inspect", "bookgen-image", "--format", "{{json .Config.Healthcheck.Test}}"))
        told(*inside, *health[1:])
        told(*inside, "bookgen", "check")
        passed("it runs as user 10001 without a capability, its health check and `bookgen check` pass")
        told(*inside, "sh", "-c", "echo a long passphrase >/tmp/p; bookgen backup --passphrase-file /tmp/p /tmp/backup")
        passed("a backup is made and drilled inside")
        told(*PODMAN, "kill", "--signal", "KILL", "bookgen-image")
        told(*PODMAN, "wait", "bookgen-image")
        told(*PODMAN, "start", "bookgen-image")
        read_the_book(port)
        passed("after kill -9 the next start has the book")
        told(*PODMAN, "stop", "-t", STOP_SECONDS, "bookgen-image")
        code = told(*PODMAN, "inspect", "bookgen-image", "--format", "{{.State.ExitCode}}").strip()
        assert code == "0", f"it ended with {code}"
        passed("it stops with exit code 0")
    finally:
        remove("bookgen-image")


def boot_unit() -> None:
    """Boot systemd in a container and run, as root, the lines of docs/install.md."""
    remove("bookgen-unit")
    folder = debian("machine", BASE_PACKAGES)
    told("chroot", folder, "sh", "-c", "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "
         f"--no-install-recommends {SYSTEMD_PACKAGES}")  # fmt: skip
    for left in ("opt/bookgen", "var/lib/bookgen", "etc/bookgen"):
        shutil.rmtree(folder / left, ignore_errors=True)
    told("git", "clone", "-q", ROOT, folder / "opt/bookgen")
    told(*PODMAN, "run", "-d", "--name", "bookgen-unit", *LIMITS, "--privileged", "--systemd=always",
         "--network", "host", "-e", f"PIP_CERT=/{CERTIFICATES}", "--rootfs", folder, "/sbin/init")  # fmt: skip
    inside = (*PODMAN, "exec", "bookgen-unit")
    try:
        installed, listed = (each.text for each in blocks() if "cd /opt/bookgen && python3" in each.text
                             or each.text.startswith("cd /var/lib/bookgen &&"))  # fmt: skip
        told(*inside, "bash", "-ec", installed)
        told(*inside, "bash", "-c", "echo BOOKGEN_PORT=18081 >>/etc/bookgen/bookgen.env; systemctl restart bookgen")
        make_a_book(18081)
        passed("the lines of docs/install.md start the unit")
        assert "ada@example.org" in told(*inside, "bash", "-ec", listed)
        checked = told(*inside, "bash", "-ec", listed.replace("account list", "check"))
        assert "is already running at http://127.0.0.1:18081" in checked
        passed("commands in the service's folder have its settings")
        told(*inside, "bash", "-ec", "systemctl kill -s KILL --kill-who=main bookgen")
        read_the_book(18081)
        passed("after kill -9 systemd starts it again with the book")
        told(*inside, "systemctl", "stop", "bookgen")
        shown = told(*inside, "systemctl", "show", "bookgen", "-p", "Result", "-p", "NRestarts").split()
        assert set(shown) == {"Result=success", "NRestarts=1"}, shown
        passed("it stops with success")
    finally:
        remove("bookgen-unit")


def remove(name: str) -> None:
    subprocess.run([*map(str, PODMAN), "rm", "--force", name], capture_output=True, check=False)


def make_a_book(port: int) -> None:
    until_ready(port)
    with SyncClient(f"http://127.0.0.1:{port}") as client:
        client.register("ada", "ada@example.org", PASSWORD)
        client.books.create("The Salt Road", description="A widow smuggles salt.", chapter_count=3).produce()
    read_the_book(port)


def read_the_book(port: int) -> None:
    """Wait until the service is ready and export the book in every format that the free plan has."""
    until_ready(port)
    with SyncClient(f"http://127.0.0.1:{port}") as client:
        client.login("ada", PASSWORD)
        (book,) = client.books.list()
        assert book.status == "completed", book.status
        shutil.rmtree(KEPT / "book", ignore_errors=True)
        assert len(list(book.save(KEPT / "book"))) == 3


def until_ready(port: int) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
            break
        assert time.monotonic() < end, f"not ready after {START_SECONDS} s"
        time.sleep(1)


def main(*parts: str) -> int:
    print(f"bookgen {__version__}")
    KEPT.mkdir(parents=True, exist_ok=True)
    if "image" in (parts or ("image",)):
        build_image()
        run_image()
    if "unit" in (parts or ("unit",)):
        boot_unit()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
