"""Flags that several commands share, each written once.

A command takes a group of flags as one parameter; `expand` turns it into the single flags that
typer reads::

    @expand
    def command(request: RequestFlags, output: OutputFlags) -> int: ...
"""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from envbuild.cli import show
from envbuild.errors import InputError
from envbuild.io.net import Net, checked, stand_ins
from envbuild.values.codec import Value, fields, replace
from envbuild.values.request import Request, Wish

Text = str | None
Many = list[str] | None


class RequestFlags(Value):
    """What is wanted. Nothing given: this machine is detected."""

    cc: Annotated[
        Many, typer.Option("--cc", help="Compute capability: 6.1, sm_61, 6.1,8.6, all.")
    ] = None
    gpu: Annotated[Many, typer.Option("--gpu", help="GPU by name, e.g. 'GTX 1080 Ti'.")] = None
    driver: Annotated[Text, typer.Option("--driver", help="Driver that must be used.")] = None
    cuda: Annotated[Text, typer.Option("--cuda", help="Toolkit range: 12.6, '>=12.4,<13', 13.")] = (
        None
    )
    torch: Annotated[Text, typer.Option("--torch", help="Same as --with torch==VERSION.")] = None
    with_: Annotated[
        Many, typer.Option("--with", help="Package: numba, cupy, triton, cudnn==9.10.")
    ] = None
    feature: Annotated[
        Many, typer.Option("--feature", help="wgmma, fp8, tensor-cores, extension, ...")
    ] = None
    base_os: Annotated[Text, typer.Option("--base-os", help="ubuntu24.04, debian13, ...")] = None
    arch: Annotated[Text, typer.Option("--arch", help="x86_64 or aarch64.")] = None
    platform: Annotated[
        Text, typer.Option("--platform", help="linux, wsl2, jetson, linux/arm64.")
    ] = None
    l4t: Annotated[Text, typer.Option("--l4t", help="Jetson release: r36.4.")] = None
    glibc: Annotated[Text, typer.Option("--glibc", help="The C library to build against.")] = None
    gcc: Annotated[Text, typer.Option("--gcc", help="The host compiler that is there.")] = None
    where: Annotated[Text, typer.Option("--where", help="image or host (the native path).")] = None
    flavour: Annotated[Text, typer.Option("--flavour", help="base, runtime or devel.")] = None
    toolkit_source: Annotated[
        Text, typer.Option("--toolkit-source", help="image, wheels, distro, apt, redist, conda.")
    ] = None
    as_of: Annotated[Text, typer.Option("--as-of", help="Judge lifecycles at this date.")] = None
    host: Annotated[Text, typer.Option("--host", help="A recorded host instead of this one.")] = (
        None
    )
    split: Annotated[bool, typer.Option("--split", help="Allow several images.")] = False

    @property
    def machine(self) -> tuple[str, ...]:
        """The flags that name a machine; none = the one at hand."""
        return ("--host", self.host) if self.host is not None else ()

    def command(self, **changes: Any) -> tuple[str, ...]:  # noqa: ANN401 - fields of Request
        """``envbuild plan`` with these flags, for a text that suggests it.

        Args:
            changes: what is asked for otherwise, by the fields of `Request`.

        Raises:
            InputError: as `request`.
        """
        from envbuild.planner.spell import argv

        return (*argv(replace(self.request(), **changes)), *self.machine)

    def request(self) -> Request:
        """The flags as a Request; single words are checked, ranges and names are not yet.

        Raises:
            InputError: a word outside its list.
        """
        wishes = [_wish(text) for text in self.with_ or ()]
        if self.torch is not None:
            version = self.torch.strip()
            wishes.append(
                Wish(name="torch", range=version if version[:1] in _COMPARED else f"=={version}")
            )
        return Request(
            cc=words(self.cc),
            gpus=words(self.gpu),
            cuda=self.cuda,
            packages=tuple(wishes),
            features=words(self.feature),
            base_os=self.base_os,
            arch=self.arch,
            platform=self.platform,
            l4t=self.l4t,
            glibc=self.glibc,
            gcc=self.gcc,
            where=_one_of("--where", self.where, ("image", "host")),
            flavour=_one_of("--flavour", self.flavour, ("base", "runtime", "devel")),
            toolkit_source=_one_of(
                "--toolkit-source",
                self.toolkit_source,
                ("image", "wheels", "distro", "apt", "redist", "conda"),
            ),
            driver=self.driver,
            as_of=self.as_of,
            split=self.split,
        )


CaCert = Annotated[
    Text,
    typer.Option(
        "--ca-cert",
        help="PEM file of this network's CA; a build secret.",
        envvar="ENVBUILD_CA_CERT",
    ),
]
AptMirror = Annotated[
    Text,
    typer.Option(
        "--apt-mirror",
        help="Address that serves the distribution's archive.",
        envvar="ENVBUILD_APT_MIRROR",
    ),
]
IndexUrl = Annotated[
    Text, typer.Option("--index-url", help="Python package index.", envvar="ENVBUILD_INDEX_URL")
]
Offline = Annotated[bool, typer.Option("--offline", help="Fetch nothing.")]


