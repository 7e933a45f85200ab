"""What a RayCluster and a RayJob of KubeRay's API `ray.io/v1` may hold, as far as the manifests here use it.

Pod templates are checked as pods are: their schema is Kubernetes' own.
"""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_AUTOSCALER = _object((), idleTimeoutSeconds=_COUNT, upscalingMode={"enum": ["Default", "Aggressive", "Conservative"]})
_HEAD = _object(
    ("template", "rayStartParams"),
    template={"type": "object"},
    rayStartParams=_TEXTS,
    serviceType={"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    enableIngress={"type": "boolean"},
)
_WORKERS = _object(
    ("groupName", "template", "minReplicas", "maxReplicas"),
    groupName=_TEXT,
    template={"type": "object"},
    rayStartParams=_TEXTS,
    replicas=_COUNT,
    minReplicas=_COUNT,
    maxReplicas=_COUNT,
    numOfHosts=_COUNT,
    idleTimeoutSeconds=_COUNT,
)

CLUSTER_SPEC = _object(
    ("headGroupSpec",),
    rayVersion=_TEXT,
    enableInTreeAutoscaling={"type": "boolean"},
    autoscalerOptions=_AUTOSCALER,
    headGroupSpec=_HEAD,
    workerGroupSpecs={"type": "array", "items": _WORKERS},
    suspend={"type": "boolean"},
)

JOB_SPEC = _object(
    (),
    entrypoint=_TEXT,
    shutdownAfterJobFinishes={"type": "boolean"},
    ttlSecondsAfterFinished=_COUNT,
    activeDeadlineSeconds=_COUNT,
    backoffLimit=_COUNT,
    submissionMode={"enum": ["K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"]},
    runtimeEnvYAML=_TEXT,
    rayClusterSpec=CLUSTER_SPEC,
    suspend={"type": "boolean"},
)


def resource(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a resource of one kind."""
    return _object(
        ("apiVersion", "kind", "metadata", "spec"),
        apiVersion={"const": "ray.io/v1"},
        kind={"const": kind},
        metadata=_object(("name",), name=_TEXT, namespace=_TEXT, labels=_TEXTS, annotations=_TEXTS),
        spec=spec,
    )
