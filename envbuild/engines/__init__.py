"""What builds and runs: docker, podman, apptainer, and this machine itself."""
