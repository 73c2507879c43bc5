"""Hardware features: one instruction each, and on which targets a ptxas assembles it."""

from pathlib import Path

from envbuild.matrix.vendor import ptxas
from envbuild.matrix.vendor.compiler import member
from envbuild.matrix.vendor.model import Reader, Unreadable
from envbuild.matrix.vendor.wheel import opened
from envbuild.values.codec import Value

_MMA = "mma.sync.aligned"
_F32 = "{f0,f1,f2,f3}"
#: A feature is there where one of its instructions assembles (PTX ISA, chapters 9.7.14 to 9.7.17).
PROBES: dict[str, tuple[str, ...]] = {
    "tensor-cores": (
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {r0,r1,r2,r3}, "
            "{r4,r5,r6,r7,r8,r9,r10,r11}, {r4,r5,r6,r7,r8,r9,r10,r11}, {r0,r1,r2,r3};"
        ),
    ),
    "bf16": (f"{_MMA}.m16n8k8.row.col.f32.bf16.bf16.f32 {_F32}, {{r0,r1}}, {{r2}}, {_F32};",),
    "tf32": (f"{_MMA}.m16n8k4.row.col.f32.tf32.tf32.f32 {_F32}, {{r0,r1}}, {{r2}}, {_F32};",),
    "int8": (f"{_MMA}.m8n8k16.row.col.s32.s8.s8.s32 {{r0,r1}}, {{r2}}, {{r3}}, {{r0,r1}};",),
    "fp64-tensor": (
        f"{_MMA}.m8n8k4.row.col.f64.f64.f64.f64 {{d0,d1}}, {{d2}}, {{d3}}, {{d0,d1}};",
    ),
    "sparsity": (
        (
            "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            f"{_F32}, {{r0,r1}}, {{r2,r3}}, {_F32}, r4, 0x0;"
        ),
    ),
    "fp8": (
        f"{_MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32 {_F32}, {{r0,r1,r2,r3}}, {{r4,r5}}, {_F32};",
    ),
    "fp6": (
        (
            f"{_MMA}.kind::f8f6f4.m16n8k32.row.col.f32.e3m2.e2m3.f32 "
            f"{_F32}, {{r0,r1,r2,r3}}, {{r4,r5}}, {_F32};"
        ),
        "tcgen05.mma.cta_group::1.kind::f8f6f4 [r0], x0, x1, r1, p;",
    ),
    "fp4": (
        (
            f"{_MMA}.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e2m1.f32 "
            f"{_F32}, {{r0,r1,r2,r3}}, {{r4,r5}}, {_F32};"
        ),
        "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32 [r0], x0, x1, r1, [r2], [r3], p;",
    ),
    "wgmma": ("wgmma.fence.sync.aligned;",),
    "tcgen05": ("tcgen05.fence::before_thread_sync;",),
    "tma": ("cp.async.bulk.commit_group;",),
    "clusters": ("barrier.cluster.arrive.aligned;",),
    "cp-async": ("cp.async.commit_group;",),
    "setmaxnreg": ("setmaxnreg.inc.sync.aligned.u32 64;",),
    "dp4a": ("dp4a.s32.s32 r0, r1, r2, r3;",),
    "fp16": ("add.f16 h0, h1, h2;",),
    "atomic-f64": ("atom.global.add.f64 d0, [x0], d1;",),
}
_KERNEL = """.version {ptx}
.target sm_{target}
.address_size 64
.visible .entry k() {{
.reg .pred p; .reg .b16 h<3>; .reg .b32 r<12>; .reg .f32 f<4>; .reg .f64 d<4>; .reg .b64 x<2>;
{instruction}
ret; }}
"""


class Probed(Value):
    """The targets of one ptxas that have a feature."""

    feature: str
    targets: tuple[str, ...]


class ProbeFacts(Value):
    """What the ptxas of a wheel assembles: all its targets, and those of each feature."""

    targets: tuple[str, ...]
    features: tuple[Probed, ...]


def read(wheel: Path) -> ProbeFacts:
    """Assemble every probe for every target with the ptxas of a wheel.

    Raises:
        Unreadable: no zip file, no ptxas in it, or one that does not run here.
    """
    with opened(wheel) as archive:
        path = member(archive.namelist(), "bin/ptxas")
        if path is None:
            what = f"{wheel.name} holds no ptxas"
            raise Unreadable(what)
        with ptxas.taken(archive, path) as assembler:
            can = ptxas.measure(assembler)
            features = tuple(
                Probed(
                    feature=name,
                    targets=tuple(
                        target
                        for target in can.targets
                        if any(assembles(assembler, can.ptx, target, text) for text in texts)
                    ),
                )
                for name, texts in PROBES.items()
            )
    return ProbeFacts(targets=can.targets, features=features)


def assembles(assembler: Path, ptx: str, target: str, instruction: str) -> bool:
    """Whether a ptxas with this PTX ISA takes an instruction for a target."""
    text = _KERNEL.format(ptx=ptx, target=target, instruction=instruction)
    return not ptxas.assemble(assembler, text, target)


PROBED = Reader("probes-1", ProbeFacts, read)
