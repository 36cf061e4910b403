/* What an action does in the page before and after the driver's real input: resolve the ref, check that the action fits
   the element as it is now, and prepare it. Runs beside the observer, in the same isolated world. */
(reads, observer, limits) => {
  "use strict";
  const { element, html, page, rootActive, isElement, is, style, fold, cut, flatChildren, flatParent, contains } = reads;
  const { resolve, roleOf, labels, valueOf, optionText, isDisabled, isReadonly, isShown, hasBox, isEditableHost,
    isTextual, deepAt, passesA, isModal } = observer;

  /* Resolves at the next frame, with true; with false where none was drawn in time. */
  const frame = () => new Promise((resolve) => { requestAnimationFrame(() => resolve(true)); setTimeout(resolve, 50, false); });

  const PICKED_TYPES = new Set(["date", "time", "datetime-local", "month", "week", "color", "range"]);
  const isInert = (item) => {
    for (let at = item; at !== null && isElement(at); at = flatParent(at)) {
      if (element.has(at, "inert")) return true;
      if (isModal(at)) return false; // a modal dialog leaves the inertness around it
    }
    return false;
  };
  const refusesInput = (item) => isDisabled(item) || isInert(item) || !isShown(item) || !hasBox(item, Number.MIN_VALUE);
  const isMoving = () => document.getAnimations().some((one) => one.playState === "running");

  /* Points to try, inside what the window shows of the element's first boxes. */
  const FRACTIONS = [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.05, 0.5], [0.95, 0.5],
    [0.5, 0.05], [0.5, 0.95]];
  const pointsOf = (item) => {
    const found = [];
    for (const box of Array.from(element.boxes(item)).slice(0, 3)) {
      const left = Math.max(box.left, 0), right = Math.min(box.right, innerWidth);
      const top = Math.max(box.top, 0), bottom = Math.min(box.bottom, innerHeight);
      if (right > left && bottom > top) for (const [x, y] of FRACTIONS) found.push([left + (right - left) * x, top + (bottom - top) * y]);
    }
    return found;
  };
  /* Whether a control of its own lies between what was hit and the element that was meant. */
  const hitsOther = (at, target, item) => {
    for (let up = at; up !== null && up !== target; up = flatParent(up)) {
      if (up !== item && isElement(up) && passesA(up)) return true;
    }
    return false;
  };
  /* How well a press on `at` meets the element: 2: the element, or its label, which acts for it (a hidden box below a
     styled label could not be reached otherwise); 1: another control inside the element; 0: not at all. */
  const meets = (item, at) => {
    if (at === null || !isElement(at)) return 0;
    const around = [item, ...labels(item)].filter((target) => contains(target, at));
    if (around.some((target) => !hitsOther(at, target, item))) return 2;
    return contains(item, at) ? 1 : 0;
  };
  const covered = (at) => ({ status: "covered", by: at === null || !isElement(at) ? "nothing" : roleOf(at, "A") });
  /* A point that hits the element, best without another control inside it. */
  const hitPoint = (item) => {
    let covering = null, any = false, second = null;
    for (const target of [item, ...labels(item)]) {
      for (const [x, y] of pointsOf(target)) {
        any = true;
        const at = deepAt(x, y), well = meets(item, at);
        if (well === 2) return { status: "ok", x, y };
        if (well === 1) second ??= { status: "ok", x, y };
        else covering ??= at;
      }
    }
    if (second !== null) return second;
    return any ? covered(covering) : { status: "not_clickable", why: "it cannot be brought into view" };
  };
  const bringIntoView = async (nonce, n, item) => {
    const before = element.box(item);
    if (pointsOf(item).length === 0 || before.top < 0 || before.bottom > innerHeight || before.left < 0 || before.right > innerWidth) {
      element.scroll(item, { block: "center", inline: "center", behavior: "instant" });
      await frame(); // pages redraw lists when they scroll
    }
    for (let turn = 0, still = 0; turn < limits.moving && still < 2 && isMoving(); turn++) {
      const was = element.box(item);
      if (!await frame()) continue; // without a frame nothing moves, on a busy machine
      const now = element.box(item);
      still = was.left === now.left && was.top === now.top ? still + 1 : 0;
    }
    return resolve(nonce, n);
  };

  const why = (item) => (isDisabled(item) ? "it is disabled" : refusesInput(item) ? "it is hidden or inert"
    : style(item).pointerEvents === "none" && labels(item).length === 0 ? "it takes no pointer events" : null);
  const click = async (nonce, n) => {
    let found = resolve(nonce, n);
    if (found.status !== "ok") return found;
    if (why(found.item) !== null) return { status: "not_clickable", why: why(found.item) };
    found = await bringIntoView(nonce, n, found.item);
    if (found.status !== "ok") return found;
    if (why(found.item) !== null) return { status: "not_clickable", why: why(found.item) };
    const first = hitPoint(found.item);
    if (first.status !== "covered") return first;
    element.scroll(found.item, { block: "center", inline: "center", behavior: "instant" });
    await frame();
    found = resolve(nonce, n);
    return found.status === "ok" ? hitPoint(found.item) : found;
  };

  /* The press of one click: whether it meets the element is asked when it is dispatched, so that nothing can come in
     between. One that does not is kept from the page, with its release and its click. */
  const PRESS_MS = 15_000; // a press that never came must not cost a person's press its effect
  let press = null;
  const judged = (event) => {
    const found = resolve(press.nonce, press.n);
    if (found.status !== "ok") return found;
    const at = event.composedPath()[0];
    return meets(found.item, at) >= press.least ? { status: "ok" } : covered(at);
  };
  const onPress = (event) => {
    if (press.verdict === null) {
      if (performance.now() > press.until) return disarm();
      if (event.type !== "pointerdown" && event.type !== "mousedown") return;
      press.verdict = judged(event);
    }
    if (press.verdict.status === "ok") return;
    event.stopImmediatePropagation();
    event.preventDefault();
  };
  /* Check an element once more, with the mouse over it, and from now on the press that comes. */
  const arm = (nonce, n, x, y) => {
    endTyping();
    const found = resolve(nonce, n);
    if (found.status !== "ok") return found;
    if (why(found.item) !== null) return { status: "not_clickable", why: why(found.item) };
    const at = deepAt(x, y), least = meets(found.item, at);
    if (least === 0) return covered(at);
    press = { nonce, n, least, verdict: null, until: performance.now() + PRESS_MS };
    axtrialFirst.press = onPress;
    axtrialFirst.listen();
    return { status: "ok" };
  };
  const disarm = () => { press = axtrialFirst.press = null; };
  /* What became of the press, which is over. */
  const met = () => {
    const verdict = press?.verdict ?? { status: "ok" };
    disarm();
    return verdict;
  };

  const fieldRefusal = (item) => (isDisabled(item) ? "it is disabled" : isReadonly(item) ? "it is read-only"
    : isInert(item) || !isShown(item) ? "it is hidden or inert" : null);
  const activeDeep = () => {
    let at = page.active(document);
    while (at !== null && element.shadow(at) !== null && rootActive(element.shadow(at)) !== null) at = rootActive(element.shadow(at));
    return at;
  };
  const changed = (item) => {
    for (const kind of ["input", "change"]) item.dispatchEvent(new Event(kind, { bubbles: true, composed: kind === "input" }));
  };
  const isNumber = (value) => value.trim() !== "" && Number.isFinite(Number(value));
  const takes = (item, value) => value === "" || (item.type !== "number" && item.type !== "range") || isNumber(value);
  /* What the field makes of the value counts (a range keeps to its ends); what it throws away is refused. */
  const setPicked = (item, value) => {
    const before = item.value;
    item.value = value;
    const lost = item.type === "color" ? item.value.toLowerCase() !== value.toLowerCase() : item.value === "" && value !== "";
    if (lost) {
      item.value = before;
      return { status: "not_editable", why: `a ${item.type} field does not take this text` };
    }
    if (item.value !== before) changed(item);
    return { status: "ok", typed: true };
  };
  const selectAll = (item) => {
    if (isEditableHost(item)) getSelection().selectAllChildren(item);
    else item.select();
  };
  /* The text for one field: whether it would get it is asked of every event that would put it there. A page that moves
     the focus meanwhile gets none of them. Frames are not heard, so a text of which nothing was heard may be in one.
     A text comes as one `beforeinput`, whatever lines it has; an empty one as the key Delete, with or without that. */
  const TYPING_MS = 15_000; // as with a press: a text that never came must not cost a person's keys their effect
  let typing = null;
  const receives = (item) => {
    const why = activeDeep() !== item ? "the page took the focus from it" : fieldRefusal(item);
    return why === null ? { status: "ok" } : { status: "not_editable", why };
  };
  const onTyping = (event) => {
    if (performance.now() > typing.until) return endTyping();
    const { type } = event;
    if (type !== "beforeinput" && !typing.byKey) return; // somebody else's key
    const refused = typing.verdict !== null && typing.verdict.status !== "ok";
    if (!refused && type !== "keyup") typing.verdict = receives(typing.item);
    if (typing.verdict === null) return;
    // After these nothing of it comes, and who asks for the verdict may not get to it: a dialog can open now.
    if (type === "beforeinput" || type === "keyup") axtrialFirst.typing = null;
    if (typing.verdict.status === "ok") return;
    event.stopImmediatePropagation();
    event.preventDefault();
  };
  const expectTyping = (item, byKey) => {
    typing = { item, byKey, verdict: null, until: performance.now() + TYPING_MS };
    axtrialFirst.typing = onTyping;
    axtrialFirst.listen();
  };
  const endTyping = () => { typing = axtrialFirst.typing = null; };

  /* Focus the field and select what it holds, so that inserted text replaces it; picked values are set here. */
  const type = async (nonce, n, value) => {
    endTyping();
    let found = resolve(nonce, n);
    if (found.status !== "ok") return found;
    const item = found.item;
    if (!isTextual(item) && !isEditableHost(item)) return { status: "not_editable", why: "it is no text field" };
    const why = fieldRefusal(item);
    if (why !== null) return { status: "not_editable", why };
    if (is(item, HTMLInputElement) && !takes(item, value)) return { status: "not_editable", why: `a ${item.type} field does not take this text` };
    if (is(item, HTMLInputElement) && PICKED_TYPES.has(item.type)) return setPicked(item, value);
    element.scroll(item, { block: "nearest", inline: "nearest", behavior: "instant" });
    html.focus(item, { preventScroll: true });
    found = resolve(nonce, n);
    if (found.status !== "ok") return found;
    if (activeDeep() !== item || fieldRefusal(item) !== null) return { status: "not_editable", why: "it does not take the focus" };
    selectAll(item);
    expectTyping(item, value === "");
    return { status: "ok", typed: false, empty: valueOf(item) === "" && !(is(item, HTMLInputElement) && item.value !== "") };
  };

  const selectOption = (nonce, n, wanted) => {
    const found = resolve(nonce, n);
    if (found.status !== "ok") return found;
    const item = found.item;
    if (!is(item, HTMLSelectElement)) return { status: "not_editable", why: "it is no native select; click it, then click its option" };
    const why = fieldRefusal(item);
    if (why !== null) return { status: "not_editable", why };
    const chosen = wanted.map((label) => Array.from(item.options).find((option) => optionText(option) === fold(label)
      && !element.matches(option, ":disabled") && style(option).display !== "none"));
    if (chosen.includes(undefined)) return { status: "not_editable", why: "it has no enabled option with this text" };
    if (chosen.length !== 1 && !item.multiple) return { status: "not_editable", why: "it takes exactly one option" };
    const before = Array.from(item.selectedOptions);
    for (const option of item.options) option.selected = chosen.includes(option);
    if (before.length !== chosen.length || before.some((option) => !chosen.includes(option))) changed(item);
    return { status: "ok" };
  };

  let marked = null;
  const unmark = () => { if (marked !== null) element.remove(marked, limits.mark); marked = null; };
  /* Mark the file field for one upload. Without a ref: the page's only file field. */
  const fileFields = () => {
    const found = [];
    const stack = [page.top(document)];
    while (stack.length > 0) {
      const item = stack.pop();
      if (item === null || !isElement(item)) continue;
      if (is(item, HTMLInputElement) && item.type === "file" && !isDisabled(item)) found.push(item);
      stack.push(...flatChildren(item));
    }
    return found;
  };
  const upload = (nonce, n, mark) => {
    unmark();
    let item;
    if (n === null) {
      const all = fileFields();
      if (all.length !== 1) return { status: "not_editable", why: `the page has ${all.length} file fields; name one by its ref` };
      item = all[0];
    } else {
      const found = resolve(nonce, n);
      if (found.status !== "ok") return found;
      item = found.item;
    }
    if (!is(item, HTMLInputElement) || item.type !== "file") return { status: "no_file_field" };
    if (isDisabled(item)) return { status: "not_editable", why: "it is disabled" };
    if (item.webkitdirectory) return { status: "not_editable", why: "it takes a folder" };
    element.set(item, limits.mark, mark);
    marked = item;
    return { status: "ok" };
  };
  /* Resolves once the DOM was quiet for `quiet` ms, or after `most` ms. */
  const settle = (quiet, most) => new Promise((done) => {
    const finish = (calm) => { watcher.disconnect(); clearTimeout(calmer); clearTimeout(last); done(calm); };
    const watcher = new MutationObserver(() => { clearTimeout(calmer); calmer = setTimeout(finish, quiet, true); });
    let calmer = setTimeout(finish, quiet, true);
    const last = setTimeout(finish, most, false);
    watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  });

  const valueNow = (nonce, n) => {
    const found = resolve(nonce, n);
    if (found.status === "stale_ref" || found.status === "missing_node") return null;
    const item = observer.current(n);
    return is(item, HTMLInputElement) && item.type === "password" ? null : cut(valueOf(item), limits.value)[0];
  };
  /* What became of the text, which was sent, and what the field holds now. */
  const typed = (nonce, n) => {
    const heard = typing === null || typing.verdict !== null;
    const verdict = typing === null ? { status: "ok" } : typing.verdict ?? receives(typing.item);
    endTyping();
    return verdict.status === "ok" ? { status: "ok", value: valueNow(nonce, n) } : { ...verdict, heard };
  };

  return { click, type, selectOption, upload, unmark, marked: () => marked, settle, typed, endTyping, arm,
    met, disarm, size: () => [innerWidth, innerHeight] };
}
