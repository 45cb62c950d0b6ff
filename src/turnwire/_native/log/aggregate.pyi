from turnwire.log._aggregate_py import (
    Pairing as Pairing,
    Tally as Tally,
    codes as codes,
    hash_of as hash_of,
    hashes as hashes,
    mixed as mixed,
    picked as picked,
)