class ReachFlags(Value):
    """What every fetch may need; never stored anywhere."""

    ca_cert: CaCert = None
    offline: Offline = False

    def net(self) -> Net:
        """The flags as a Net.

        Raises:
            InputError: a flag that cannot be used.
        """
        net = checked(Net(**fields(self)))
        show.hide(stand_ins(net))
        return net


class PullFlags(ReachFlags):
    """How an image is fetched."""

    registry_mirror: Annotated[
        Text,
        typer.Option(
            "--registry-mirror",
            help="host[:port] that serves docker.io's images.",
            envvar="ENVBUILD_REGISTRY_MIRROR",
        ),
    ] = None


class NetFlags(PullFlags):
    """How this machine reaches the world while it locks and builds."""

    apt_mirror: AptMirror = None
    index_url: IndexUrl = None
    toolkit_mirror: Annotated[
        Text,
        typer.Option(
            "--toolkit-mirror",
            help="Address that serves the paths of the toolkit archive's host.",
            envvar="ENVBUILD_TOOLKIT_MIRROR",
        ),
    ] = None
    network: Annotated[
        str,
        typer.Option(
            "--network",
            help="Network mode of build containers (host, ...).",
            envvar="ENVBUILD_NETWORK",
        ),
    ] = ""


class IndexFlags(ReachFlags):
    """How packages are reached where nothing is built."""

    index_url: IndexUrl = None
    apt_mirror: AptMirror = None


class FleetFlags(Value):
    """What is written for a fleet; of no use for one plan."""

    format: Annotated[
        Many, typer.Option("--format", help="Of a fleet: bake, slurm, kubernetes [bake].")
    ] = None
    repository: Annotated[
        Text,
        typer.Option("--repository", help="Of a fleet: registry.example/team of its images."),
    ] = None
    images: Annotated[
        Text,
        typer.Option("--images", help="Of a fleet: what bake's --metadata-file wrote; pins jobs."),
    ] = None
    require: Annotated[
        Many, typer.Option("--require", help="Of a fleet: suites its jobs must pass [smoke].")
    ] = None
    gpus_per_node: Annotated[
        int | None, typer.Option("--gpus-per-node", help="Of a fleet: GPUs a job asks for [1].")
    ] = None
    tool_image: Annotated[
        Text, typer.Option("--tool-image", help="Of a fleet: image with envbuild, for kubernetes.")
    ] = None


class OutputFlags(Value):
    """How the result is shown."""

    json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Results and errors only.")] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what is run and asked, too.")
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False


_COMPARED = frozenset("<>=!~")
_GROUPS = (RequestFlags, PullFlags, NetFlags, IndexFlags, FleetFlags, OutputFlags)


def expand(function: Callable[..., Any]) -> Callable[..., Any]:
    """Replace each parameter that is a group of flags by the group's single flags."""
    # Not get_type_hints: before 3.11 it wraps a default of None in Optional, around our Annotated.
    hints = inspect.get_annotations(function, eval_str=True)
    groups: dict[str, type] = {}
    plain: list[inspect.Parameter] = []
    shared: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if hints[name] in _GROUPS:
            groups[name] = hints[name]
            field_hints = get_type_hints(hints[name], include_extras=True)
            shared += [
                inspect.Parameter(
                    flag,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=field_hints[flag],
                )
                for flag, default in fields(hints[name]()).items()
            ]
        else:
            plain.append(
                parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
            )

    @functools.wraps(function)
    def wrapper(**values: object) -> object:
        for name, group in groups.items():
            values[name] = flags = group(**{flag: values.pop(flag) for flag in fields(group())})
            if isinstance(flags, OutputFlags):
                show.configure(quiet=flags.quiet, verbose=flags.verbose)
        return function(**values)

    parameters = plain + shared
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    del wrapper.__wrapped__
    return wrapper


def words(values: Many) -> tuple[str, ...]:
    """The words of a flag that takes several, with commas or given again; empty ones are none."""
    return tuple(
        part.strip() for value in values or () for part in value.split(",") if part.strip()
    )


def suites(values: Many) -> tuple[str, ...]:
    """The suites that a flag names, each once.

    Raises:
        InputError: one is none: it must not be met after minutes of work.
    """
    from envbuild.certify.suites import check_known

    found = tuple(dict.fromkeys(words(values)))
    check_known(found)
    return found


def capabilities(values: Many) -> tuple[str, ...]:
    """The compute capabilities that a flag names, each once, as ``9.0``.

    Raises:
        InputError: one is none.
    """
    from envbuild.matrix.names import cc_of

    return tuple(dict.fromkeys(map(cc_of, words(values))))


def _one_of(flag: str, value: str | None, allowed: tuple[str, ...]) -> Any:  # noqa: ANN401
    if value is None or value in allowed:
        return value
    import difflib

    near = difflib.get_close_matches(value, allowed, 1)
    hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(allowed)}"
    what = f"{flag} {value!r} is not known"
    raise InputError(what, fix=hint)


def _wish(text: str) -> Wish:
    name = text.strip()
    for i, c in enumerate(name):
        if not (c.isalnum() or c in "-_.[]"):
            return Wish(name=name[:i].strip().lower(), range=name[i:].strip())
    if not name:
        what = "--with needs a package name"
        raise InputError(what, fix="for example --with numba or --with cupy==14.2.0")
    return Wish(name=name.lower())
