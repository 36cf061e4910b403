/* Scrolling as a person does it: what lies under the middle of the window, or what is around it if that is at its end.
   Runs beside the observer, in the same isolated world: a page can neither make it smooth nor put a function of its own
   in its place. */
(reads, observer) => {
  "use strict";
  const { element, page, isElement, style, flatParent } = reads;
  const { deepAt } = observer;

  const MOST_MS = 2_000; // an animated scroll takes some 0.2 s, a long smooth one 1 s
  const WHEEL_MS = 15_000; // one that never came must not cost a person's wheel its effect
  const FRAME_MS = 50; // where no frame is drawn, the wait must go on
  const CALM_FRAMES = 3; // a scroll that moves again only later is one of the page's own
  const START_FRAMES = 12; // what the wheel moves is told to the page with one of the next frames

  const OWN_SCROLLS = new Set(["auto", "scroll", "overlay"]);
  const FRAMES = new Set(["iframe", "frame", "object", "embed"]);
  const FRACTIONS = [0.5, 0.25, 0.75, 0.05, 0.95];

  const main = () => page.scroller(document) ?? page.top(document);
  /* The window takes the overflow of the root, or else that of the body, which then is no box that scrolls. */
  const windowOverflow = () => {
    const own = style(page.top(document)).overflowY, body = page.body(document);
    return own === "visible" && body !== null ? style(body).overflowY : own;
  };
  const scrolls = (at) => {
    if (at === main()) return !["hidden", "clip"].includes(windowOverflow());
    if (at === page.body(document) && style(page.top(document)).overflowY === "visible") return false;
    return OWN_SCROLLS.has(style(at).overflowY);
  };
  const hasRoom = (at, dy) => {
    const most = element.height(at) - element.seen(at), how = style(at);
    const fromEnd = how.display.includes("flex") && how.flexDirection === "column-reverse"; // counts from 0 down
    const top = element.top(at) + (fromEnd ? most : 0);
    return dy > 0 ? most - top >= 1 : top > 0;
  };
  const around = (x, y) => {
    const found = [];
    for (let at = deepAt(x, y); at !== null && isElement(at); at = flatParent(at)) if (scrolls(at)) found.push(at);
    if (!found.includes(main()) && scrolls(main())) found.push(main());
    return found;
  };
  const middle = () => around(innerWidth / 2, innerHeight / 2);

  let moving = null;
  /* A wheel over this point moves what is meant, and no frame and nothing that keeps the wheel to itself before it. */
  const leadsTo = (wanted, x, y, dy) => {
    const at = deepAt(x, y);
    if (at !== null && FRAMES.has(element.tag(at))) return false;
    const first = around(x, y).find((one) => one === wanted || hasRoom(one, dy) || style(one).overscrollBehaviorY !== "auto");
    return first === wanted;
  };
  const WHEEL = { capture: true, passive: true };
  const onWheel = (event) => {
    if (!event.isTrusted) return;
    removeEventListener("wheel", onWheel, WHEEL); // it was this one
    if (performance.now() < moving.until) event.stopImmediatePropagation();
  };
  const watch = (dy) => {
    const boxes = middle();
    moving = { tops: new Map(boxes.map((at) => [at, element.top(at)])), ended: false, until: performance.now() + WHEEL_MS };
    return boxes.find((at) => hasRoom(at, dy)) ?? null;
  };
  /* Where the wheel is to turn for a scroll by `dy`; null: nothing there can move. The page's own listeners do not get
     that wheel: it is this scroll and nothing else. */
  const aim = (dy) => {
    const wanted = watch(dy);
    if (wanted === null) return null;
    const points = FRACTIONS.flatMap((fy) => FRACTIONS.map((fx) => [innerWidth * fx, innerHeight * fy]));
    addEventListener("wheel", onWheel, WHEEL);
    return points.find(([x, y]) => leadsTo(wanted, x, y, dy)) ?? points[0];
  };
  const scroll = (dy) => {
    const wanted = watch(dy);
    if (wanted !== null) element.by(wanted, { top: dy, behavior: "instant" });
    return gone();
  };

  const gone = () => {
    for (const [at, top] of moving.tops) if (element.top(at) !== top) return element.top(at) - top;
    return 0;
  };
  const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); setTimeout(resolve, FRAME_MS); });
  /* How far it went, once it stands still. */
  const scrolled = async () => {
    const onEnd = () => { moving.ended = true; };
    addEventListener("scrollend", onEnd, { capture: true });
    const end = performance.now() + MOST_MS;
    for (let calm = 0, last = gone(); performance.now() < end;) {
      await frame();
      calm = gone() === last ? calm + 1 : 0;
      last = gone();
      if (calm >= (moving.ended || last !== 0 ? CALM_FRAMES : START_FRAMES)) break;
    }
    removeEventListener("scrollend", onEnd, { capture: true });
    removeEventListener("wheel", onWheel, WHEEL);
    return gone();
  };

  return { aim, scroll, scrolled };
}
