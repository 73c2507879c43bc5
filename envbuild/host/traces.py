"""What in a text tells whose machine it is from: homes, machines, servers, images."""

import functools
import re

from envbuild import data

# Homes that have a name; a name may hold blanks, as people have them on Windows.
_HOME = (
    r"(?:/(?:home|Users|run/media|media)(?:/(?:[^/:\n]{1,40}(?=/)|[^/:\s]+))?"
    r"|[A-Za-z]:[\\/]Users[\\/](?:[^\\/:\n]{1,40}(?=[\\/])|[^\\/:\s]+)"
    r"|/root(?![\w.-])|(?<![\w/.-])~(?=/))"
)
_BELOW = r"(?:[\\/](?:[^\\/:\n\"'`]{0,60}[^\\/:\s\"'`](?=[\\/])|[^\\/:\s\"'`,;()<>|]+))*"
_IN_HOME = re.compile(rf"{_HOME}({_BELOW})")
# Folders and files that many homes have: they tell nobody, and their place may be the fault.
_COMMON = re.compile(
    r"(?:\.?(?:config|local|cache|docker|conda|v?env|nv|triton|pyenv|ssh|bashrc|profile|wslconfig)"
    r"|share|state|bin|lib|lib64|include|envs|pkgs|versions|stubs|compat|targets|x86_64-linux"
    r"|(?:site|dist)-packages|python[\d.]{0,8}|(?:mini|ana)conda\d?|miniforge\d?|mambaforge"
    r"|AppData|Local|Roaming|Temp|Programs|Python\d{0,4}|Documents|Downloads|Desktop|desktop"
    r"|cuda(?:-[\d.]+)?|cuda_\w{1,20}|nvidia|nvidia-container-runtime|containers|torch|triton"
    r"|nvcc(?:\.exe)?|ptxas|nvidia-smi|pip|docker\.sock|daemon\.json|config\.(?:toml|json)"
    r"|containers\.conf|lib(?:cuda|cudart|cublas\w*|cudnn\w*|nccl|nv[\w-]+|stdc\+\+)\.so[\d.]*)"
)
_ENDING = re.compile(r"\.(?:cu|cuh|cpp|cc|cxx|c|h|hpp|py|so|o|a|log|txt|yaml|yml|json|toml|sh|run)")
_HIDDEN = "x"

_PROMPT = re.compile(r"[\w.-]{1,64}@[\w.-]{1,64}(?=:[~/]| [~/]\S*[\])#$%]|\s*[$#]\s)")
# The machine in lines of syslog and journalctl: between the time and the program.
_SYSLOG = re.compile(
    r"((?<!\w)(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]{8,15}\S{1,6}) )"
    r"[\w.-]{1,64}(?= [\w./@-]{1,64}(?:\[\d+\])?:)"
)
# A server in an address, and behind what a resolver or ssh complains of.
_SERVER = re.compile(
    r"""(?:://(?:([^\s/@"']{1,200}@))?|\blookup |\bhostname )([A-Za-z][\w.-]{1,200}\w)"""
)
_REGISTRY = re.compile(
    r"(?<![\w./:@~-])((?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24}(?::\d{1,5})?"
    r"|[a-z0-9][a-z0-9.-]{0,62}:\d{2,5})/(?![/\s])([a-z0-9._/-]{1,200})"
)
_PORT = re.compile(r"(?<![\w./:@~-])(?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24}(?=:\d{2,5}\b)")
_ADDRESS = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b|(?<![\w:.])(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F:]{1,9}(?![\w:.])"
)
# Registries of everybody, and the vendors of CDI names.
_COMMON_HOSTS = frozenset(
    {"docker.io", "nvcr.io", "ghcr.io", "quay.io", "github.com", "nvidia.com", "amd.com"}
)


def homes(text: str) -> str:
    """The text with each home as ``~``, and what lies in it by the names that all homes have.

    >>> homes("/home/eve/secret/run.py, /home/eve/.config/nvidia-container-runtime/config.toml")
    '~/x/x.py, ~/.config/nvidia-container-runtime/config.toml'
    """
    return _IN_HOME.sub(lambda found: "~" + _below(found[1]), text)


def _below(path: str) -> str:
    parts = re.split(r"([\\/])", path)
    return "".join(part if at % 2 else _named(part) for at, part in enumerate(parts))


def _named(part: str) -> str:
    if not part or _COMMON.fullmatch(part):
        return part
    ending = _ENDING.search(part)
    return _HIDDEN + (ending[0] if ending and ending.end() == len(part) else "")


def places(text: str) -> str:
    """The text without names of machines, servers and registries, unless everybody knows them.

    >>> places("manifest for reg.corp.example:5000/team/net:1.2 not found")
    'manifest for registry/image:1.2 not found'
    >>> places("eve@lab7:~$ docker pull nvcr.io/nvidia/pytorch:24.01")
    'name@host:~$ docker pull nvcr.io/nvidia/pytorch:24.01'
    """
    text = _SYSLOG.sub(r"\1host", _PROMPT.sub("name@host", text))
    text = _REGISTRY.sub(_image, text)
    found = {part for match in _SERVER.findall(text) for part in match if part}
    found |= set(_PORT.findall(text))
    for name in sorted(found, key=len, reverse=True):
        if not _known(name):
            text = text.replace(name, "" if name.endswith("@") else "host")
    return _ADDRESS.sub("0.0.0.0", text)  # noqa: S104


def _image(found: re.Match[str]) -> str:
    return found[0] if _known(found[1]) else "registry/image"


def _known(host: str) -> bool:
    return host in _COMMON_HOSTS or host.partition(":")[0] in public()


@functools.cache
def public() -> frozenset[str]:
    """Hosts that the matrices name: everybody knows them."""
    text = (data.folder("matrices") / "compiled-reference.json").read_text(encoding="utf-8")
    return frozenset(re.findall(r"https?://([\w.-]{4,100})", text))
