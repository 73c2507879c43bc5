"""A target or request as the command line that asks for it; a plan in a few words."""

from typing import TYPE_CHECKING

from envbuild.planner.target import Target
from envbuild.values.codec import replace
from envbuild.values.request import Request, Wish

if TYPE_CHECKING:
    from envbuild.planner.choose import Choice

_FROM = {
    "image": "the vendor's image",
    "wheels": "wheels",
    "distro": "the distribution",
    "apt": "the vendor's repository",
    "redist": "the vendor's archives",
    "conda": "conda",
}


def as_request(target: Target) -> Request:
    """What to ask for to get this target again; detected facts become flags."""
    request = target.request
    # Names that a machine gave need not be names of products; those from flags are.
    gpus = tuple(c.name for c in target.cards if c.name) if request.gpus else ()
    cc = tuple(dict.fromkeys(c.cc for c in target.cards if not (gpus and c.name)))
    if target.every_cc:
        cc = ("all",)
    asked, _, arch = (request.platform or "").partition("/")
    # What a named system brings along follows from its name again.
    seen = target.on_host and not target.declared
    platform = "wsl2" if target.windows else "jetson" if target.l4t is not None else None
    return replace(
        request,
        cc=cc,
        gpus=gpus,
        driver=target.driver,
        cuda=target.cuda.text if target.cuda is not None else None,
        packages=tuple(
            Wish(name=w.name, range=w.range.text if w.range is not None else "")
            for w in ((target.torch,) if target.torch is not None else ()) + target.packages
        ),
        features=target.features,
        base_os=request.base_os if target.on_host else target.base_os,
        arch=target.arch if target.arch != "x86_64" or arch or request.arch else None,
        platform=platform or ("linux" if asked == "linux" else None),
        l4t=_l4t(target),
        glibc=target.glibc if seen or (target.on_host and request.glibc) else None,
        gcc=target.gcc if seen or (target.on_host and request.gcc) else None,
        where="host" if target.where == "host" else None,
        flavour=target.flavour,
        toolkit_source=target.source,
        split=target.split,
    )


def _l4t(target: Target) -> str | None:
    """As it was written; that of a machine, where it was looked at."""
    if target.l4t is None or target.declared:
        return target.request.l4t if target.l4t is not None else None
    return target.request.l4t or target.l4t


_SEEN = ("cc", "gpus", "driver", "arch", "platform", "l4t", "glibc", "gcc")
"""What a machine says by itself."""


def command(target: Target) -> tuple[str, ...]:
    """The command that plans for this target.

    A machine that can be looked at again is named, with the flags that the user gave beside it;
    what is known of another is spelled out.
    """
    whole = as_request(target)
    if target.machine is None:
        return argv(whole)
    own = {name: getattr(target.request, name) for name in _SEEN}
    return (*argv(replace(whole, **own)), *target.machine)


def argv(request: Request, command: str = "plan") -> tuple[str, ...]:
    """``envbuild COMMAND`` with the request's flags."""
    pairs = [
        *(("--cc", cc) for cc in request.cc),
        *(("--gpu", name) for name in request.gpus),
        ("--driver", request.driver),
        ("--cuda", request.cuda),
        *(("--with", _wish(wish)) for wish in request.packages),
        *(("--feature", name) for name in request.features),
        ("--base-os", request.base_os),
        ("--arch", request.arch),
        ("--platform", request.platform),
        ("--l4t", request.l4t),
        ("--glibc", request.glibc),
        ("--gcc", request.gcc),
        ("--where", request.where),
        ("--flavour", request.flavour),
        ("--toolkit-source", request.toolkit_source),
        ("--as-of", request.as_of),
    ]
    words = [word for flag, value in pairs if value is not None for word in (flag, value)]
    return ("envbuild", command, *words, *(("--split",) if request.split else ()))


def _wish(wish: Wish) -> str:
    return f"{wish.name}{'==' if wish.range[:1].isdigit() else ''}{wish.range}"


def describe(target: Target, choice: "Choice", *, contained: bool = False) -> str:
    """A plan in a few words."""
    place, build = choice.place, choice.build
    what = f"CUDA {place.release} from {_FROM[place.source]}"
    what += f" on {place.os}" if place.os is not None else ", on the machine itself"
    if build is not None:
        what = f"torch {build.torch} from {build.index}, {what}"
    return f"{what}, in a container" if contained and target.where == "image" else what
