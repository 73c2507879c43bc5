"""The templates: an environment without any decision in it, and the hash of each file."""

import functools
import hashlib
from pathlib import Path

import jinja2

from envbuild import data
from envbuild.engines import unpack
from envbuild.render import quote
from envbuild.values.codec import Pairs

#: File of the context -> template that makes it.
CONTEXT = Pairs(
    {
        "Dockerfile": "Dockerfile.j2",
        ".dockerignore": "dockerignore.j2",
        "compose.yaml": "compose.yaml.j2",
        ".devcontainer/devcontainer.json": "devcontainer.json.j2",
        "README.md": "context.README.md.j2",
    }
)


@functools.cache
def _environment() -> jinja2.Environment:
    # No autoescape: nothing here is HTML; each language has its own filter.
    environment = jinja2.Environment(  # noqa: S701
        loader=jinja2.FileSystemLoader(data.folder("templates")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(quote.FILTERS)
    return environment


def fill(template: str, **values: object) -> bytes:
    """One template with its values, as UTF-8."""
    return _environment().get_template(template).render(**values).encode()


def unpack_source() -> str:
    """The program that unpacks a toolkit's archives, as a context carries it."""
    return Path(unpack.__file__).read_text(encoding="utf-8")


def hashes() -> Pairs:
    """sha256 (hex) of each template and program that a context is made from."""
    folder = data.folder("templates")
    made_from = {name: (folder / name).read_bytes() for _, name in CONTEXT}
    made_from["unpack.py"] = unpack_source().encode()
    return Pairs({n: hashlib.sha256(made_from[n]).hexdigest() for n in sorted(made_from)})
