"""Workers on other hosts: who receives their rows, who they are, and who places them."""
