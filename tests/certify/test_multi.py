"""Suite `multi` end to end: the real runner, made devices, a made NCCL; each way to be wrong."""

import subprocess
from pathlib import Path

import pytest

from envbuild.attest import figures
from envbuild.certify import run
from envbuild.certify.run import state
from envbuild.certify.seen import Ran, Seen, Session
from envbuild.engines.base import RunSpec
from envbuild.io.proc import Completed
from envbuild.matrix.load import load
from envbuild.values.certificate import Certificate, Check
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import Gpu, Host, Mig
from tests.certify import here, samples

FIRST = here.HOST.gpus[0]
SECOND = replace(FIRST, uuid="GPU-fafafafa-fafa-fafa-fafa-fafafafafafb")
TWO = replace(here.HOST, gpus=(FIRST, SECOND))
# The made driver's instances: bytes of 0x11, the last one 0x11 + N.
INSTANCES = tuple(f"MIG-11111111-1111-1111-1111-1111111111{0x11 + n:02x}" for n in range(3))


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = here.fake_libcuda(tmp_path_factory.mktemp("driver"))
    source = Path(__file__).with_name("fake_nccl.c")
    argv = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*argv, "-o", folder / "libnccl.so.2", source], check=True)
    return folder


def certify(engine: here.HereEngine, host: Host = TWO) -> Certificate:
    return run.certify(
        engine,
        here.image(stage="runtime", cc="9.0", promise="90"),
        host=host,
        matrices=load(),
        policy=run.Policy(require=("multi",)),
    )


def checks(found: Certificate) -> dict[str, Check]:
    suite = next(s for s in found.suites if s.name == "multi")
    return {check.id.removeprefix("multi."): check for check in suite.checks}


def test_two_gpus_that_are_right(driver: Path) -> None:
    engine = here.HereEngine(driver, "gpus=2")
    found = certify(engine)
    assert found.exit == 0, {name: check.reason for name, check in checks(found).items()}
    copies, total, mig = (checks(found)[name] for name in ("copies", "sum", "mig"))
    assert (copies.value, total.value) == ("0", "0")
    assert [name for name, _ in copies.inputs] == ["0 to 1", "1 to 0"]
    assert all(text.startswith("direct, ") for _, text in copies.inputs)
    assert total.inputs.get("NCCL") == f"2.28.3 {driver}/libnccl.so.2"
    assert all(control.red for check in (copies, total) for control in check.controls)
    assert (mig.verdict, mig.core) == ("skip", False)
    for check, terms in ((copies, ("wrong", "pairs")), (total, ("wrong", "ranks"))):
        assert list(figures.wrong(check)) == []
        for name in terms:
            changed = replace(check, terms=Pairs(dict(check.terms) | {name: "7"}))
            assert "does not hold" in next(figures.wrong(changed))
    # Both GPUs come in, by name; smoke before it has the first alone.
    devices = [spec.devices for spec in engine.specs if spec.access != "none"]
    both = tuple(gpu.uuid for gpu in TWO.gpus)
    assert devices == [(FIRST.uuid,), both, both]


def test_refused_peer_access_is_a_fact(driver: Path) -> None:
    found = certify(here.HereEngine(driver, "gpus=2,nopeer"))
    assert found.exit == 0
    assert all(how.startswith("through the host") for _, how in checks(found)["copies"].inputs)


@pytest.mark.parametrize(
    ("fake", "check", "verdict", "blame", "code", "says"),
    [
        ("gpus=2,corrupt", "copies", "fail", "machine", 4, "0 to 1: 1, 1 to 0: 1; direct"),
        ("gpus=2,corrupt,nopeer", "copies", "fail", "machine", 4, "through the host"),
        ("gpus=2,dropped", "copies", "fail", "machine", 4, "4194304"),
        ("gpus=2,garbled", "sum", "fail", "image", 6, "1 of 8388608 sums are wrong"),
        ("gpus=2,lonely", "sum", "fail", "image", 6, "sums are wrong"),
        ("gpus=2,nccl=2", "sum", "fail", "image", 6, "answers 2 unhandled system error"),
        ("gpus=2,deaf", "sum", "void", "suite", 9, "wrong number of one rank"),
        ("", "copies", "fail", "machine", 4, "1 of the host's 2 GPUs came into the container"),
        ("gpus=3", "copies", "fail", "machine", 4, "3 of the host's 2 GPUs"),
    ],
)
def test_each_way_to_be_wrong_is_seen(
    driver: Path, fake: str, check: str, verdict: str, blame: str, code: int, says: str
) -> None:
    found = certify(here.HereEngine(driver, fake))
    one = checks(found)[check]
    assert (one.verdict, one.blame) == (verdict, blame)
    assert says in one.reason
    assert found.exit == code


