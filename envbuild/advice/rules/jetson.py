"""Rules about jetson."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
