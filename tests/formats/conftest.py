"""The scan of formats on native and on pure."""

from tests.log.conftest import scan_core as scan_core
