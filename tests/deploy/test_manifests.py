"""Every file in deploy/ is what its own tool takes, and names what there is."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner

from loader_service.cli import cli
from loader_service.cluster_options import check_cluster
from loader_service.endpoint import ENVIRONMENT_VARIABLE as ENDPOINT
from loader_service.protocol.segment_files import ENVIRONMENT_VARIABLE as SHARED_MEMORY
from loader_service.sharing_group import ENVIRONMENT_VARIABLE as GROUP
from tests.deploy.kuberay import CLUSTER_SPEC, JOB_SPEC, resource

_ROOT = Path(__file__).parents[2]
_DEPLOY = _ROOT / "deploy"
_KUBERNETES = sorted((_DEPLOY / "kubernetes").glob("*.yaml"))

#: The versions of Kubernetes that manifests are checked against: the first with side-cars as they are used, and later.
_VERSIONS = ("1.29", "1.31", "1.33")


def _documents(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


def _pods(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the pod specs in a manifest, at any depth."""
    if isinstance(value, dict):
        if "containers" in value:
            yield value
        for each in value.values():
            yield from _pods(each)
    elif isinstance(value, list):
        for each in value:
            yield from _pods(each)


def _containers() -> Iterator[tuple[Path, dict[str, Any], dict[str, Any]]]:
    """Yield file, pod and container of each manifest."""
    for path in _KUBERNETES:
        for document in _documents(path):
            for pod in _pods(document):
                for container in (*pod.get("initContainers", ()), *pod["containers"]):
                    yield path, pod, container


def test_there_is_a_check_for_every_file() -> None:
    files = {str(each.relative_to(_DEPLOY)) for each in _DEPLOY.rglob("*") if each.is_file()}
    assert files == {
        "compose/compose.yaml",
        "docker/Dockerfile",
        "docker/Dockerfile.dockerignore",
        "grafana/loader-service.json",
        "kubernetes/daemonset.yaml",
        "kubernetes/raycluster.yaml",
        "kubernetes/rayjob.yaml",
        "kubernetes/sidecar.yaml",
        "prometheus/alerts.yml",
        "prometheus/alerts_test.yml",
        "prometheus/prometheus.yml",
        "ray/cluster.yaml",
        "slurm/train.sbatch",
        "systemd/loader-service@.service",
    }


@pytest.mark.parametrize("version", _VERSIONS)
@pytest.mark.parametrize("path", _KUBERNETES, ids=lambda path: path.name)
def test_manifests_are_what_kubernetes_and_kuberay_take(path: Path, version: str) -> None:
    for document in _documents(path):
        if document["apiVersion"] == "ray.io/v1":
            spec = {"RayCluster": CLUSTER_SPEC, "RayJob": JOB_SPEC}[document["kind"]]
            jsonschema.Draft202012Validator(resource(document["kind"], spec)).validate(document)
            for pod in _pods(document):
                alone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": pod}
                kubernetes_validate.validate(alone, version, strict=True)
        else:
            kubernetes_validate.validate(document, version, strict=True)


def test_a_manifest_with_a_slip_is_refused() -> None:
    document = _documents(_DEPLOY / "kubernetes" / "raycluster.yaml")[0]
    document["spec"]["workerGroupSpecs"][0]["minReplica"] = 1
    with pytest.raises(jsonschema.ValidationError, match="minReplica"):
        jsonschema.Draft202012Validator(resource("RayCluster", CLUSTER_SPEC)).validate(document)


def test_mounts_name_volumes_and_limits_hold_the_shared_memory() -> None:
    for path, pod, container in _containers():
        volumes = {each["name"]: each for each in pod.get("volumes", ())}
        for mount in container.get("volumeMounts", ()):
            assert mount["name"] in volumes, (path, mount)
        shared = next((each["emptyDir"]["sizeLimit"] for each in volumes.values() if _is_memory(each)), "0Gi")
        limits = container.get("resources", {}).get("limits", {})
        if "loader" in container["name"]:
            assert _gigabytes(limits["memory"]) > _gigabytes(shared), (path, container["name"])


def _is_memory(volume: dict[str, Any]) -> bool:
    return bool((volume.get("emptyDir") or {}).get("medium") == "Memory")


def _gigabytes(text: str) -> int:
    assert text.endswith("Gi")
    return int(text.removesuffix("Gi"))


