"""Lets ``python -m loader_service`` be the command ``loader-service``."""

from loader_service.boot import forget_first_folder

if __name__ == "__main__":
    forget_first_folder()  # the current one; before anything else is imported

from loader_service.entry_point import main

if __name__ == "__main__":
    main()
