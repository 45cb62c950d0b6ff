"""The C that Cython wrote for a release: an sdist carries it, so that whoever installs one needs no Cython.

It stands in the folder ``generated``, with a digest of what it was made of and of itself. Where that is right the C is
used as it is; where anything was changed, Cython writes all of it anew.
"""

import hashlib
import os
import shutil

FOLDER = "generated"
DIGEST = "DIGEST"
SHARED = "cython_shared.c"
MADE_OF = (".pyx", ".pxd", ".pxi")


def _below(folder, endings):
    """The files below a folder that end so, in an order that is the same everywhere."""
    found = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    return sorted(path.replace(os.sep, "/") for path in found if path.endswith(endings))


def names(root="."):
    """The C files, by their places below the folder that they stand in."""
    modules = [os.path.relpath(path, root) for path in _below(os.path.join(root, "_native"), (".pyx",))]
    return [path.replace(os.sep, "/")[: -len(".pyx")] + ".c" for path in modules] + [SHARED]


def digest(root, folder):
    """Of the Cython sources of a tree, of setup.py (which has Cython's directives) and of the C files in a folder."""
    sources = [os.path.join(root, "setup.py"), *_below(os.path.join(root, "_native"), MADE_OF)]
    pairs = [(os.path.relpath(path, root).replace(os.sep, "/"), path) for path in sources]
    pairs += [(name, os.path.join(folder, name)) for name in names(root)]
    total = hashlib.sha256()
    for name, path in pairs:
        with open(path, "rb") as file:
            own = hashlib.sha256(file.read()).hexdigest()
        total.update(f"{own} {name}\n".encode())
    return total.hexdigest()


def fits(root="."):
    """Whether a tree carries the C of just these sources."""
    folder = os.path.join(root, FOLDER)
    try:
        with open(os.path.join(folder, DIGEST), encoding="ascii") as file:
            return file.read().strip() == digest(root, folder)
    except (OSError, UnicodeDecodeError):
        return False  # no sdist, or one of which something is missing


def carry(built, root):
    """Put the C of a tree, which stands in the folder ``built``, into an sdist that is being made in ``root``."""
    folder = os.path.join(root, FOLDER)
    for name in names(root):
        place = os.path.join(folder, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copyfile(os.path.join(built, name), place)
    with open(os.path.join(folder, DIGEST), "w", encoding="ascii") as file:
        file.write(digest(root, folder) + "\n")


def _alike(one, other):
    """Whether two files are there and hold the same."""
    try:
        with open(one, "rb") as first, open(other, "rb") as second:
            return first.read() == second.read()
    except FileNotFoundError:
        return False


def take(built, root="."):
    """Put the C that a tree carries where Cython would write it; False: it does not fit, and Cython is to write it.

    None of it stays there then: the modules of two releases of Cython do not go together.
    """
    usable = fits(root)
    for name in names(root):
        carried, place = os.path.join(root, FOLDER, name), os.path.join(built, name)
        same = _alike(carried, place)
        if usable and not same:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copyfile(carried, place)
        elif same and not usable:
            os.remove(place)
    return usable
