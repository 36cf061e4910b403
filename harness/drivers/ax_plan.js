/* Chooses what of a long page is asked for first: subtrees in document order, each small enough to be read in one go,
   and the elements around them. Runs beside the observer, in the same isolated world; remembers where it stopped. */
(reads, observer) => {
  "use strict";
  const { node, element, html, isElement, is, eachFlatChild, flatChildren } = reads;

  const all = (...given) => Document.prototype.getElementsByTagName.call(...given);
  const SILENT = new Set(["head", "script", "style", "template", "meta", "link", "title", "base"]);
  const says = (item) => (isElement(item) ? !SILENT.has(element.tag(item))
    : node.type(item) === 3 && /[^ \t\r\n\f]/.test(node.text(item)));
  /* About how many characters a formatter writes for a node: its words, and a line of its own with role and indent where
     it has one. A guess: after the read it is known how far off it was. */
  const UNTOLD = new Set(["div", "span", "p", "label", "section", "body", "html", "tbody", "b", "i", "em", "strong"]);
  const ONE_NAME = new Set(["a", "button", "h1", "h2", "h3", "h4", "h5", "h6", "option", "summary"]);
  const LINE = 20;
  const weight = (item, around) => {
    if (isElement(item)) return UNTOLD.has(element.tag(item)) ? 0 : LINE;
    if (node.type(item) !== 3) return 0;
    return node.text(item).length + (around !== null && isElement(around) && ONE_NAME.has(element.tag(around)) ? 0 : LINE);
  };
  /* Nodes and weight of the flat subtree, or null where there are more nodes than `most`. What is edited is one value:
     it is never divided. */
  const sizeOf = (item, around, most) => {
    let chars = weight(item, around), nodes = 1;
    if (item !== document && (!isElement(item) || (is(item, HTMLElement) && html.editable(item)))) return { nodes, chars };
    const open = [item];
    while (open.length > 0) {
      const parent = open.pop();
      for (const child of eachFlatChild(parent)) {
        if (!says(child)) continue;
        if (++nodes > most) return null;
        chars += weight(child, parent);
        if (isElement(child)) open.push(child);
      }
    }
    return { nodes, chars };
  };

  let waiting = []; // in reverse: what comes next in the document stands last, each with what it stands in
  const isPlanned = ([item]) => item === document || says(item);
  /* Whether there is one more to plan, which then stands last. */
  const next = () => {
    while (waiting.length > 0 && !isPlanned(waiting.at(-1))) waiting.pop();
    return waiting.length > 0;
  };
  const count = () => [observer.nonce(), all(document, "*").length];
  /* For about `chars` more characters: nonce and number of elements of the document, how many stand around the subtrees,
     whether that was all, how many nodes are planned, those elements, and the roots of the subtrees. */
  const plan = (again, chars, most) => {
    if (again) waiting = [[document, null]];
    const around = [], roots = [];
    let sum = 0, nodes = 0;
    while (next() && sum < chars) {
      const [item, outer] = waiting.pop();
      const size = sizeOf(item, outer, most);
      if (size !== null) {
        roots.push(item);
        sum += size.chars;
        nodes += size.nodes;
        continue;
      }
      around.push(item);
      const below = flatChildren(item);
      for (let at = below.length - 1; at >= 0; at--) waiting.push([below[at], item]);
    }
    return [...count(), around.length, !next(), nodes, ...around, ...roots];
  };
  /* Elements of the document, and nodes and number of the subtrees that would be chosen; the plan stays as it is. */
  const measure = (chars, most) => {
    const kept = waiting;
    const [, elements, around, , nodes, ...found] = plan(true, chars, most);
    waiting = kept;
    return [elements, nodes, found.length - around];
  };
  /* How many are planned before this one; null: it is not planned at all. */
  const planned = (item) => {
    const at = waiting.findLastIndex(([each]) => each === item);
    return at < 0 || !isPlanned(waiting[at]) ? null : waiting.slice(at + 1).filter(isPlanned).length;
  };

  return { count, plan, measure, planned };
}
