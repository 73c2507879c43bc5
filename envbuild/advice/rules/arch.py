"""Rules about arch."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
