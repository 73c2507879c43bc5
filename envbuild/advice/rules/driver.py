"""Rules about driver."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
