"""A vendor's repository of packages: its key, held against the pinned one, and what it refuses."""

import hashlib
import re
from typing import NamedTuple
from urllib.parse import urlsplit

from envbuild.errors import EnvbuildError, InputError, MachineError, StaleError
from envbuild.io import http, unfetched
from envbuild.io.net import Net
from envbuild.lock import openpgp
from envbuild.render import archive as archives
from envbuild.render import quote
from envbuild.values.lock import Key
from envbuild.values.plan import Plan


class Repository(NamedTuple):
    """What apt is told of it: the address here, the key's bytes, what must never come along."""

    name: str
    url: str
    key: Key
    key_data: bytes
    preferences: tuple[str, ...]

    def serves(self, url: str) -> bool:
        """A file is from this repository and not from the distribution's archive."""
        mine, theirs = urlsplit(self.url), urlsplit(url)
        same = (mine.hostname, mine.port) == (theirs.hostname, theirs.port)
        return same and theirs.path.startswith(f"{mine.path}/")


def ask(plan: Plan, net: Net) -> Repository | None:
    """The plan's repository with its key; None where the toolkit is from elsewhere.

    Raises:
        InputError: the plan pins no key.
        MachineError: the repository does not answer, or not with a key.
        StaleError: its key is not the pinned one.
    """
    where = plan.layout.archive
    if where is None or where.kind != "apt":
        return None
    if not where.key or not where.key_file:
        what = f"the plan pins no key for {where.name}"
        raise InputError(what, fix="use a plan that envbuild wrote")
    url = archives.mirrored(archives.address(where), net.toolkit_mirror)
    file, fingerprint = quote.path(where.key_file), quote.fingerprint(where.key)
    data = http.get(f"{url}/{file}", net).content
    openpgp.check(data, fingerprint, f"{file} of {where.name}")
    key = Key(fingerprint=fingerprint, file=file, sha256=hashlib.sha256(data).hexdigest())
    return Repository(where.name, url, key, data, archives.preferences(where.never))


def common_ca() -> str:
    """The CA bundle that our own requests trust where none is given."""
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    return str(DEFAULT_CA_BUNDLE_PATH)


_SIGNED_WRONG = (
    r"(NO_PUBKEY|BADSIG|EXPKEYSIG|EXPSIG|REVKEYSIG|is not signed|is not bound"
    r"|Signatures? (?:were|was) invalid|signature verification failed)"
)


def refusal(said: str) -> EnvbuildError | None:
    """What apt's messages about a signature mean; None where they are about something else."""
    # Of a file that did not come, apt also says that it is not signed.
    if found := unfetched.first(said):
        sign, line = found
        return sign.kind(f"apt: {sign.says}", why=line, fix=sign.fix)
    if re.search(r"SHA1 is not considered secure", said):
        what = "apt of this base refuses the vendor's key: its signature of itself is SHA-1"
        why = "since 2026-02-01 apt 3 takes none; the vendor renews keys per repository"
        return StaleError(what, why=why, fix="a base whose own repository has a newer key")
    if hit := re.search(r"(?m)^.*(?:NOSPLIT|does the network require authentication).*$", said):
        what = "something else than an archive answered apt"
        fix = "log in to the network (a login page?); check the mirror flags and proxies"
        return MachineError(what, why=hit[0].strip(), fix=fix)
    if hit := re.search(r"(?m)^.*(?:Release file .* is expired|is not valid yet).*$", said):
        what = "the archive's Release file is out of date"
        return MachineError(what, why=hit[0].strip(), fix="check the clock; mend the mirror")
    if hit := re.search(r"(?m)^.*(?:Hash Sum mismatch|File has unexpected size).*$", said):
        what = "an archive serves other bytes than its signed index names"
        return StaleError(what, why=hit[0].strip(), fix="wait for the mirror to be whole again")
    if hit := re.search(rf"(?m)^.*{_SIGNED_WRONG}.*$", said):
        what = "an archive is not signed by the key that is pinned for it"
        return StaleError(what, why=hit[0].strip(), fix="trust no other key; look at the mirror")
    return None
