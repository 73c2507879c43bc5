"""Rules about nccl."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
