"""Rules about launch."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
