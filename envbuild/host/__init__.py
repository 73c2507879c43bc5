"""What this machine is. Each probe reads a root folder or one command, and never raises."""
