"""Rules about profilers."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
