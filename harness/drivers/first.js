/* Hears the events of a press before the page does: runs as a document begins, in the isolated world, and once more with
   the page script, for documents that were there before. The page script sets what is done with them. */
() => {
  "use strict";
  if (globalThis.axtrialFirst === undefined) {
    const first = { press: null };
    const hear = (event) => { if (event.isTrusted) first.press?.(event); };
    first.listen = () => {
      for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) addEventListener(kind, hear, { capture: true });
    };
    globalThis.axtrialFirst = first;
  }
  globalThis.axtrialFirst.listen(); // a page that writes itself anew has lost its listeners
}
