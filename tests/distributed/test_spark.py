"""The data source for Spark in examples/: where pyspark 4 and a Java are there, it reads what one scan reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from turnwire.log import plan, scan

pytestmark = pytest.mark.once

pytest.importorskip("pyspark.sql.datasource")

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json
from pyspark.sql import SparkSession
from spark_source import TurnwireSource
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
spark.dataSource.register(TurnwireSource)
read = spark.read.format("turnwire").option("path", "examples/data").option("wire", "nslip")
frame = read.option("block_bytes", "50000").load()
rows = [(row.file, row.offset, row.act, str(row.conv_id), row.tag) for row in frame.collect()]
print(json.dumps([frame.rdd.getNumPartitions(), rows]))
spark.stop()
"""


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java")
@pytest.mark.skipif(not (ROOT / "examples" / "spark_source.py").exists(), reason="needs the source tree")
def test_spark_reads_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "examples"), *(entry for entry in sys.path if entry)])
    settings = {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, env=settings, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    parts, rows = json.loads(done.stdout.splitlines()[-1])
    monkeypatch.chdir(ROOT)
    expected = []
    for batch in scan("examples/data", wire="nslip"):
        for row in range(len(batch)):
            act, conversation = batch["act"][row], str(batch["conv_id"][row])
            expected.append([batch.file, int(batch["offset"][row]), act, conversation, batch["tag"][row]])
    assert sorted(rows) == sorted(expected)
    assert parts == len(plan("examples/data", wire="nslip", block_bytes=50_000))
