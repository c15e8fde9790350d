"""Prints the driver functions that only answer CUDA_ERROR_NOT_SUPPORTED, by family: ``python -m tools.clients.absent``."""

from collections import defaultdict

from orias.driver import library
from orias.driver.driver_calls import HANDLERS


def main():
    families = defaultdict(list)
    for f in library.functions():
        if f.symbol not in HANDLERS:
            name = f.symbol.removeprefix("cu")
            end = next((i for i in range(1, len(name)) if name[i].isupper()), len(name))
            families[name[:end]].append(f.symbol)
    print(f"{sum(map(len, families.values()))} of {len(library.functions())} functions")
    for family, names in sorted(families.items()):
        print(f"{family}: {', '.join(names)}")


if __name__ == "__main__":
    main()
