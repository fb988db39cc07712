"""Does sharing help, which tasks, and by how much?"""

__all__: list[str] = []
