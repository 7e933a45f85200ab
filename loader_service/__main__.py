"""Lets ``python -m loader_service`` be the command ``loader-service``."""

from loader_service.cli import main

if __name__ == "__main__":
    main()
