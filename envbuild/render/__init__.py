"""Plan and Lock to BuildContext."""
