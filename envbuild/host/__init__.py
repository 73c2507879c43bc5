"""Probes of this machine; each takes a root folder, so that a fake root can test it."""
