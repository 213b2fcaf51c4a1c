"""The files of packaging/monitoring, with Debian's Prometheus and its exporter for Redis."""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest
import redis
from conftest import DEADLINE, ROOT, Server, find_servers, poll
from ports import free_port

FILES = ROOT / "packaging/monitoring"
PROGRAMS = ROOT / ".monitoring"
DASHBOARD = json.loads((FILES / "grafana-dashboard.json").read_text())


@pytest.fixture(scope="module", autouse=True)
def programs():
    """Fetched once; a machine that cannot fetch them fails here."""
    subprocess.run([ROOT / "scripts/monitoring.sh"], check=True)


def promtool(*arguments):
    done = subprocess.run([PROGRAMS / "promtool", *arguments], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr


def fetch(url):
    with urllib.request.urlopen(url, timeout=DEADLINE) as reply:
        return reply.read().decode()


class Stack:
    """An exporter of one server, and a Prometheus that scrapes it, as the page describes them."""

    def __init__(self, server, home):
        self.processes = []
        exporter, prometheus = free_port(), free_port()
        self.url = f"http://127.0.0.1:{prometheus}"
        config = (FILES / "prometheus.yml").read_text()
        assert "127.0.0.1:9121" in config
        config = config.replace("127.0.0.1:9121", f"127.0.0.1:{exporter}").replace("15s", "1s")
        (home / "prometheus.yml").write_text(config)
        shutil.copy(FILES / "prometheus-rules.yml", home)
        try:
            self.start(
                home / "exporter.log",
                PROGRAMS / "prometheus-redis-exporter",
                f"-web.listen-address=127.0.0.1:{exporter}",
                f"-redis.addr=unix://{server.socket}",
                f"-script={FILES / 'bloomline.lua'}",
            )
            self.start(
                home / "prometheus.log",
                PROGRAMS / "prometheus",
                f"--config.file={home / 'prometheus.yml'}",
                f"--storage.tsdb.path={home / 'data'}",
                f"--web.listen-address=127.0.0.1:{prometheus}",
            )
        except BaseException:
            self.stop()
            raise

    def start(self, log, *command):
        with log.open("wb") as output:
            self.processes.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            )

    def query(self, expression):
        """The result of an instant query: a list of metrics with their values."""
        query = urllib.parse.urlencode({"query": expression})
        answer = json.loads(fetch(f"{self.url}/api/v1/query?{query}"))
        assert answer["status"] == "success", answer
        return answer["data"]["result"]

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module", params=["redis-6.2", "redis-8.0", "valkey-8.1"])
def stack(request, tmp_path_factory):
    folders = find_servers()
    server = Server(request.param, folders[request.param])
    stack = None
    try:
        with server.client() as client:
            client.bf().create("seen", 0.01, 1000)
            client.bf().madd("seen", *range(1500))
            client.execute_command("BF.RESERVE", "week", 0.01, 1000, "WINDOW", 604800)
            client.bf().add("week", "a")
            client.execute_command("BF.COMPACT", "seen")
        stack = Stack(server, tmp_path_factory.mktemp("monitoring"))
        stack.server = server
        # Rates need two scrapes.
        scraped = "count_over_time(bf_filters[1m]) >= 2"
        poll("two scrapes", lambda: stack.query(scraped), (urllib.error.URLError, ConnectionError))
        yield stack
    finally:
        if stack:
            stack.stop()
        server.stop()


def info_fields(server):
    with server.client() as client:
        section = client.execute_command("INFO", "bf")
    if isinstance(section, bytes):
        section = section.decode()
    if isinstance(section, str):
        return dict(re.findall(r"(bf_\w+):(\d+)\r", section))
    return {name: value for name, value in section.items() if isinstance(value, int)}


def test_prometheus_has_every_number_of_info_under_its_name(stack):
    fields = info_fields(stack.server)
    assert len(fields) >= 24
    for name, value in fields.items():
        (found,) = stack.query(name)
        assert float(found["value"][1]) == float(value), name
        assert set(found["metric"]) == {"__name__", "instance", "job"}
    for known in ["total_memory_bytes", "num_objects", "num_items_across_objects", "defrag_hits"]:
        assert f"bf_bloom_{known}" in fields


def queries():
    """Every expression of the dashboard, for all instances."""
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$instance", ".+")
            yield pytest.param(expression, id=f"{panel['title']}-{target['refId']}")


@pytest.mark.parametrize("expression", list(queries()))
def test_a_query_of_the_dashboard_has_data(stack, expression):
    with stack.server.client() as client:

        def probe():
            # A mean time per call needs calls between two scrapes.
            client.bf().exists("seen", "a")
            return stack.query(expression)

        assert poll(expression, probe)


def test_alerts_are_loaded_and_none_fires(stack):
    groups = poll("the rules", lambda: json.loads(fetch(f"{stack.url}/api/v1/rules"))["data"]["groups"])
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 8
    for rule in rules:
        assert rule.get("lastError", "") == ""
        stack.query(rule["query"])
    assert stack.query('ALERTS{alertstate="firing"}') == []


def test_a_refused_filter_triggers_its_alert(stack):
    with stack.server.client() as client, pytest.raises(redis.ResponseError, match="Insufficient memory"):
        client.execute_command("BF.RESERVE", "huge", 0.0001, 10**12)
    alert = poll("the alert", lambda: stack.query('ALERTS{alertname="BloomlineFiltersRefused"}'))
    assert alert[0]["metric"]["alertstate"] == "firing"


def test_rules_and_configuration_pass_promtool(tmp_path):
    promtool("check", "config", FILES / "prometheus.yml")
    promtool("check", "rules", FILES / "prometheus-rules.yml")
    for path in [FILES / "prometheus-rules.yml", ROOT / "tests/clients/monitoring/alerts.yml"]:
        shutil.copy(path, tmp_path)
    promtool("test", "rules", tmp_path / "alerts.yml")


def test_every_alert_has_a_section_on_the_page():
    page = (ROOT / "docs/how-to/monitoring.md").read_text()
    headings = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", page, re.M)}
    rules = (FILES / "prometheus-rules.yml").read_text()
    links = re.findall(r"runbook_url: docs/how-to/monitoring.md#([\w-]+)", rules)
    assert len(links) == rules.count("alert: ") == 8
    assert set(links) <= headings


def test_the_dashboard_can_be_imported():
    """What Grafana needs: its data source is a variable, and panels have ids and places of their own."""
    identifiers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(identifiers)) == len(identifiers) >= 10
    variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    places = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places and at["x"] + at["w"] <= 24, panel["title"]
        places |= cells
        for part in [panel, *panel["targets"]]:
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["description"]
