"""``envbuild verify`` as people type it, on files; registries are in tests/integration."""

import io
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from envbuild.attest import publish, statement
from envbuild.attest.verify import Found
from envbuild.cli.app import run
from envbuild.values.codec import digest, dump, load
from envbuild.values.verification import Verification
from tests.attest.made import ABOUT, CONFIG, KEY, MANIFEST, OTHER, certificate
from tests.planner.ask import ask

Cap = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A signed bundle, its key, another's key, and the certificate alone."""
    envelopes = publish.signed(certificate(), ((statement.PLAN, ask("9.0")),), KEY)
    (tmp_path / "c.intoto.jsonl").write_bytes(b"".join(one.envelope + b"\n" for one in envelopes))
    (tmp_path / "c.json").write_bytes(dump(certificate()))
    for name, key in (("key", KEY), ("other", OTHER)):
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / f"{name}.pub").write_bytes(public)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (tmp_path / f"{name}.pem").write_bytes(private)
    return tmp_path


def verify(files: Path, *words: str) -> int:
    return run(["verify", *(str(files / w) if (files / w).exists() else w for w in words)])


def test_a_signed_file_of_a_trusted_key(files: Path, capfd: Cap) -> None:
    assert verify(files, "c.intoto.jsonl", "--key", "key.pub") == 0
    out = capfd.readouterr().out
    assert out.splitlines()[-1] == "VERIFIED  smoke, cc 9.0"
    assert f"digest    {MANIFEST}" in out
    assert out.count("signed by ") == 3


def test_either_of_two_keys_may_have_signed(files: Path) -> None:
    assert verify(files, "c.intoto.jsonl", "--key", "other.pub", "--key", "key.pub") == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("c.intoto.jsonl", "--key", "other.pub"), 7, "not signed by a trusted key"),
        (("c.json", "--key", "key.pub"), 7, "it is not signed"),
        (("c.intoto.jsonl", "--key", "key.pub", "--require", "fast"), 7, "suite fast did not run"),
        (("c.intoto.jsonl", "--key", "key.pub", "--cc", "12.0"), 7, "cc 12.0"),
        (("c.intoto.jsonl", "--key", "key.pub", "--driver-min", "590"), 7, "does not reach 590"),
        (("c.intoto.jsonl", CONFIG, "--key", "key.pub"), 7, "it is about sha256:aaaa"),
        (("c.intoto.jsonl",), 2, "no key is trusted"),
        (("c.intoto.jsonl", "--key", "key.pub", "--unsigned"), 2, "exclude each other"),
        (("c.intoto.jsonl", "--key", "key.pem"), 2, "is a private key"),
        (("c.intoto.jsonl", "--key", "none.pub"), 2, "none.pub"),
        (("none.json", "--key", "key.pub"), 2, "there is no file none.json"),
        (("a", "b", "--key", "key.pub"), 2, "there is no file b"),
        (("./none", "--key", "key.pub"), 2, "there is no file ./none"),
        (("c.json", "--unsigned", "--require", "everything"), 2, "there is no suite everything"),
        (("c.json", "--unsigned", "--max-age", "soon"), 2, "'soon' is no age"),
        (("c.json", "--unsigned", "--driver-min", "new"), 2, "'new'"),
        (("c.json", "--unsigned", "--cc", "9.x"), 2, "9.x"),
        (("c.json", "--unsigned", "--show", "all"), 2, "--show 'all'"),
        (("UPPER", "--unsigned"), 2, "not an image reference"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(
    files: Path, words: tuple[str, ...], code: int, says: str, capfd: Cap
) -> None:
    assert verify(files, *words) == code
    out, err = capfd.readouterr()
    assert says in out + err
    assert "Traceback" not in err
    assert ("NOT VERIFIED" in out) == (code == 7)


def test_nobody_is_named_where_nobody_signed(files: Path, capfd: Cap) -> None:
    assert verify(files, "c.json", "--unsigned") == 0
    assert "nobody signed it" in capfd.readouterr().out.splitlines()[-1]
    assert verify(files, MANIFEST, "c.json", "--unsigned") == 0


def test_a_digest_is_enough_to_say_which_image(files: Path) -> None:
    assert verify(files, MANIFEST, "c.intoto.jsonl", "--key", "key.pub") == 0


def test_a_file_with_the_name_of_an_image_does_not_take_its_place(
    files: Path, capfd: Cap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can put a file into the folder would else say what the image's evidence is."""
    monkeypatch.chdir(files)
    proof = (files / "c.intoto.jsonl").read_bytes()
    (files / "team").mkdir()
    words = (MANIFEST, "app", "team/app", "team")
    for word in words[:3]:
        (files / word).write_bytes(proof)
    (files / "team" / "c.jsonl").write_bytes(proof)
    key = ("--key", "key.pub")
    assert run(["verify", MANIFEST, *key]) == 7
    assert "there is no certificate" in capfd.readouterr().out
    for word in words[1:]:
        # The image is asked for, in its registry.
        assert run(["verify", word, *key, "--offline"]) == 4, word
        assert f"what lies here is ./{word}" in capfd.readouterr().err
    # Written as paths they are files, in any place; after an image a bare word is one, too.
    for argv in (["./app"], [str(files / "app")], ["./team"], ["team/"], [MANIFEST, "app"]):
        assert run(["verify", *argv, *key]) == 0, argv
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(proof)))
    assert run(["verify", "-", *key]) == 0


