"""What becomes of a certificate: files in several forms, the table, and how it compares."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from envbuild.cli import show
from envbuild.errors import InputError

if TYPE_CHECKING:
    from envbuild.certify.report.compare import Comparison
    from envbuild.values.certificate import Certificate
    from envbuild.values.host import Host


class Reports(NamedTuple):
    """Where reports go, and the older certificate to compare with.

    Attributes:
        markdown: a file, or ``-`` for standard output, which then holds nothing else.
    """

    junit: Path | None = None
    html: Path | None = None
    markdown: str | None = None
    compare: Path | None = None
    json: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that must be writable."""
        markdown = Path(self.markdown) if self.markdown not in {None, "-"} else None
        return tuple(path for path in (self.junit, self.html, markdown) if path)


def ready(wanted: Reports) -> "Certificate | None":
    """Refuse what cannot be made before anything runs; the older certificate, if one is named.

    Raises:
        InputError: plots cannot be drawn, two results are for one output, or the older file is no
            certificate.
    """
    if wanted.html:
        from envbuild.certify.report.plots import check_installed

        check_installed()
    if wanted.markdown == "-" and wanted.json:
        what = "--markdown - and --json would both be written to standard output"
        raise InputError(what, fix="leave one of them out, or give --markdown a file")
    if wanted.compare is None:
        return None
    from envbuild.io import files
    from envbuild.values.certificate import Certificate
    from envbuild.values.codec import load

    return load(Certificate, files.read(wanted.compare), str(wanted.compare))


def refuse_other(old: "Certificate | None", host: "Host") -> None:
    """Refuse to run for minutes where no GPU is of the older certificate's capability.

    Raises:
        InputError: every GPU here is known to be of another.
    """
    here = {gpu.cc for gpu in host.gpus}
    if old and old.device and here and None not in here and old.device.cc not in here:
        found = ", ".join(sorted(cc for cc in here if cc))
        what = f"the older certificate is of a GPU of cc {old.device.cc}, here is cc {found}"
        raise InputError(what, fix="compare with a certificate of the same kind of GPU")


def show_all(
    certificate: "Certificate", saved: str | None, wanted: Reports, old: "Certificate | None"
) -> int:
    """Write the reports, print the result; the exit code is that of the verdict or comparison.

    Raises:
        InputError: the older certificate is of another kind of GPU; everything else is done then.
    """
    found, refused = _compared(certificate, old)
    _write(certificate, wanted, found)
    if wanted.json:
        show.json(certificate)
    elif wanted.markdown != "-":
        _print(certificate, saved)
    if refused:
        raise refused
    if found is None:
        return certificate.exit
    if wanted.markdown != "-":
        from envbuild.certify.report.compare import lines

        for line in lines(found):
            (show.note if wanted.json else show.result)(_fitting(show.clean(line)))
    return found.exit


def _compared(
    certificate: "Certificate", old: "Certificate | None"
) -> "tuple[Comparison | None, InputError | None]":
    if old is None:
        return None, None
    from envbuild.certify.report.compare import compare

    try:
        return compare(old, certificate), None
    except InputError as e:
        return None, e


def _write(certificate: "Certificate", wanted: Reports, found: "Comparison | None") -> None:
    from envbuild.io import files

    if wanted.junit:
        from envbuild.certify.report.junit import junit

        files.write(wanted.junit, junit(certificate))
    if wanted.html:
        from envbuild.certify.report.html import page

        files.write(wanted.html, page(certificate, found))
    if wanted.markdown:
        from envbuild.certify.report.markdown import markdown

        show.write(wanted.markdown, markdown(certificate, found))


def _print(certificate: "Certificate", saved: str | None) -> None:
    import shutil

    from envbuild.certify.report.table import coloured, table

    width = shutil.get_terminal_size((120, 24)).columns
    text = show.clean(table(certificate, saved, width))
    show.result(coloured(_fitting(text), show.paint))


def _fitting(text: str) -> str:
    """The text, or its ASCII form where standard output cannot hold it."""
    from envbuild.certify.report.bars import PLAIN

    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(PLAIN)
    return text
