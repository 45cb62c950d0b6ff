"""The C that Cython writes, a fault of it mended; an sdist carries it, so that who installs one needs no Cython.

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
FAULT = """\
    int result = PyList_Append(list, x);
    Py_DECREF(x);
    return result;
"""
"""How Cython 3.3 ends the append of a list comprehension: without memory, the caller gives the reference back, too,
and the process ends later, anywhere."""
MENDED = FAULT.replace("    Py_DECREF(x)", "    if (result == 0) Py_DECREF(x)")


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
    """True if a tree carries the C of just these sources."""
    folder = os.path.join(root, FOLDER)
    try:
        with open(os.path.join(folder, DIGEST), encoding="ascii") as file:
            return file.read().strip() == digest(root, folder)
    except (OSError, UnicodeDecodeError):
        return False  # no sdist, or one of which something is missing


def mend(built, root="."):
    """Mend the C that Cython wrote into the folder ``built``; a file without that stays as it is."""
    for name in names(root):
        place = os.path.join(built, name)
        with open(place, encoding="utf-8") as file:
            text = file.read()
        if FAULT in text:
            with open(place, "w", encoding="utf-8") as file:
                file.write(text.replace(FAULT, MENDED))


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
    """True if two files are there and hold the same."""
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
