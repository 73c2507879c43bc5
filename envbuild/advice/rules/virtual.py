"""Rules about virtual."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
