"""Containers of a docker daemon: one command in a fresh one, and nothing left behind."""

import shlex
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from envbuild.engines import common, owner
from envbuild.engines.base import RunSpec
from envbuild.engines.failures import not_run
from envbuild.io import proc, trace

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_PATIENCE = 5.0  # seconds
_OUTPUT = {"max-size": "8m", "max-file": "2"}
#: Turns what the SDK raises into an error of ours; told the image that is about to start.
Asked = Callable[[str], AbstractContextManager[None]]


def new_name() -> str:
    """A name that no container has."""
    return f"envbuild-{uuid.uuid4().hex[:12]}"


def run(
    client: "DockerClient", asked: Asked, image: str, ref: str, spec: RunSpec
) -> proc.Completed:
    """Run one command in a fresh container; it is removed however this ends.

    Args:
        client: of the daemon.
        asked: as `Asked`.
        image: the daemon's id of the image.
        ref: what people call it.
        spec: command, devices, mounts.

    Raises:
        ImageError: the image itself cannot be started.
        MachineError: the daemon does not answer, or refuses.
    """
    import docker.errors
    import requests

    _sweep(client, asked)
    trace.say(f"docker run {ref}: {shlex.join(spec.argv)}")
    start = time.monotonic()
    name = new_name()
    timed_out = False
    try:
        with asked(ref):
            container = _made(client, image, spec, name)
        try:
            container.start()
            rc = container.wait(timeout=spec.timeout)["StatusCode"]
        except docker.errors.APIError as e:
            text = str(e.explanation or e)
            code = common.not_started(text)
            if code is None:
                raise not_run("docker", ref, text) from e
            return proc.Completed(spec.argv, code, "", text, False, time.monotonic() - start)
        except (requests.ReadTimeout, requests.ConnectionError):
            timed_out, rc = True, -9
        with asked(""):
            out = container.logs(stdout=True, stderr=False)
            err = container.logs(stdout=False, stderr=True)
    finally:
        common.surely(lambda: remove(client, name))
    texts = (out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
    return proc.Completed(spec.argv, rc, *texts, timed_out, time.monotonic() - start)


def _made(client: "DockerClient", image: str, spec: RunSpec, name: str) -> "Container":
    labels = {owner.LABEL: owner.owner()}
    try:
        return client.containers.create(image, **_options(spec), name=name, labels=labels)
    except KeyboardInterrupt:
        # The daemon was asked, and may still be about to make it.
        remove(client, name, coming=True)
        raise


def remove(client: "DockerClient", name: str, *, coming: bool = False) -> None:
    """Remove a container with its volumes, if it is there.

    Args:
        client: of the daemon.
        name: the container.
        coming: one that is not there yet may still come.
    """
    import docker.errors
    import requests

    until = time.monotonic() + _PATIENCE
    while True:
        try:
            client.api.remove_container(name, v=True, force=True)
        except docker.errors.NotFound:
            if not coming:
                return
        except (docker.errors.DockerException, requests.RequestException):
            # A busy daemon gives up on one that starts or ends at this moment.
            pass
        else:
            return
        if time.monotonic() > until:
            return
        time.sleep(0.2)


def _sweep(client: "DockerClient", asked: Asked) -> None:
    """Remove what a killed envbuild left; its label names its process."""
    with asked(""):
        for entry in client.api.containers(all=True, filters={"label": owner.LABEL}):
            if owner.abandoned(entry["Labels"].get(owner.LABEL, "")):
                remove(client, entry["Id"])


def _options(spec: RunSpec) -> dict[str, Any]:
    """A run as the SDK's arguments."""
    from docker.types import DeviceRequest, LogConfig
    from docker.types import Mount as Bind

    common.gpu_flags("docker", spec.access)
    env = dict(spec.env)
    options: dict[str, Any] = {
        "entrypoint": [spec.argv[0]],
        "command": list(spec.argv[1:]),
        "mounts": [
            Bind(target=m.target, source=m.source, type="bind", read_only=not m.writable)
            for m in spec.mounts
        ],
        "user": spec.user or None,
        # What an image runs beside the command would work in its files, and on its GPU, meanwhile.
        "healthcheck": {"test": ["NONE"]},
        "working_dir": spec.workdir or None,
        "network_mode": spec.network or None,
        "security_opt": [common.UNCONFINED[1]] * bool(spec.mounts)
        + [common.NO_RIGHTS[3]] * (not spec.capable),
        "cap_drop": [] if spec.capable else [common.NO_RIGHTS[1]],
        "cap_add": list(spec.keeps),
        # The address of a proxy has a login in it, which is none of an image's business.
        "use_config_proxy": spec.network != "none",
        # The daemon's own log driver may keep nothing, or everything.
        "log_config": LogConfig(type="json-file", config=_OUTPUT),
    }
    names_ = list(spec.devices) or ["all"]
    if spec.access == "cdi":
        ids = [f"nvidia.com/gpu={name}" for name in names_]
        options["device_requests"] = [DeviceRequest(driver="cdi", device_ids=ids)]
    elif spec.access == "gpus":
        chosen = {"device_ids": names_} if spec.devices else {"count": -1}
        options["device_requests"] = [DeviceRequest(capabilities=[["gpu"]], **chosen)]
    elif spec.access == "nvidia-runtime":
        options["runtime"] = "nvidia"
        env["NVIDIA_VISIBLE_DEVICES"] = ",".join(names_)
    else:
        env |= [common.NO_GPU]
    return options | {"environment": env}
