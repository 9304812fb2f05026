"""`python -m tailwave` is `tailwave`."""

from tailwave.cli import main

if __name__ == "__main__":
    main()
