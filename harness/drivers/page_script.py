"""The page script of the observer, held by its object in an isolated world of one tab's main frame.

The script is called by the id of its object, which Chrome ends with its document: an old id can never mean another
document, not even one of another process that counts its contexts anew.
"""

import asyncio
from importlib.resources import files
from typing import Any

from harness.drivers.cdp import Answer, CdpClosed, CdpConnection, CdpError, Command, Json
from observe.dom import decode_nonce, page_script
from observe.errors import DocumentReplaced, MalformedRead

REPLACED = "The page was replaced by another document; observe again."
_WORLD = "axtrial"
_GROUP = "axtrial-nodes"
_NODES_ALONE = {
    "serialization": "deep",
    "maxDepth": 2,
    "additionalParameters": {"maxNodeDepth": 0, "includeShadowTree": "none"},
}
"""An array and the nodes in it, without what is below them."""

_TRIES = 5
"""A document can be replaced while its world is made; one round trip later there is the next one."""

SCRIPT_TIMEOUT_S = 30.0


class PageScript:
    """Calls into one tab's page script; installs it once for each document."""

    def __init__(self, cdp: CdpConnection, frame_id: str) -> None:
        self._cdp = cdp
        self._frame_id = frame_id
        self._object: str | None = None
        self._context: int | None = None  # that of the object
        self._contexts: dict[int, str] = {}
        self._tied: list[Answer] = []
        self._installing = asyncio.Lock()  # a second script would have another nonce
        folder = files("harness.drivers")
        parts = [(folder / name).read_text(encoding="utf-8") for name in ("actions.js", "scroll.js", "ax_plan.js")]
        self._first = f"({(folder / 'first.js').read_text(encoding='utf-8')})();"
        self._source = self._first + page_script(*parts)
        cdp.on("Runtime.executionContextCreated", self._on_created)
        cdp.on("Runtime.executionContextsCleared", self._on_cleared)
        cdp.on("Runtime.executionContextDestroyed", self._on_destroyed)

    def _on_created(self, params: Json, session: str | None) -> None:
        if session is None:
            context = params["context"]
            self._contexts[context["id"]] = context["uniqueId"]

    def _on_cleared(self, _params: Json, session: str | None) -> None:
        if session is None:
            self._contexts.clear()
            self._end()

    def _on_destroyed(self, params: Json, session: str | None) -> None:
        if session is None and params["executionContextId"] == self._context:
            self._end()

    def _end(self) -> None:
        """The document is gone, and with it what only it could answer: Chrome lets such questions wait for ever."""
        self._object, self._context = None, None
        tied, self._tied = self._tied, []
        for answer in tied:
            if not answer.done():
                answer.set_exception(CdpError("tied", "the document is gone"))

    @property
    def document(self) -> str | None:
        """What stands for the document of the last nonce as long as it is there; None: it is gone."""
        return self._object

    def tie(self, answers: list[Answer]) -> None:
        """Let these answers fail, in place of those of before, as soon as the document is gone."""
        self._tied = answers

    async def install(self) -> None:
        """Have a script in the document that is there now.

        Raises:
            CdpError: the document was replaced meanwhile.
            MalformedRead: the script failed inside the page.
        """
        async with self._installing:
            if self._object is None:
                self._object = await self._install()

    async def begin(self) -> None:
        """Hear the events of a press before the page does, in all documents from now on.

        Raises:
            CdpClosed, CdpError, CdpTimeout: the tab does not answer.
        """
        await self._cdp.send("Page.addScriptToEvaluateOnNewDocument", {"source": self._first, "worldName": _WORLD})

    async def document_nonce(self) -> str:
        """The nonce of the document now in the main frame.

        Raises:
            DocumentReplaced: documents follow each other too fast to hold one.
        """
        for _ in range(_TRIES):
            try:
                await self.install()
                return decode_nonce(await self._invoke("nonce", ()))
            except CdpError:
                self._object = None
        raise DocumentReplaced(REPLACED)

    async def call(self, name: str, *arguments: Any) -> Any:
        """The result of one script function, as plain JSON data.

        Raises:
            CdpClosed: the tab is gone.
            DocumentReplaced: the document of the last nonce is gone.
            MalformedRead: the function failed inside the page.
        """
        if self._cdp.closed.is_set():
            raise CdpClosed(name)
        if self._object is None:
            raise DocumentReplaced(REPLACED)
        try:
            return await self._invoke(name, arguments)
        except CdpError as error:
            self._object = None
            raise DocumentReplaced(REPLACED) from error

    def command(self, name: str, *arguments: Any, by_value: bool = True) -> Command:
        """What calls a script function; not `by_value`: the result stays in the page until `release`.

        Raises:
            DocumentReplaced: the document of the last nonce is gone.
        """
        if self._object is None:
            raise DocumentReplaced(REPLACED)
        call: Json = {
            "objectId": self._object,
            "functionDeclaration": f"function (...given) {{ return this.{name}(...given); }}",
            "arguments": [{"value": value} for value in arguments],
        }
        kept: Json = {"returnByValue": True, "awaitPromise": True} if by_value else {"objectGroup": _GROUP}
        return Command("Runtime.callFunctionOn", {**call, **kept})

    def result(self, name: str, answer: Json) -> Json:
        """The result in the answer to a `command`, as a remote object.

        Raises:
            MalformedRead: the function failed inside the page.
        """
        if "exceptionDetails" in answer:
            raise MalformedRead(f"page script: {name}")
        result: Json = answer["result"]
        return result

    async def handles(self, name: str, *arguments: Any) -> list[Any]:
        """The array that a script function returns, in it the object id of each node, and plain values.

        They live until `release`.

        Raises:
            CdpError: the document is gone.
            DocumentReplaced: it was gone before.
            MalformedRead: the function failed inside the page.
        """
        command = self.command(name, *arguments, by_value=False)
        made = self.result(name, await self._cdp.send(*command, timeout_s=SCRIPT_TIMEOUT_S))
        if "objectId" not in made:
            raise MalformedRead(f"page script: {name}")
        wanted = {"objectId": made["objectId"], "ownProperties": True}
        found = await self._cdp.send("Runtime.getProperties", wanted)
        items = [each["value"] for each in found["result"] if each["name"].isdecimal()]
        return [item.get("objectId", item.get("value")) for item in items]

    async def nodes(self, name: str, *arguments: Any) -> Any:
        """The array of nodes that a script function returns, as Chrome serializes it: with the DevTools id of each.

        Raises:
            DocumentReplaced, MalformedRead: as `call`.
        """
        try:
            answer, _ = await asyncio.gather(
                self._cdp.send(
                    "Runtime.callFunctionOn",
                    {
                        "objectId": self._object,
                        "functionDeclaration": f"function (...given) {{ return this.{name}(...given); }}",
                        "arguments": [{"value": value} for value in arguments],
                        "serializationOptions": _NODES_ALONE,
                        "objectGroup": _GROUP,
                    },
                    timeout_s=SCRIPT_TIMEOUT_S,
                ),
                self.release(),  # sent behind the call, and carried out after it
            )
        except CdpError as error:
            self._object = None
            raise DocumentReplaced(REPLACED) from error
        if "exceptionDetails" in answer:
            raise MalformedRead(f"page script: {name}")
        return answer["result"].get("deepSerializedValue")

    async def call_on(self, name: str, backend_id: int) -> Any:
        """The result of a script function of one node, as plain JSON data; None where there is no such node."""
        if self._context is None or self._object is None:
            raise DocumentReplaced(REPLACED)
        try:
            given = {"backendNodeId": backend_id, "executionContextId": self._context, "objectGroup": _GROUP}
            node = (await self._cdp.send("DOM.resolveNode", given))["object"]["objectId"]
            answer = await self._cdp.send(
                "Runtime.callFunctionOn",
                {
                    "objectId": self._object,
                    "functionDeclaration": f"function (node) {{ return this.{name}(node); }}",
                    "arguments": [{"objectId": node}],
                    "returnByValue": True,
                },
            )
        except CdpError:
            return None
        return answer["result"].get("value")

    async def release(self) -> None:
        """Let go of what `handles` gave; not waited for."""
        await self._cdp.post([Command("Runtime.releaseObjectGroup", {"objectGroup": _GROUP})])

    async def handle(self, name: str) -> str:
        """The object id of the element that a script function returns.

        Raises:
            DocumentReplaced, MalformedRead: as `call`.
        """
        try:
            answer = await self._cdp.send(
                "Runtime.callFunctionOn",
                {"objectId": self._object, "functionDeclaration": f"function () {{ return this.{name}(); }}"},
            )
        except CdpError as error:
            raise DocumentReplaced(REPLACED) from error
        object_id = answer["result"].get("objectId")
        if object_id is None:
            raise MalformedRead(f"page script: {name}")
        return str(object_id)

    async def _install(self) -> str:
        made = await self._cdp.send("Page.createIsolatedWorld", {"frameId": self._frame_id, "worldName": _WORLD})
        unique = self._contexts.get(made["executionContextId"])
        if unique is None:
            raise CdpError("Page.createIsolatedWorld", "no such context any more")
        answer = await self._cdp.send("Runtime.evaluate", {"expression": self._source, "uniqueContextId": unique})
        object_id = answer["result"].get("objectId")
        if "exceptionDetails" in answer or object_id is None:
            raise MalformedRead("page script")
        self._context = made["executionContextId"]
        return str(object_id)

    async def _invoke(self, name: str, arguments: tuple[Any, ...]) -> Any:
        answer = await self._cdp.send(*self.command(name, *arguments), timeout_s=SCRIPT_TIMEOUT_S)
        return self.result(name, answer).get("value")
