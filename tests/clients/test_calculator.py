"""The page docs/calculator in a headless Chromium, opened as a file and with the network off."""

import itertools
import os
import pathlib
import random
import re
import shutil
import subprocess

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/calculator/index.html").as_uri()
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
DEADLINE = 300.0
SEED = 7

# Ratios of texts to backgrounds, of all elements that have a text.
CONTRASTS = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = (color) => {
  const [r, g, b] = color.slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const background = (node) => {
  for (let at = node; at !== null; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color;
  }
  throw new Error("no background");
};
return [...document.body.querySelectorAll("*")].filter((node) =>
  node.checkVisibility() && (node.value !== undefined && node.type === "text"
    || [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim() !== "")))
  .map((node) => {
    const style = getComputedStyle(node);
    const color = node instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(parse(color)), light(background(node))];
    return [node.textContent.trim().slice(0, 40) || node.id,
      (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    # Chromium refuses its sandbox to root, and containers have a small /dev/shm.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = shutil.which("chromedriver")
    assert driver, "no chromedriver; run `scripts/deps.sh browser`"
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    yield browser
    browser.quit()


def show(browser, width=1280, scheme="light", **inputs):
    """Opens the page with these inputs in its address, and waits for its answer."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get("about:blank")
    browser.get(PAGE + "#" + "&".join(f"{name}={value}" for name, value in inputs.items()))
    ready = "return document.body.classList.contains('ready')"
    WebDriverWait(browser, DEADLINE, 0.01).until(lambda it: it.execute_script(ready))


def set_inputs(browser, inputs):
    """Changes the address of an open page: the page answers to it before this returns."""
    text = "&".join(f"{name}={value}" for name, value in inputs.items())
    browser.execute_script("history.replaceState(null, '', '#' + arguments[0]); restore();", text)


def text(browser, name):
    return browser.find_element(By.ID, name).get_attribute("textContent")


def digits(shown):
    """The number in a text with groups of digits."""
    return int(re.sub(r"\D", "", shown))


def sweep():
    """A hundred inputs over all modes, with a fixed seed."""
    numbers = random.Random(SEED)
    modes = itertools.cycle(itertools.product(["none", "time", "last", "hand"], ["fixed", "reserved", "grown"]))
    cases = []
    for forgets, growth in itertools.islice(modes, 108):
        items = int(10 ** numbers.uniform(3, 10))
        inputs = {
            "items": items,
            "error": numbers.choice(["0.1", "0.01", "0.001", "0.0001", "1e-6", "0.25", "0.037"]),
            "forgets": forgets,
            "growth": growth,
            "capacity": max(100, int(items * 10 ** numbers.uniform(-3, 0))),
            "expansion": numbers.choice([2, 2, 4, 10]),
            "generations": numbers.choice([2, 3, 8, 8, 16, 64]),
            "refresh": numbers.choice(["yes", "no"]),
            "window": numbers.randint(1, 1000),
            "unit": numbers.choice([1, 60, 3600, 86400]),
        }
        cases.append(inputs)
    return cases


def arguments(inputs):
    """The same inputs for the program `plan`."""
    forgets, is_last = inputs["forgets"], inputs["forgets"] == "last"
    is_grown = inputs["growth"] == "grown" and not is_last
    result = ["--items", str(inputs["items"]), "--error", inputs["error"]]
    result += ["--capacity", str(inputs["capacity"] if is_grown else inputs["items"])]
    if not is_last:
        result += ["--expansion", "0" if inputs["growth"] == "fixed" else str(inputs["expansion"])]
    if forgets == "none":
        result.append("--compact")
    else:
        result += ["--generations", str(inputs["generations"])]
        result += [] if inputs["refresh"] == "yes" else ["--norefresh"]
    if forgets == "time":
        result += ["--window", str(inputs["window"] * inputs["unit"])]
    return result + (["--last"] if is_last else [])


def planned(inputs):
    """What `plan` prints: the command, its columns, bytes after BF.COMPACT and the layers."""
    program = TARGET / "debug/plan"
    assert program.is_file(), f"no {program}; run `make test-calculator`"
    done = subprocess.run([program, *arguments(inputs)], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, f"{arguments(inputs)}: {done.stderr.splitlines()[0]}"
    plans, layers, *compacted = done.stdout.rstrip().split("\n\n")
    command, columns = re.split(r"  +", plans.splitlines()[2], maxsplit=1)
    columns = columns.split()
    if inputs["forgets"] == "none":
        count, _, size, _, _, *used, bits, rate = columns
    else:
        count, size, _, _, *used, bits, rate, _, _, _ = columns
    rows = [line.split() for line in layers.splitlines() if re.match(r" *\d|regular|overflow", line)]
    after = int(re.split(r"  +", compacted[0].splitlines()[1])[1]) if compacted else None
    # From the end: "overflow 1" is two words.
    rows = [[float(number) for number in row[-5:]] for row in rows]
    return {"command": command, "layers": int(count), "bytes": int(size), "bits": bits, "used": " ".join(used),
            "rate": float(rate), "after": after, "rows": rows}


def test_numbers_equal_those_of_make_plan(browser):
    show(browser)
    checked = 0
    for inputs in sweep():
        expected = planned(inputs)
        set_inputs(browser, inputs)
        assert text(browser, "command") == expected["command"], inputs
        assert digits(text(browser, "exact")) == expected["bytes"]
        assert text(browser, "bits") == expected["bits"]
        assert text(browser, "used").replace("bytes", "B") == expected["used"]
        assert digits(text(browser, "layer-count")) == expected["layers"]
        shown = browser.execute_script("return shown")
        assert shown["compacted"] == expected["after"]
        assert shown["rate"] == pytest.approx(expected["rate"], rel=0.006)
        columns = ["capacity", "items", "hashes", "bytes"]
        rows = [[layer[column] for column in columns] for layer in shown["layers"]]
        assert rows == [row[:4] for row in expected["rows"]]
        for layer, row in zip(shown["layers"], expected["rows"]):
            assert layer["rate"] == pytest.approx(row[4], rel=0.006)
        checked += 1
    assert checked >= 100


def test_refused_inputs_say_why_and_show_no_number(browser):
    for field, inputs, words in [
        ("items", {"items": "many"}, "1e6"),
        ("items", {"items": ""}, "whole number"),
        ("items", {"items": "1.5"}, "whole number"),
        ("items", {"items": "1e13"}, "2⁴⁰"),
        ("error", {"error": "0"}, "0.25"),
        ("error", {"error": "30%25"}, "25 %"),
        ("error", {"error": "x"}, "0.01"),
        ("error", {"error": "1e-30", "growth": "fixed"}, "too small"),
        ("capacity", {"growth": "grown", "capacity": "-1"}, "2⁴⁰"),
        ("capacity", {"growth": "grown", "capacity": "1", "expansion": "1"}, "layers"),
        ("expansion", {"expansion": "0"}, "32,768"),
        ("expansion", {"expansion": "40000"}, "32,768"),
        ("window", {"forgets": "time", "window": "0"}, "seconds"),
        ("window", {"forgets": "time", "window": "1e15"}, "seconds"),
        ("generations", {"forgets": "hand", "generations": "1"}, "2 to 64"),
        ("generations", {"forgets": "last", "generations": "65"}, "2 to 64"),
        ("generations", {"forgets": "last", "items": "5"}, "capacity"),
    ]:
        show(browser, **inputs)
        assert words in text(browser, f"{field}-error"), inputs
        assert browser.find_element(By.ID, field).get_attribute("aria-invalid") == "true"
        assert browser.find_element(By.ID, f"{field}-error").is_displayed()
        seen = browser.find_element(By.TAG_NAME, "body").text
        assert "NaN" not in seen and "Infinity" not in seen and "undefined" not in seen
        assert not browser.find_element(By.ID, "command").is_displayed()


def test_numbers_may_be_written_as_people_do(browser):
    show(browser)
    for items in ["1e7", "10,000,000", "10 000 000", "10_000_000", "10M", "10000k"]:
        for error in ["0.001", "0.1 %25", "1e-3", ".001"]:
            set_inputs(browser, {"items": items, "error": error})
            assert text(browser, "command") == "BF.RESERVE key 0.001 10000000", (items, error)


@pytest.mark.newest
@pytest.mark.one_layout
def test_servers_accept_the_command_with_the_size_shown(browser, server):
    show(browser)
    equal = 0
    with server.client() as client:
        for inputs in sweep()[:48]:
            # A new filter has the size shown only if all its layers are there from the start.
            set_inputs(browser, {**inputs, "items": min(inputs["items"], 10**7)})
            shown = browser.execute_script("return shown")
            client.flushall()
            assert client.execute_command(*shown["command"].split()) == b"OK"
            if inputs["forgets"] == "none" and shown["layerCount"] == 1:
                assert client.execute_command("BF.INFO", "key", "SIZE") == {b"Size": shown["bytes"]}
                equal += 1
            if inputs["forgets"] == "none" and shown["redisbloomLayers"] == 1:
                client.execute_command(*shown["command"].replace("key", "theirs").split(), "LAYOUT", "REDISBLOOM")
                size = client.execute_command("BF.INFO", "theirs", "SIZE")
                assert size == {b"Size": shown["redisbloomBytes"]}
    assert equal >= 8


def test_the_keyboard_reaches_and_works_everything(browser):
    show(browser)
    browser.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    seen = []
    while len(seen) < 20 and seen[-1:] != ["copy"]:
        browser.switch_to.active_element.send_keys(Keys.TAB)
        active = browser.switch_to.active_element
        seen.append(active.get_attribute("id") or active.get_attribute("name") or active.tag_name)
        assert browser.execute_script("return document.activeElement.matches(':focus-visible')")
        style = "return getComputedStyle(document.activeElement).outlineStyle"
        assert browser.execute_script(style) == "solid", seen
    assert seen == ["a", "items", "error", "window", "growth", "expansion", "command", "copy"]
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    WebDriverWait(browser, DEADLINE, 0.01).until(lambda it: text(it, "copied") == "Copied.")
    read = "navigator.clipboard.readText().then(arguments[0], (error) => arguments[0](String(error)))"
    assert browser.execute_async_script(read) == "BF.RESERVE key 0.01 1000000"


def test_typing_changes_the_answer_and_the_address(browser):
    show(browser)
    items = browser.find_element(By.ID, "items")
    items.send_keys(Keys.CONTROL, "a")
    items.send_keys("2e6")
    assert text(browser, "command") == "BF.RESERVE key 0.01 2000000"
    items.send_keys(Keys.TAB, Keys.TAB)
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    command = "BF.RESERVE key 0.01 2000000 WINDOW 86400 GENERATIONS 8"
    assert text(browser, "command") == command
    assert browser.current_url.endswith("#items=2e6&forgets=time")
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)
    wait = WebDriverWait(browser, DEADLINE, 0.01)
    wait.until(lambda it: text(it, "command") == command)


def test_every_input_and_chart_has_a_name(browser):
    show(browser, forgets="time", growth="grown")
    for node in browser.find_elements(By.CSS_SELECTOR, "input, select, button, svg, table, fieldset"):
        if node.tag_name != "table":
            assert node.accessible_name.strip(), node.get_attribute("outerHTML")[:80]
    assert browser.find_element(By.ID, "result").get_attribute("aria-live") == "polite"
    described = browser.find_element(By.CSS_SELECTOR, "svg").get_attribute("aria-describedby")
    assert "1 000 000" in text(browser, described).replace("\u202f", " ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_texts_are_legible_and_fit(browser, tmp_path, width, scheme):
    dark = []
    for name, inputs in {
        "plain": {},
        "grown": {"growth": "grown", "items": "1e12", "capacity": "1e12", "error": "1e-9"},
        "window": {"forgets": "time", "growth": "grown", "items": "1e10"},
        "refused": {"error": "2"},
    }.items():
        show(browser, width, scheme, **inputs)
        wide = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        scroll, client = browser.execute_script(wide)
        assert scroll <= client <= width
        contrasts = browser.execute_script(CONTRASTS)
        assert len(contrasts) > 15
        assert [entry for entry in contrasts if entry[1] < 4.5] == []
        color = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        dark.append(int(re.findall(r"\d+", color)[0]) < 128)
        assert browser.save_screenshot(str(tmp_path / f"{name}-{width}-{scheme}.png"))
    assert set(dark) == {scheme == "dark"}


def test_nothing_is_fetched_and_no_error_is_logged(browser):
    browser.get_log("browser")
    show(browser, forgets="last", growth="grown")
    assert browser.get_log("browser") == []
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map((it) => it.name)")
    assert [name for name in loaded if not name.startswith(("file:", "data:"))] == []
    for file in (ROOT / "docs/calculator").iterdir():
        urls = re.findall(r"https?://[^\"'\s]+", file.read_text())
        assert set(urls) <= {"http://www.w3.org/2000/svg"}, file
