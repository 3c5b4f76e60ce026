"""Results in a bucket are results in a folder: the same bytes, whatever stops a run.

The stores are servers of their own on this machine that speak S3, Google's and Azure's languages,
asked by the clients that users have; `emulators` says how to have the last two.
"""

import pickle
import re
import threading
import uuid

import pandas as pd
import pytest

from simstudy.cli import main
from simstudy.errors import StoreError, UnreachableError
from simstudy.output.folder import publish
from simstudy.places import list_sizes, place_of, write_bytes
from simstudy.store.files import Folder, files_at
from tests.analysis import test_replicates
from tests.cli.test_command_line import SMALL
from tests.factories import mean_study
from tests.guarantees import emulators, slow
from tests.guarantees.content import whichever_files
from tests.guarantees.server import Server, kill_group, wait_until
from tests.output import standing
from tests.support import INLINE

pytestmark = pytest.mark.slow
fsspec = pytest.importorskip("fsspec", reason="needs pip install -e '.[dev]'")

OUTPUTS_OF_TIME = ("manifest.json", "report.html")  # they say how long it took


@pytest.fixture(
    scope="module",
    params=["s3", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("gs", "abfs"))],
)
def kind(request):
    if reason := emulators.why_not(request.param):
        pytest.skip(reason)
    with emulators.store(request.param):
        yield request.param


@pytest.fixture
def out(kind):
    return f"{kind}://results/{uuid.uuid4().hex}"


def everything(out):
    place = place_of(out)
    files = (path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): path.read_bytes() for path in files}


def blocks(out):
    found = everything(out).items()
    return {name: content for name, content in found if re.search("/replicates/", name)}


def assert_same(out, folder, *, but=("manifest.json",)):
    """The same rows, and other files of the same bytes, but for what says how long a run took."""
    ours, theirs = whichever_files(everything(out)), whichever_files(everything(folder))
    assert sorted(ours) == sorted(theirs)
    for name, content in theirs.items():
        assert ours[name] == content or name.endswith(but), name


def test_a_run_a_longer_one_and_its_outputs_are_those_in_a_folder(out, tmp_path):
    study = standing.study(figures=standing.SOUND)
    for n_rep in (50, 100):
        for place in (out, tmp_path):
            result = study.run(n_rep, out=place, **INLINE)
            publish(result, about="Aims", config=standing.CONFIG, module_file=standing.FILE)
    assert_same(out, tmp_path, but=(*OUTPUTS_OF_TIME, "index.html", "index.json"))
    assert study.run(100, out=out, **INLINE).outcome.n_blocks == 0
    early = study.partial_result(100, out=out)
    pd.testing.assert_frame_equal(early.summary, result.summary, check_exact=True)


def test_links_of_a_report_and_an_index_are_relative(out):
    study = standing.study(figures=standing.SOUND)
    publish(study.run(50, out=out, **INLINE), config=standing.CONFIG)
    pages = [text.decode() for name, text in everything(out).items() if name.endswith(".html")]
    links = [link for page in pages for link in re.findall(r'href="(.*?)"', page)]
    assert links
    assert not any("://" in link or link.startswith("/") for link in links)


def test_workers_in_other_processes_write_the_same(out, tmp_path):
    for place in (out, tmp_path):
        slow.study(2).run(400, out=place, backend="loky", n_jobs=2)
    assert_same(out, tmp_path)


def test_derived_columns_are_kept_beside_the_blocks(out, tmp_path):
    for place in (out, tmp_path):
        result = test_replicates.study().run(30, out=place, **INLINE)
        assert len(result.summary)
        assert test_replicates.study().run(30, out=place, **INLINE).outcome.n_blocks == 0
    assert_same(out, tmp_path)