def test_a_sum_is_the_machines_fault_where_copies_are_wrong_too(driver: Path) -> None:
    found = certify(here.HereEngine(driver, "gpus=2,corrupt,garbled"))
    assert checks(found)["sum"].blame == "machine"
    assert found.exit == 4


def test_an_image_without_nccl_is_not_certified_for_several_gpus(tmp_path: Path) -> None:
    found = certify(here.HereEngine(here.fake_libcuda(tmp_path), "gpus=2"))
    one = checks(found)["sum"]
    assert (one.verdict, one.blame, one.core) == ("skip", "image", True)
    assert "libnccl.so.2: cannot open shared object file" in one.reason
    assert found.exit == 6


def test_one_gpu_alone_is_a_skip_with_the_reason(driver: Path) -> None:
    found = certify(here.HereEngine(driver), here.HOST)
    assert {check.verdict for check in checks(found).values()} == {"skip"}
    assert checks(found)["copies"].reason == "one GPU alone"
    assert found.exit == 4


class Divided(here.HereEngine):
    """A GPU in MIG mode: a container sees the one instance that it was given."""

    wrong = ""

    def run(self, ref: str, spec: RunSpec) -> Completed:
        name = next((name for name in spec.devices if name.startswith("MIG-")), "")
        shown = self.wrong or name
        self.fake = f"mig={int(shown[-2:], 16) - 0x11}" if name else ""
        return super().run(ref, spec)


def divided(instances: tuple[str, ...] = INSTANCES) -> Host:
    gpu: Gpu = replace(FIRST, mig=Mig(enabled=True, instances=instances))
    return replace(here.HOST, gpus=(gpu,))


def test_each_mig_instance_alone_by_its_own_uuid(driver: Path) -> None:
    engine = Divided(driver)
    found = certify(engine, divided())
    assert found.exit == 0, {name: check.reason for name, check in checks(found).items()}
    mig = checks(found)["mig"]
    assert (mig.verdict, mig.value, mig.core) == ("pass", "3 of 3", True)
    assert [name for name, _ in mig.inputs] == list(INSTANCES)
    assert len(mig.controls) == 6
    assert [spec.devices for spec in engine.specs if spec.devices] == [(u,) for u in INSTANCES]
    assert not checks(found)["copies"].core
    assert not checks(found)["sum"].core


def test_another_instance_than_the_one_asked_for(driver: Path) -> None:
    engine = Divided(driver)
    engine.wrong = INSTANCES[0]
    found = certify(engine, divided())
    mig = checks(found)["mig"]
    assert (mig.verdict, mig.blame, mig.value) == ("fail", "machine", "1 of 3")
    assert mig.reason.startswith(f"{INSTANCES[1]}: another instance came in")
    assert mig.inputs.get(INSTANCES[0]) == "right"
    assert found.exit == 4


def _instance(now: Seen, i: int, *edits: tuple[str, str]) -> Seen:
    """Made: the smoke probe's answer as an instance's, with texts replaced."""
    text = "\n".join(samples.SMOKE_LINES)
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    name = f"multi.mig.{i}"
    session = Session(name=name, rc=0, steps=(Ran(step=name, rc=0, out=text),))
    return replace(now, sessions=(*now.sessions, session))


@pytest.mark.parametrize(
    ("edit", "verdict", "says"),
    [
        (('"count":1}', '"count":2}'), "fail", "2 devices came in"),
        (('"wrong":0,"first":0}', '"wrong":3,"first":0}'), "fail", "3 of 16777219 sums"),
        (('"wrong":1,"first"', '"wrong":0,"first"'), "void", "changed element in MIG-b"),
        (('"bad":0}', '"bad":1}'), "inconclusive", "did not come to its end"),
        ((f'"nonce":"{samples.NONCE}","calls"', '"nonce":"0","calls"'), "inconclusive", "this run"),
    ],
)
def test_an_instance_that_is_wrong(edit: tuple[str, str], verdict: str, says: str) -> None:
    mig = Mig(enabled=True, instances=("MIG-a", "MIG-b"))
    gpu = Gpu(name="made", uuid="GPU-1", cc="9.0", mig=mig)
    now = replace(samples.seen("toolchain", "smoke", "multi"), gpus=(gpu,))
    now = _instance(_instance(now, 0), 1, edit)
    found = checks(state(now, ("multi",)))["mig"]
    assert found.verdict == verdict
    assert says in found.reason