def test_the_answer_for_programs(files: Path, capfd: Cap) -> None:
    assert verify(files, "c.intoto.jsonl", "--key", "other.pub", "--json") == 7
    found = load(Verification, capfd.readouterr().out.encode(), "stdout")
    assert not found.passed
    assert len(found.evidence) == 3


def test_what_was_signed_can_be_shown(files: Path, capfd: Cap) -> None:
    assert verify(files, "c.intoto.jsonl", "--key", "key.pub", "--show", "plan") == 0
    (plan,) = json.loads(capfd.readouterr().out)
    assert plan["cc"] == ["9.0"]
    # Nothing that does not count is shown.
    assert verify(files, "c.intoto.jsonl", "--key", "other.pub", "--show", "plan") == 7
    assert json.loads(capfd.readouterr().out) == []


def test_what_nobody_signed_can_be_shown(files: Path, capfd: Cap) -> None:
    assert verify(files, "c.json", "c.json", "--unsigned", "--show", "certificates") == 0
    found = json.loads(capfd.readouterr().out)
    assert found == [json.loads(dump(certificate()))] * 2


def test_what_does_not_count_is_not_shown_under_another_s_source(
    monkeypatch: pytest.MonkeyPatch, capfd: Cap, files: Path
) -> None:
    """Whoever attaches chooses the digest, and its first characters by trying."""
    good, bad = (publish.signed(certificate(), (), key)[0].envelope for key in (KEY, OTHER))
    found = tuple(Found("sha256:0123", data, named=False) for data in (good, bad))
    monkeypatch.setattr("envbuild.attest.fetch.about", lambda *_: (ABOUT, found))
    argv = ["verify", "app", "--key", str(files / "key.pub"), "--show", "certificates"]
    assert run(argv) == 0
    assert len(json.loads(capfd.readouterr().out)) == 1


def test_nonsense_is_no_evidence_and_moves_no_cursor(files: Path, capfd: Cap) -> None:
    for text in (b"\x1b[2J{}", b"[]", b"\xff\xfe", b'{"schema":"envbuild/certificate/1"}'):
        (files / "bad.jsonl").write_bytes(text)
        assert verify(files, "bad.jsonl", "--key", "key.pub") in {2, 7}
        out, err = capfd.readouterr()
        assert "\x1b[2J" not in out + err
        assert "Traceback" not in err
    (files / "bad.jsonl").write_bytes(b"")
    assert verify(files, "bad.jsonl", "--key", "key.pub") == 2


def test_equal_input_gives_equal_bytes() -> None:
    more = ((statement.PLAN, ask("9.0")),)
    assert publish.signed(certificate(), more, KEY) == publish.signed(certificate(), more, KEY)
    assert digest(certificate()) == digest(certificate())
