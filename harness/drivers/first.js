/* Hears the events of a press and of typing before the page does: runs as a document begins, in the isolated world, and
   once more with the page script, for documents that were there before. The page script sets what is done with them. */
() => {
  "use strict";
  if (globalThis.axtrialFirst === undefined) {
    const first = { press: null, typing: null };
    const hearPress = (event) => { if (event.isTrusted) first.press?.(event); };
    const hearTyping = (event) => { if (event.isTrusted) first.typing?.(event); };
    first.listen = () => {
      for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) addEventListener(kind, hearPress, { capture: true });
      for (const kind of ["keydown", "keypress", "keyup", "beforeinput"]) addEventListener(kind, hearTyping, { capture: true });
    };
    globalThis.axtrialFirst = first;
  }
  globalThis.axtrialFirst.listen(); // a page that writes itself anew has lost its listeners
}
