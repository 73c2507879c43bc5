"""Rules about build."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
