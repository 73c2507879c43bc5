"""The templates: an environment without any decision in it, and the hash of each file."""

import functools
import hashlib

import jinja2

from envbuild import data
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


def hashes() -> Pairs:
    """sha256 (hex) of each template that a context is made from."""
    folder = data.folder("templates")
    return Pairs(
        {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
            for name in sorted(template for _, template in CONTEXT)
        }
    )
