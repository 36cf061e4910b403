/* Chooses what of a long page is asked for first: subtrees in document order, each small enough to be read in one go,
   and the elements around them. Runs beside the observer, in the same isolated world; remembers where it stopped. */
(reads, observer) => {
  "use strict";
  const { node, element, html, isElement, is, flatChildren } = reads;

  const all = (...given) => Document.prototype.getElementsByTagName.call(...given);
  const SILENT = new Set(["head", "script", "style", "template", "meta", "link", "title", "base"]);
  const says = (item) => (isElement(item) ? !SILENT.has(element.tag(item))
    : node.type(item) === 3 && /[^ \t\r\n\f]/.test(node.text(item)));
  /* The nodes of the flat subtree, or null where there are more than `most`. What is edited is one value: it is never
     divided. */
  const sizeOf = (item, most) => {
    if (item !== document && (!isElement(item) || (is(item, HTMLElement) && html.editable(item)))) return 1;
    let size = 1;
    const open = [item];
    while (open.length > 0) {
      for (const child of flatChildren(open.pop())) {
        if (!says(child)) continue;
        if (++size > most) return null;
        if (isElement(child)) open.push(child);
      }
    }
    return size;
  };

  let waiting = []; // in reverse: what comes next in the document stands last
  const count = () => [observer.nonce(), all(document, "*").length];
  /* For about `nodes` more nodes: nonce and number of elements of the document, how many stand around the subtrees,
     whether that was all, those elements, and the roots of the subtrees. */
  const plan = (again, nodes, most) => {
    if (again) waiting = [document];
    const around = [], roots = [];
    let sum = 0;
    while (waiting.length > 0 && sum < nodes) {
      const item = waiting.pop();
      const size = sizeOf(item, most);
      if (size !== null) {
        roots.push(item);
        sum += size;
        continue;
      }
      around.push(item);
      const below = flatChildren(item);
      for (let at = below.length - 1; at >= 0; at--) if (says(below[at])) waiting.push(below[at]);
    }
    return [...count(), around.length, waiting.length === 0, ...around, ...roots];
  };
  /* How many are planned before this one; null: it is not planned at all. */
  const planned = (item) => { const at = waiting.lastIndexOf(item); return at < 0 ? null : waiting.length - 1 - at; };

  return { count, plan, planned };
}