def _command_lines() -> Iterator[tuple[str, list[str]]]:
    """Yield the command lines of `loader-service` in all files, with the name of the file."""
    for path in _KUBERNETES:
        for written in re.findall(r"^#\s+args: (\[.*\])$", path.read_text(), re.MULTILINE):
            yield path.name, yaml.safe_load(written)
    for path, _, container in _containers():
        if container["image"].startswith("loader-service") and "args" in container:
            yield path.name, container["args"]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            command = container.get(probe, {}).get("exec", {}).get("command", ["loader-service", "status"])
            yield path.name, command[1:]
    compose = yaml.safe_load((_DEPLOY / "compose" / "compose.yaml").read_text())
    yield "compose.yaml", compose["services"]["loader"]["command"]


def test_command_lines_have_options_that_there_are() -> None:
    lines = list(_command_lines())
    assert len(lines) > 5
    for name, arguments in lines:
        asked = CliRunner().invoke(cli, [arguments[0], "--help"])
        assert asked.exit_code == 0, name
        known = set(re.findall(r"--[a-z-]+", asked.output))
        assert {each for each in arguments if each.startswith("--")} <= known, name
        if "--ray" in arguments:
            check_cluster(arguments[arguments.index("--ray") + 1])


def test_variables_are_those_that_the_service_reads() -> None:
    known = {ENDPOINT, GROUP, SHARED_MEMORY}
    for path in (*_KUBERNETES, _DEPLOY / "compose" / "compose.yaml", _DEPLOY / "docker" / "Dockerfile"):
        assert set(re.findall(r"LOADER_SERVICE_\w+", path.read_text())) <= known, path


def test_both_ends_of_a_pod_have_the_same_group_socket_and_memory() -> None:
    pod = next(_pods(_documents(_DEPLOY / "kubernetes" / "sidecar.yaml")[0]))
    loader, trainer = pod["initContainers"][0], pod["containers"][0]
    environments = [{each["name"]: each.get("value") for each in one["env"]} for one in (loader, trainer)]
    for name in (ENDPOINT, GROUP):
        assert environments[0][name] == environments[1][name]
    assert int(environments[0][GROUP]) in pod["securityContext"]["supplementalGroups"]
    assert loader["securityContext"]["runAsUser"] != trainer["securityContext"]["runAsUser"]
    mounts = [{each["mountPath"]: each["name"] for each in one["volumeMounts"]} for one in (loader, trainer)]
    for place in ("/dev/shm", "/run/loader"):
        assert mounts[0][place] == mounts[1][place]


def test_compose_takes_its_file() -> None:
    compose = _DEPLOY / "compose" / "compose.yaml"
    services = yaml.safe_load(compose.read_text())["services"]
    assert services["trainer"]["ipc"] == "service:loader"
    assert services["loader"]["environment"][GROUP] == services["trainer"]["environment"][GROUP]
    assert (compose.parent / services["loader"]["build"]["context"] / "pyproject.toml").exists()
    tool = shutil.which("docker-compose")
    if tool is None:
        pytest.skip("no docker-compose here to take the file")
    done = subprocess.run([tool, "-f", str(compose), "config", "-q"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_ray_cluster_of_own_machines_is_what_ray_takes() -> None:
    config = yaml.safe_load((_DEPLOY / "ray" / "cluster.yaml").read_text())
    assert config["provider"]["type"] == "local"
    assert config["max_workers"] == len(config["provider"]["worker_ips"])
    for command in (*config["head_start_ray_commands"], *config["worker_start_ray_commands"]):
        assert shlex.split(command)[0].endswith("/bin/ray")


@pytest.mark.hosts
def test_ray_itself_takes_the_cluster_file() -> None:
    schemas = pytest.importorskip("ray.autoscaler._private.util", reason="needs ray")
    config = yaml.safe_load((_DEPLOY / "ray" / "cluster.yaml").read_text())
    schemas.validate_config(schemas.prepare_config(config))
    assert config["cluster_name"] == "loader"


def test_shell_scripts_have_nothing_that_shellcheck_finds() -> None:
    tool = shutil.which("shellcheck")
    if tool is None:
        pytest.skip("no shellcheck here")
    done = subprocess.run([tool, _DEPLOY / "slurm" / "train.sbatch"], capture_output=True, text=True, check=False)
    assert done.stdout == ""
