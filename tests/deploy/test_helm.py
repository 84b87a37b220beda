"""The Helm chart, rendered by Helm itself: what it names is what the code has, and its parts fit together."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
import yaml

from bookgen import __version__, config
from bookgen.http.routes import OPERATION
from bookgen.models import ProcessRole
from bookgen.settings import names
from tests.checkers import HELM
from tests.service import ROOT

CHART = ROOT / "deploy/helm"
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text()
EVERYTHING = ("--set", "serviceMonitor.enabled=true", "--set", "postgres.enabled=true")

pytestmark = pytest.mark.checker("helm")
Objects = dict[tuple[str, str], dict[str, Any]]


def helm(*arguments: str) -> str:
    done = subprocess.run([HELM, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(*arguments: str) -> Objects:
    """The objects of a release called `bookgen`, by kind and name."""
    objects = yaml.safe_load_all(helm("template", "bookgen", str(CHART), *arguments))
    return {(each["kind"], each["metadata"]["name"]): each for each in objects if each}


@pytest.fixture(scope="module")
def objects() -> Objects:
    return rendered(*EVERYTHING)


@pytest.mark.parametrize("more", [(), EVERYTHING], ids=["default", "everything"])
def test_helm_lint_accepts_the_chart(more: tuple[str, ...]) -> None:
    helm("lint", "--strict", str(CHART), *more)


def test_by_default_the_chart_needs_no_kubernetes_operator() -> None:
    assert {kind for kind, _ in rendered()} == {"Deployment", "Service", "Ingress", "PodDisruptionBudget"}


def test_the_charts_version_is_that_of_the_service() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize("role", [ProcessRole.WEB, ProcessRole.ACTORS])
def test_the_pods_of_a_role_have_the_settings_that_the_code_expects(
    objects: Objects, role: ProcessRole, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod, container = _pod(objects, role)
    given = {each["name"]: each.get("value", "postgresql://bookgen@postgres/bookgen") for each in container["env"]}
    assert set(given) <= set(names().values())
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    read = config.load(None)

    assert (read.role, read.port) == (role, container["ports"][0]["containerPort"])
    assert pod["terminationGracePeriodSeconds"] > read.drain_seconds
    assert pod["enableServiceLinks"] is False
    assert f"BOOKGEN_PORT={read.port}" in DOCKERFILE
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounted == {re.findall(r"^VOLUME (.*)$", DOCKERFILE, re.M)[0], "/tmp"}
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    user = pod["securityContext"]
    assert f"USER {user['runAsUser']}:{user['runAsGroup']}" in DOCKERFILE


@pytest.mark.parametrize("role", [ProcessRole.WEB, ProcessRole.ACTORS])
def test_every_probe_uses_a_path_that_needs_no_token(objects: Objects, role: ProcessRole) -> None:
    _, container = _pod(objects, role)
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]

    assert [probe["path"] for probe in probes] == ["/healthz", "/healthz", "/readyz"]
    assert {probe["path"] for probe in probes} < {route.path for route in OPERATION}
    assert {probe["port"] for probe in probes} == {container["ports"][0]["name"]}


def test_services_and_disruption_budgets_select_existing_pods(objects: Objects) -> None:
    pods = {role: _labels(objects["Deployment", f"bookgen-{role}"]) for role in ("web", "actors")}
    selectors = {name: one["spec"]["selector"] for (kind, name), one in objects.items() if kind == "Service"}
    budgets = {
        name: one["spec"]["selector"]["matchLabels"]
        for (kind, name), one in objects.items()
        if kind == "PodDisruptionBudget"
    }

    assert _found(selectors["bookgen"], pods) == ["web"]
    assert _found(selectors["bookgen-metrics"], pods) == ["web", "actors"]
    assert {name: _found(selector, pods) for name, selector in budgets.items()} == {
        "bookgen-web": ["web"], "bookgen-actors": ["actors"],
    }  # fmt: skip
    for role in pods:
        deployment = objects["Deployment", f"bookgen-{role}"]
        assert _found(deployment["spec"]["selector"]["matchLabels"], pods) == [role]


def test_the_ingress_leads_to_the_web_pods(objects: Objects) -> None:
    ingress, service = objects["Ingress", "bookgen"]["spec"], objects["Service", "bookgen"]
    (rule,) = ingress["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]

    assert (rule["host"], ingress["tls"][0]["hosts"]) == ("books.example.org", ["books.example.org"])
    assert backend == {"name": service["metadata"]["name"], "port": {"name": service["spec"]["ports"][0]["name"]}}


def test_prometheus_scrapes_each_process_with_the_token(objects: Objects) -> None:
    monitor, service = objects["ServiceMonitor", "bookgen"]["spec"], objects["Service", "bookgen-metrics"]
    (endpoint,) = monitor["endpoints"]

    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert endpoint["path"] in {route.path for route in OPERATION}
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    assert endpoint["authorization"]["credentials"]["key"] in names().values()


def test_the_database_confirms_a_commit_once_a_replica_has_it(objects: Objects) -> None:
    cluster = objects["Cluster", "bookgen-postgres"]["spec"]
    _, container = _pod(objects, ProcessRole.WEB)
    url = next(each for each in container["env"] if each["name"] == "BOOKGEN_DATABASE_URL")

    assert cluster["instances"] > cluster["postgresql"]["synchronous"]["number"] >= 1
    assert cluster["postgresql"]["synchronous"]["dataDurability"] == "required"
    assert url["valueFrom"]["secretKeyRef"]["name"] == "bookgen-postgres-app"  # as the operator names it


def _pod(objects: Objects, role: ProcessRole) -> tuple[dict[str, Any], dict[str, Any]]:
    """The pod of a role, and its container."""
    pod = objects["Deployment", f"bookgen-{role}"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    return pod, container


def _labels(deployment: dict[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = deployment["spec"]["template"]["metadata"]["labels"]
    return labels


def _found(selector: dict[str, str], pods: dict[str, dict[str, str]]) -> list[str]:
    return [role for role, labels in pods.items() if selector.items() <= labels.items()]
