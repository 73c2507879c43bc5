"""What helps: findings about a machine, guides to a plan, and the steps of each fix."""
