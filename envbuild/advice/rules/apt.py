"""Rules about apt."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
