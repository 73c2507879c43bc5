"""What to hand to a helper: the machine and what was found, without what tells whose it is."""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from envbuild import __version__
from envbuild.advice.doctor import diagnose
from envbuild.advice.scene import Scene
from envbuild.host.redact import cleaner, redact, walk
from envbuild.host.traces import places
from envbuild.io.net import without_login
from envbuild.values.codec import Pairs, dump_line, load, replace
from envbuild.values.diagnosis import Bundle, Diagnosis
from envbuild.values.image import ImageFacts

T = TypeVar("T")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
# What follows such a word in a log is nobody's business; the word itself tells what was there.
_SECRET = re.compile(
    r"((?:token|secret|passw(?:or)?d|api[_-]?key|authorization|bearer)[\"']?[\s:=]{1,3})\S+",
    re.IGNORECASE,
)
_LONG = re.compile(r"\b(?:hf|ghp|gho|sk|nvapi|glpat)[_-][\w-]{8,}|\b[A-Za-z0-9_-]{40,}")


def bundle(scene: Scene, diagnosis: Diagnosis, names: tuple[str, ...]) -> Bundle:
    """The bundle of a diagnosis.

    Args:
        scene: what was looked at.
        diagnosis: what was found.
        names: of the user and the machine, to be hidden.
    """
    plain = cleaner(names)

    def hidden(text: str) -> str:
        text = _SECRET.sub(r"\1***", without_login(plain(text)))
        return _LONG.sub("***", places(_MAIL.sub("name@host", text)))

    scene = _unnamed(scene)
    told = replace(diagnosis, findings=diagnose(scene), seen=scene.seen)
    told = replace(_walked(Diagnosis, told, hidden), matrix=diagnosis.matrix)
    image = scene.image
    if image is not None:
        # Labels and most variables of an image are free text of whoever made it.
        image = _walked(ImageFacts, replace(image, labels=Pairs(), env=Pairs()), hidden)
    return Bundle(tool=__version__, host=redact(scene.host, names), image=image, diagnosis=told)


def _unnamed(scene: Scene) -> Scene:
    """The same with its logs by number: what a user calls them may tell what they are about."""
    numbered = {name: f"log {at}" for at, name in enumerate(dict.fromkeys(scene.logs), 1)}
    seen = tuple(replace(one, log=numbered.get(one.log, one.log)) for one in scene.seen)
    return replace(scene, seen=seen, logs=tuple(numbered[name] for name in scene.logs))


def _walked(kind: type[T], value: T, hidden: Callable[[str], str]) -> T:
    return load(kind, dump_line(walk(msgspec.json.decode(dump_line(value)), hidden)), "the bundle")
