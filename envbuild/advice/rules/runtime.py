"""Rules about runtime."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
