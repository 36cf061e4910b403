/* Reads of a page that its content cannot shadow. Everything here runs in an isolated world, which shares the DOM with
   the page: a form control named "parentNode" or "body" must not be able to stand in for a property, so each one is
   read through the prototype. */
() => {
  "use strict";

  const getter = (prototype, name) => {
    const get = Object.getOwnPropertyDescriptor(prototype, name).get;
    return (object) => get.call(object);
  };
  const method = (prototype, name) => {
    const call = prototype[name];
    return (object, ...rest) => call.apply(object, rest);
  };
  const node = { parent: getter(Node.prototype, "parentNode"), type: getter(Node.prototype, "nodeType"),
    connected: getter(Node.prototype, "isConnected"), first: getter(Node.prototype, "firstChild"),
    next: getter(Node.prototype, "nextSibling"), root: method(Node.prototype, "getRootNode"),
    text: getter(Node.prototype, "textContent"), document: getter(Node.prototype, "ownerDocument") };
  const element = { attribute: method(Element.prototype, "getAttribute"), has: method(Element.prototype, "hasAttribute"),
    set: method(Element.prototype, "setAttribute"), remove: method(Element.prototype, "removeAttribute"),
    tag: getter(Element.prototype, "localName"), box: method(Element.prototype, "getBoundingClientRect"),
    boxes: method(Element.prototype, "getClientRects"), matches: method(Element.prototype, "matches"),
    shadow: getter(Element.prototype, "shadowRoot"), slot: getter(Element.prototype, "assignedSlot"),
    query: method(Element.prototype, "querySelectorAll"), scroll: method(Element.prototype, "scrollIntoView"),
    visible: method(Element.prototype, "checkVisibility"), by: method(Element.prototype, "scrollBy"),
    top: getter(Element.prototype, "scrollTop"), height: getter(Element.prototype, "scrollHeight"),
    seen: getter(Element.prototype, "clientHeight"), animations: method(Element.prototype, "getAnimations") };
  const html = { editable: getter(HTMLElement.prototype, "isContentEditable"), focus: method(HTMLElement.prototype, "focus"),
    inner: getter(HTMLElement.prototype, "innerText") };
  const page = { top: getter(Document.prototype, "documentElement"), body: getter(Document.prototype, "body"),
    title: getter(Document.prototype, "title"), at: method(Document.prototype, "elementFromPoint"),
    allAt: method(Document.prototype, "elementsFromPoint"),
    active: getter(Document.prototype, "activeElement"), scroller: getter(Document.prototype, "scrollingElement") };
  const rootAt = method(ShadowRoot.prototype, "elementFromPoint");
  const rootActive = getter(ShadowRoot.prototype, "activeElement");
  const host = getter(ShadowRoot.prototype, "host");
  const assigned = method(HTMLSlotElement.prototype, "assignedNodes");
  const isElement = (item) => item !== null && node.type(item) === 1;
  const is = (item, kind) => item instanceof kind;
  const style = (item) => getComputedStyle(item);

  // ---- text ----------------------------------------------------------------------------------------------------

  const fold = (text) => text.replace(/\p{White_Space}+/gu, " ").replace(/^ | $/gu, "");
  /* The first `most` code points, and whether there were more; no surrogate pair is split. */
  const cut = (text, most) => {
    if (text.length <= most) return [text, false];
    const points = Array.from(text.slice(0, most * 2 + 2));
    return points.length > most ? [points.slice(0, most).join(""), true] : [text, false];
  };

  // ---- the flat tree -------------------------------------------------------------------------------------------

  /* One after another: of an element with very many children often only the first are looked at. */
  function* eachFlatChild(item) {
    const shadow = isElement(item) ? element.shadow(item) : null;
    if (shadow === null && is(item, HTMLSlotElement)) {
      const given = assigned(item);
      if (given.length > 0) { yield* given; return; }
    }
    for (let child = node.first(shadow ?? item); child !== null; child = node.next(child)) yield child;
  }
  const flatChildren = (item) => Array.from(eachFlatChild(item));
  const childrenOf = (item) => {
    const found = [];
    for (let child = node.first(item); child !== null; child = node.next(child)) found.push(child);
    return found;
  };
  const flatParent = (item) => {
    const slot = isElement(item) ? element.slot(item) : null;
    if (slot !== null) return slot;
    const parent = node.parent(item);
    return parent !== null && is(parent, ShadowRoot) ? host(parent) : parent;
  };
  const contains = (outer, inner) => {
    for (let at = inner; at !== null; at = flatParent(at)) if (at === outer) return true;
    return false;
  };

  return { node, element, html, page, rootAt, rootActive, isElement, is, style, fold, cut, eachFlatChild, flatChildren,
    childrenOf, flatParent, contains };
}