def test_two_shards_at_once_one_of_them_killed_end_as_one_quiet_run(out, tmp_path):
    n_rep = 600
    server = Server()
    place = place_of(out) / "slow" / "replicates"
    try:
        process = server.start(out, n_rep, shard=[2, 2])
        assert wait_until(lambda: len(list_sizes(place)) > 2)
        killing = threading.Timer(0.1, kill_group, [process])
        killing.start()
        slow.study().run(n_rep // 2, slow.SEED, out=out, **INLINE, shard=(1, 2))
        killing.join()
        assert server.wait(process) == -9
        slow.study().run(n_rep, slow.SEED, out=out, **INLINE, shard=(1, 2))
        assert server.wait(server.start(out, n_rep, shard=[2, 2])) == 0
    finally:
        server.close()
    whole = slow.study().run(n_rep, slow.SEED, out=out, **INLINE)
    assert whole.outcome.n_blocks == 0
    slow.study().run(n_rep, slow.SEED, out=tmp_path, **INLINE)
    assert_same(out, tmp_path)


def test_an_upload_in_parts_is_seen_when_it_is_complete(kind, out):
    if kind != "s3":
        pytest.skip("asks by S3's own words")
    files = files_at(out)
    system = fsspec.filesystem("s3")
    where = {"Bucket": "results", "Key": f"{out.removeprefix('s3://results/')}/{'0' * 32}.parquet"}
    begun = system.call_s3("create_multipart_upload", **where)
    named = {**where, "UploadId": begun["UploadId"]}
    part = system.call_s3("upload_part", **named, PartNumber=1, Body=b"x" * 100)
    assert files.names() == []
    parts = [{"PartNumber": 1, "ETag": part["ETag"]}]
    system.call_s3("complete_multipart_upload", **named, MultipartUpload={"Parts": parts})
    assert files.names() == [f"{'0' * 32}.parquet"]


def test_a_damaged_object_is_named_set_aside_and_drawn_again(out, tmp_path):
    for place in (out, tmp_path):
        mean_study().run(100, out=place, **INLINE, shard=(1, 2))
    names = sorted(name for name in blocks(out) if name.endswith(".parquet"))
    damaged = place_of(out) / names[0]
    write_bytes(damaged, damaged.read_bytes()[:-9] + b"otherwise")
    whole = mean_study().run(100, out=out, **INLINE)
    (said,) = whole.details.store.damaged
    assert said.startswith(damaged.name)
    mean_study().run(100, out=tmp_path, **INLINE)
    aside = damaged.parent / "_damaged" / damaged.name
    assert aside.exists()
    aside.unlink()
    assert_same(out, tmp_path)


def test_drawing_again_all_and_failures(out, tmp_path):
    stuck = test_replicates.study([test_replicates.PValues(3, stuck=True)])
    for place in (out, tmp_path):
        stuck.run(30, out=place, **INLINE)
        assert stuck.run(30, out=place, **INLINE, retry="failed").outcome.n_blocks == 3
        assert stuck.run(20, out=place, **INLINE, redraw=True).outcome.n_blocks == 2
    assert_same(out, tmp_path)


def test_another_seed_shares_the_store_and_another_study_is_refused(out):
    publish(mean_study().run(50, out=out, **INLINE), config={})
    manifest = place_of(out) / "toy" / "manifest.json"
    assert mean_study().run(50, 2, out=out, **INLINE).outcome.n_blocks > 0
    write_bytes(manifest, b'{"study": "census"}')
    with pytest.raises(StoreError, match=f"{out}/toy holds the results of study 'census'"):
        mean_study().run(50, out=out, **INLINE)


def test_a_bucket_that_is_not_there_is_one_line(kind):
    with pytest.raises(UnreachableError, match=rf"{kind}://nowhere/.* Make the bucket first"):
        mean_study().run(50, out=f"{kind}://nowhere/a", **INLINE)


def test_no_secret_is_in_any_file_pickle_or_refusal(kind, out, capfd):
    result = mean_study().run(50, out=out, **INLINE)
    publish(result, config={})
    found = [
        *everything(out).values(),
        pickle.dumps(result.details.store),
        repr(result.details.store).encode(),
    ]
    with pytest.raises(UnreachableError) as refused:
        write_bytes(place_of(f"{kind}://nowhere/a"), b"")
    found += [str(refused.value).encode(), repr(refused.value).encode()]
    found += [text.encode() for text in capfd.readouterr()]
    for content in found:
        assert not [secret for secret in emulators.SECRETS[kind] if secret.encode() in content]


def test_a_command_takes_a_url_where_it_takes_a_folder(out, capsys):
    asked = [*SMALL, "n_rep=1000", f"out={out}", "figures=false"]
    assert main(asked) == 0
    assert f" files in {out}/two_stage/runs/" in capsys.readouterr().out.replace("\n", "")
    assert main(asked) == 0
    assert capsys.readouterr().out.startswith(f"nothing to do: {out}/two_stage/runs/")
    assert main(["status", *asked]) == 0
    assert "4 stored (0 with failures), 0 missing" in capsys.readouterr().out
    assert main(["plan", *asked, "redraw=true"]) == 0
    assert f"results  {out}/two_stage/runs/" in capsys.readouterr().out


def test_a_folder_of_this_machine_may_be_given_as_a_url(tmp_path):
    result = mean_study().run(50, out=f"file://{tmp_path}", **INLINE)
    assert result.details.store.files == Folder(tmp_path / "toy" / "replicates")
