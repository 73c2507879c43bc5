"""Rules about wsl."""

from envbuild.advice.rules import Rule

RULES: tuple[Rule, ...] = ()
