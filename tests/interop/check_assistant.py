"""timesink mcp, asked by the official client: python check_assistant.py TIMESINK RECORDING OTHER

What tools there are, that each answers what its command says, that errors say what to do next, and that no program is run unless the user's
own settings allow it.
"""

import asyncio
import os
import pathlib
import subprocess
import sys
import tempfile

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TIMESINK, RECORDING, OTHER = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:])
TOOLS = "answer bench call_tree diff env functions lines record recordings rules source whatif why".split()


def says(*words: str) -> str:
    return subprocess.run([TIMESINK, *words], check=True, capture_output=True, text=True).stdout


async def asked(session: ClientSession, tool: str, **arguments) -> tuple[bool, str]:
    result = await session.call_tool(tool, arguments)
    is_error = result.model_dump(by_alias=True).get("isError") or False
    return is_error, "".join(block.text for block in result.content)


async def check(session: ClientSession, folder: pathlib.Path, may_run: bool) -> None:
    await session.initialize()
    tools = (await session.list_tools()).tools
    assert sorted(tool.name for tool in tools) == TOOLS, [tool.name for tool in tools]
    for tool in tools:
        assert tool.description and len(tool.description) > 30, tool.name

    async def answers(tool: str, **arguments) -> str:
        is_error, text = await asked(session, tool, **arguments)
        assert not is_error, (tool, arguments, text)
        return text

    async def refuses(tool: str, next_step: str, **arguments) -> None:
        is_error, text = await asked(session, tool, **arguments)
        assert is_error and next_step in text, (tool, arguments, is_error, text)

    assert await answers("answer", recording=RECORDING) == says("report", RECORDING)
    assert await answers("why", recording=RECORDING, finding=1) == says("why", RECORDING, "1")
    assert await answers("diff", a=RECORDING, b=OTHER) == says("diff", RECORDING, OTHER)
    assert await answers("env", a=RECORDING, b=OTHER) == says("env", RECORDING, OTHER)
    flush = await answers("whatif", recording=RECORDING, cut=["flush"], scale=[{"what": "cpu", "factor": 0.5}])
    assert flush == says("whatif", RECORDING, "--cut", "flush", "--scale", "cpu", "0.5"), flush
    assert await answers("functions", recording=RECORDING, limit=3) == says("report", RECORDING, "--top=3")
    tree = await answers("call_tree", recording=RECORDING, callers=True)
    assert tree in says("report", RECORDING, "--tree=callers") or "[truncated" in tree, tree
    assert "checksum" in await answers("lines", recording=RECORDING, function="checksum")
    assert "flush-per-record" in await answers("rules")
    assert await answers("rules", rule="flush-per-record") == says("rules", "flush-per-record")

    # What is not there, and what looks like an option.
    await refuses("answer", "Next:", recording="nowhere.timesink")
    await refuses("answer", "Next:", recording="--full")
    await refuses("why", "Next:", recording=RECORDING, finding=99)
    await refuses("lines", "Next:", recording=RECORDING, function="nobody")
    await refuses("whatif", "Next:", recording=RECORDING, cut=["nothing of this name"])
    await refuses("source", "outside", file="../../../../../../etc/passwd", line=1)
    await refuses("source", "Next:", file="/etc/passwd", line=1)
    await refuses("diff", "dash", a="--json", b=RECORDING)
    (folder / "a.py").write_text("first\nsecond\n")
    assert ">    2  second" in await answers("source", file="a.py", line=2)

    if not may_run:
        await refuses("recordings", "Next:")
        await refuses("record", "may_run = true", command=["touch", "was-run"])
        await refuses("bench", "may_run = true", commands=["touch was-run"])
        assert not (folder / "was-run").exists()
        return
    text = await answers("record", command=["sh", "-c", "sleep 0.2; touch was-run"], output="now.timesink")
    assert "WHY IT TOOK" in text, text
    assert (folder / "was-run").exists()
    assert "now.timesink" in await answers("recordings")
    assert "WHY IT TOOK" in await answers("answer")
    # What takes too long is stopped, and its recording is made all the same.
    await refuses("record", "WHY IT TOOK", command=["sleep", "30"], seconds=1, output="long.timesink")
    assert "sleep" in await answers("answer", recording="long.timesink")
    text = await answers("bench", commands=["sleep 0.01", "sleep 0.05"], rounds=4)
    assert "sleep 0.01" in text and "sleep 0.05" in text, text


async def main() -> None:
    for may_run in (False, True):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "home/.config/timesink").mkdir(parents=True)
            (folder / "project").mkdir()
            consent = "[assistants]\nmay_run = true\n"
            # A checkout cannot give it.
            (folder / "project/timesink.toml").write_text(consent)
            if may_run:
                (folder / "home/.config/timesink/config.toml").write_text(consent)
            environment = {key: value for key, value in os.environ.items() if not key.startswith(("SUDO_", "XDG_"))}
            server = StdioServerParameters(
                command=TIMESINK, args=["mcp"], cwd=str(folder / "project"), env={**environment, "HOME": str(folder / "home")}
            )
            with open(folder / "errors", "w+", encoding="utf-8") as errors:
                async with stdio_client(server, errlog=errors) as (read, write), ClientSession(read, write) as session:
                    await check(session, folder / "project", may_run)
                errors.seek(0)
                told = [line for line in errors if "[assistants] counts in your own settings only" not in line]
                assert not told, told
    print("assistant: ok")


asyncio.run(main())
