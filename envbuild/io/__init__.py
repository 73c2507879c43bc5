"""Everything that touches the world: processes, files, network, registries."""
