"""Machines that are made: a GPU as public figures describe it, an image, and the engine between.

What a step prints is made in the very form that the probes print it; `devices.yaml` says where each
figure of a device comes from. Nothing here was measured by this project.
"""
