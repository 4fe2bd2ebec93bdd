"""`python -m doctor` is the same command as `amd-doctor`."""

from doctor.cli.main import entry

if __name__ == "__main__":
    entry()
