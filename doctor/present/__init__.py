"""What a person or a program reads: terminal screen, JSON, pictures. Only this folder and `cli` print."""
