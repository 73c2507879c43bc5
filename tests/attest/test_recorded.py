"""What a GPU's machine signed is verified here, without that machine, its engine or a GPU."""

import base64
import json
import re
from pathlib import Path

import pytest

from envbuild.attest import dsse, statement, verify
from envbuild.attest.verify import About
from envbuild.cli.app import run
from envbuild.values.codec import Pairs, digest, digest_of, dump, dump_line, load
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from tests.planner.ask import ask

FOLDER = Path(__file__).with_name("recorded")
SIGNED, KEY = FOLDER / "h200-docker.intoto.jsonl", FOLDER / "h200.pub"
IMAGE = load(Image, (FOLDER / "h200-image.json").read_bytes(), "h200-image.json")
# Certificate, test result, plan, lock, SBOM and provenance.
KINDS = 6
Cap = pytest.CaptureFixture[str]


def command(*words: str, file: Path = SIGNED, key: Path = KEY) -> int:
    return run(["verify", str(file), "--key", str(key), *words])


def test_a_stranger_verifies_it(capfd: Cap) -> None:
    words = ("--require", "smoke,correct,fast", "--cc", "9.0", "--driver-min", "580")
    assert command(*words) == 0
    said = capfd.readouterr().out
    assert said.splitlines()[-1] == "VERIFIED  smoke, correct, fast, cc 9.0"
    assert f"digest    {IMAGE.manifest}" in said
    assert "node h200" in said
    assert said.count(" counts\n") == KINDS


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--driver-min", "590"), "its driver 580.159.04 does not reach 590"),
        (("--require", "torch"), "suite torch did not run"),
        (("--cc", "12.0"), "no certificate is from a GPU of cc 12.0"),
    ],
)
def test_it_proves_no_more_than_it_says(words: tuple[str, ...], says: str, capfd: Cap) -> None:
    assert command(*words) == 7
    assert says in capfd.readouterr().out


def test_another_key_signed_none_of_it(tmp_path: Path) -> None:
    other = tmp_path / "other.pub"
    lines = KEY.read_text().splitlines()
    body = bytearray(base64.b64decode(lines[1]))
    body[-1] ^= 1
    other.write_text("\n".join([lines[0], base64.b64encode(bytes(body)).decode(), lines[2]]))
    assert command(key=other) == 7


def test_a_changed_figure_is_found(tmp_path: Path, capfd: Cap) -> None:
    first, *rest = SIGNED.read_bytes().splitlines()
    envelope = json.loads(first)
    payload = base64.b64decode(envelope["payload"])
    figure = re.search(rb'"value":"?[0-9.]*[0-8]', payload)
    assert figure is not None
    changed = payload[: figure.end() - 1] + b"9" + payload[figure.end() :]
    envelope["payload"] = base64.b64encode(changed).decode()
    file = tmp_path / "changed.intoto.jsonl"
    file.write_bytes(b"\n".join([json.dumps(envelope).encode(), *rest]))
    assert command(file=file) == 7
    assert "not signed by a trusted key" in capfd.readouterr().out


def test_each_statement_is_of_the_image_that_was_run() -> None:
    config = (IMAGE.manifest or "", IMAGE.config)
    trust = (dsse.trusted_key(KEY.read_bytes(), "h200.pub"),)
    found = verify.split(SIGNED.read_bytes(), "h200")
    about = About(digests=config, labels=IMAGE.labels)
    assert [verify.read(one, trust, about).evidence.problems for one in found] == [()] * KINDS
    # The labels of another image fit neither plan nor lock nor provenance.
    labels = Pairs({name: "sha256:" + "0" * 64 for name, _ in IMAGE.labels})
    other = About(digests=config, labels=labels)
    wrong = [one for one in found if verify.read(one, trust, other).evidence.problems]
    assert len(wrong) == 3


def test_a_value_of_an_older_release_keeps_its_digest() -> None:
    # Written before locks had a seal: read as a value and written again it is another.
    texts = [dsse.opened(line, "h200") for line in SIGNED.read_bytes().splitlines()]
    (raw,) = [json.loads(t)["predicate"] for t in texts if statement.LOCK.encode() in t[:400]]
    text = json.dumps(raw, ensure_ascii=False).encode()
    assert digest_of(text) == IMAGE.labels.get("envbuild.lock")
    assert digest(load(Lock, text, "lock")) != IMAGE.labels.get("envbuild.lock")


def test_the_digest_of_a_text_is_that_of_its_value() -> None:
    plan = ask("9.0")
    assert digest_of(dump(plan)) == digest_of(dump_line(plan)) == digest(plan)
