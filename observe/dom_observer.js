/* The page script of an observation: which elements are action refs, what is said of them, and whether a ref still
   denotes what was shown. Evaluated in an isolated world of the main frame, once for each document. */
(reads, limits) => {
  "use strict";
  const { node, element, html, page, rootAt, isElement, is, style, fold, cut, eachFlatChild, flatChildren, childrenOf,
    flatParent, contains } = reads;

  // ---- roles ---------------------------------------------------------------------------------------------------

  const INTERACTIVE = new Set(["button", "checkbox", "combobox", "gridcell", "link", "listbox", "menuitem",
    "menuitemcheckbox", "menuitemradio", "option", "radio", "scrollbar", "searchbox", "slider", "spinbutton", "switch",
    "tab", "textbox", "treeitem"]);
  const KNOWN = new Set([...INTERACTIVE, "alert", "alertdialog", "application", "article", "banner", "blockquote",
    "caption", "cell", "code", "columnheader", "complementary", "contentinfo", "definition", "deletion", "dialog",
    "directory", "document", "emphasis", "feed", "figure", "form", "generic", "grid", "group", "heading", "img", "image",
    "insertion", "list", "listitem", "log", "main", "mark", "marquee", "math", "menu", "menubar", "meter", "navigation",
    "note", "paragraph", "progressbar", "radiogroup", "region", "row", "rowgroup", "rowheader", "search", "separator",
    "status", "strong", "subscript", "suggestion", "superscript", "table", "tablist", "tabpanel", "term", "time",
    "timer", "toolbar", "tooltip", "tree", "treegrid"]);
  const BUTTON_TYPES = new Set(["button", "submit", "reset", "image"]);
  const LISTED_TYPES = new Set(["text", "search", "tel", "url", "email"]); // a list makes a combobox of these alone
  const TYPE_ROLES = { checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox",
    file: "input", color: "input", hidden: "input" };
  const ROW_TAGS = new Set(["tr", "li", "option", "article"]);
  const ROW_ROLES = new Set(["row", "listitem", "option"]);

  const explicitRole = (item) => {
    const given = element.attribute(item, "role");
    if (given === null) return null;
    for (const token of given.toLowerCase().split(/\s+/u)) if (KNOWN.has(token)) return token;
    return null;
  };
  /* A tag name is page text too: one that is not a plain word is not repeated. */
  const tagWord = (item) => {
    const tag = element.tag(item);
    return /^[a-z][a-z0-9-]{0,31}$/u.test(tag) ? tag : "element";
  };
  const inputRole = (item) => {
    const type = item.type;
    if (BUTTON_TYPES.has(type)) return "button";
    if (type in TYPE_ROLES && !(LISTED_TYPES.has(type) && item.list !== null)) return TYPE_ROLES[type];
    return item.list !== null && LISTED_TYPES.has(type) ? "combobox" : "textbox";
  };
  const nativeRole = (item) => {
    if (is(item, HTMLInputElement)) return inputRole(item);
    if (is(item, HTMLTextAreaElement)) return "textbox";
    if (is(item, HTMLSelectElement)) return item.multiple || item.size > 1 ? "listbox" : "combobox";
    if (is(item, HTMLButtonElement)) return "button";
    if (isLink(item)) return "link";
    return isEditableHost(item) ? "textbox" : tagWord(item);
  };
  const isLink = (item) => {
    const tag = element.tag(item);
    return (tag === "a" || tag === "area") && (element.has(item, "href") || element.has(item, "xlink:href"));
  };
  const isEditableHost = (item) => {
    if (!element.has(item, "contenteditable") || !is(item, HTMLElement) || !html.editable(item)) return false;
    const parent = flatParent(item);
    return !(is(parent, HTMLElement) && html.editable(parent));
  };
  const roleOf = (item, pass) => explicitRole(item) ?? (pass === "B" ? "clickable" : nativeRole(item));

  // ---- names ---------------------------------------------------------------------------------------------------

  const SKIPPED_TAGS = new Set(["script", "style", "template", "noscript", "select", "textarea", "input", "datalist",
    "iframe", "object", "video", "audio", "canvas"]);
  const isField = (item) => SKIPPED_TAGS.has(element.tag(item)) || isEditableHost(item);

  /* The words below an element, without field values and editable content. `seen` keeps to what is shown and to what
     assistive technology hears; without it all text counts. Stops once it has enough. */
  const words = (top, most, seen) => {
    const parts = [];
    let length = 0;
    const topShown = seen && style(top).visibility === "visible"; // a hidden element keeps the name that it was shown with
    const stack = [[top, false]];
    while (stack.length > 0 && length <= most * 2) {
      const [item, leaving] = stack.pop();
      if (leaving || typeof item === "string") { parts.push(typeof item === "string" ? item : " "); continue; }
      if (node.type(item) === 3) { const text = node.text(item); parts.push(text); length += fold(text).length; continue; }
      if (node.type(item) !== 1 || (item !== top && isField(item))) continue;
      if (item !== top && seen) {
        if (element.attribute(item, "aria-hidden") === "true") continue;
        const how = style(item);
        if (how.display === "none") continue;
        if (topShown && how.visibility !== "visible" && how.display !== "contents") {
          for (const child of flatChildren(item).reverse()) if (isElement(child)) stack.push([child, false]);
          continue;
        }
        const label = fold(element.attribute(item, "aria-label") ?? "");
        if (label !== "") { parts.push(" ", label, " "); length += label.length; continue; }
        if (how.display !== "inline" && how.display !== "contents") { parts.push(" "); stack.push([item, true]); }
      }
      const tag = element.tag(item);
      if (tag === "br" || (!seen && item !== top)) parts.push(" ");
      const alt = tag === "img" || tag === "area" ? element.attribute(item, "alt") : null;
      if (alt !== null) { parts.push(" ", alt, " "); length += alt.length; }
      for (const child of flatChildren(item).reverse()) stack.push([child, false]);
    }
    return fold(parts.join(""));
  };

  const labelledBy = (item) => {
    const ids = element.attribute(item, "aria-labelledby");
    if (ids === null) return "";
    const root = node.root(item);
    const found = [];
    for (const id of ids.split(/\s+/u).slice(0, 20)) {
      const other = id !== "" && (is(root, Document) || is(root, ShadowRoot)) ? byId(root, id) : null;
      if (other === null) continue;
      const shown = element.visible(other, { visibilityProperty: true });
      found.push(fold(element.attribute(other, "aria-label") ?? "") || words(other, limits.name, shown)
        || (is(other, HTMLInputElement) && BUTTON_TYPES.has(other.type) ? fold(other.value) : ""));
    }
    return fold(found.join(" "));
  };
  const byId = (root, id) => (is(root, Document) ? Document : DocumentFragment).prototype.getElementById.call(root, id);
  const isLabelable = (item) => is(item, HTMLInputElement) || is(item, HTMLTextAreaElement) || is(item, HTMLSelectElement)
    || is(item, HTMLButtonElement) || is(item, HTMLMeterElement) || is(item, HTMLProgressElement) || is(item, HTMLOutputElement);
  /* `item.labels` walks the whole tree. Where many elements are described, the labels of a tree are looked up once. */
  let labelled = null;
  const together = (describeMany) => {
    labelled = new Map();
    try { return describeMany(); } finally { labelled = null; }
  };
  const labelsIn = (root) => {
    const found = new Map();
    for (const label of (is(root, Document) ? documentQuery : fragmentQuery)(root, "label")) {
      const control = is(label, HTMLLabelElement) ? label.control : null;
      if (control !== null && !found.has(control)) found.set(control, []);
      if (control !== null) found.get(control).push(label);
    }
    return found;
  };
  const labels = (item) => {
    if (!isLabelable(item)) return [];
    const root = node.root(item);
    if (labelled === null || !node.connected(item)) return item.labels !== null ? Array.from(item.labels) : [];
    if (!labelled.has(root)) labelled.set(root, labelsIn(root));
    return labelled.get(root).get(item) ?? [];
  };
  const isTextField = (item) => is(item, HTMLTextAreaElement) || is(item, HTMLSelectElement) || isEditableHost(item)
    || (is(item, HTMLInputElement) && !BUTTON_TYPES.has(item.type));
  const ownText = (item) => {
    if (is(item, HTMLInputElement) && BUTTON_TYPES.has(item.type)) {
      return fold(item.type === "image" ? element.attribute(item, "alt") ?? "" : item.value)
        || ({ submit: "Submit", reset: "Reset" })[item.type] || "";
    }
    const tag = element.tag(item);
    return tag === "img" || tag === "area" ? fold(element.attribute(item, "alt") ?? "") : "";
  };
  const svgTitle = (item) => {
    const inside = element.query(item, "svg > title");
    return inside.length > 0 ? fold(node.text(inside[0])) : "";
  };
  const labelWords = (label) => fold(element.attribute(label, "aria-label") ?? "") || words(label, limits.name, true);
  const nameOf = (item) =>
    labelledBy(item)
    || fold(element.attribute(item, "aria-label") ?? "")
    || fold(labels(item).map(labelWords).join(" "))
    || ownText(item)
    || (isTextField(item) ? "" : words(item, limits.name, true) || svgTitle(item))
    || fold(element.attribute(item, "title") ?? "")
    || fold(element.attribute(item, "placeholder") ?? "")
    || fold(element.attribute(item, "name") ?? "");

  /* What the model was shown of an element, and what an action compares: role, name, nearest row. */
  const rowAround = (item) => {
    for (let at = flatParent(item); at !== null && isElement(at); at = flatParent(at)) {
      if (ROW_TAGS.has(element.tag(at)) || ROW_ROLES.has(explicitRole(at))) return at;
    }
    return null;
  };
  const rowText = (row) => cut(words(row, limits.row, false), limits.row)[0];
  /* `rows` keeps the texts of rows within one observation: many refs stand in one row. */
  const rowOf = (item, rows) => {
    const row = rowAround(item);
    if (row === null) return null;
    if (!rows.has(row)) rows.set(row, rowText(row));
    return rows.get(row);
  };
  const identity = (item, pass, name, rows) => JSON.stringify([roleOf(item, pass), name, rowOf(item, rows)]);

  // ---- states --------------------------------------------------------------------------------------------------

  const VALUE_LESS = new Set(["password", "file", "hidden", "color", "checkbox", "radio", "button", "submit", "reset", "image"]);
  const triState = (item, name) => {
    const value = element.attribute(item, name);
    return value === "true" || value === "false" || value === "mixed" ? value : undefined;
  };
  const optionText = (option) => fold(element.attribute(option, "label") || node.text(option));
  const valueOf = (item) => {
    if (is(item, HTMLInputElement)) return VALUE_LESS.has(item.type) ? "" : item.value;
    if (is(item, HTMLTextAreaElement)) return item.value;
    if (is(item, HTMLSelectElement)) return Array.from(item.selectedOptions, optionText).join(", ");
    if (!isEditableHost(item)) return "";
    const inner = html.inner(item);
    return fold(inner) === "" ? "" : inner; // an empty editor holds a line break of its own
  };
  const isDisabled = (item) => element.matches(item, ":disabled") || element.attribute(item, "aria-disabled") === "true";
  const READONLY_TYPES = new Set(["text", "search", "url", "tel", "email", "password", "date", "month", "week", "time",
    "datetime-local", "number"]);
  const isReadonly = (item) => element.attribute(item, "aria-readonly") === "true"
    || (is(item, HTMLTextAreaElement) && item.readOnly)
    || (is(item, HTMLInputElement) && item.readOnly && READONLY_TYPES.has(item.type));
  const isRequired = (item) => element.attribute(item, "aria-required") === "true" || ((is(item, HTMLInputElement)
    || is(item, HTMLTextAreaElement) || is(item, HTMLSelectElement)) && item.required);
  const isInvalid = (item) => {
    const given = element.attribute(item, "aria-invalid");
    return given === null || given === "" ? element.matches(item, ":user-invalid") : given !== "false";
  };
  const checkedOf = (item) => {
    const given = triState(item, "aria-checked");
    if (given !== undefined) return given;
    if (!is(item, HTMLInputElement) || (item.type !== "checkbox" && item.type !== "radio")) return undefined;
    return item.indeterminate && item.type === "checkbox" ? "mixed" : String(item.checked);
  };
  const expandedOf = (item) => {
    const given = element.attribute(item, "aria-expanded");
    if (given === "true" || given === "false") return given;
    const parent = element.tag(item) === "summary" ? node.parent(item) : null;
    if (!is(parent, HTMLDetailsElement)) return undefined;
    return childrenOf(parent).find((child) => isElement(child) && element.tag(child) === "summary") === item
      ? String(parent.open) : undefined;
  };
  const selectedOf = (item) => {
    const given = element.attribute(item, "aria-selected");
    if (given === "true" || given === "false") return given;
    return is(item, HTMLOptionElement) ? String(item.selected) : undefined;
  };
  const describe = (item, pass) => {
    const [name, nameCut] = cut(nameOf(item), limits.name);
    const [value, valueCut] = cut(valueOf(item), limits.value);
    const state = { value: value === "" ? undefined : value, value_truncated: valueCut || undefined,
      name_truncated: nameCut || undefined, checked: checkedOf(item), disabled: isDisabled(item) || undefined,
      readonly: isReadonly(item) || undefined, required: isRequired(item) || undefined,
      invalid: isInvalid(item) || undefined, expanded: expandedOf(item), selected: selectedOf(item),
      pressed: triState(item, "aria-pressed") };
    return { role: roleOf(item, pass), name, state };
  };

  /* Takes typed text, or a picked value; buttons, choices and files do not. */
  const isTextual = (item) => is(item, HTMLTextAreaElement) || (is(item, HTMLInputElement) && !BUTTON_TYPES.has(item.type)
    && !["checkbox", "radio", "file", "hidden"].includes(item.type));

  // ---- which elements ------------------------------------------------------------------------------------------

  const isShown = (item) => element.visible(item, { visibilityProperty: true });
  const hasBox = (item, least) => {
    const box = element.box(item);
    return box.width >= least && box.height >= least;
  };
  const hasTabStop = (item) => {
    const given = element.attribute(item, "tabindex");
    return given !== null && /^[\t\n\f\r ]*(\+?\d|-0+(?!\d))/u.test(given);
  };
  const CONTROL_TAGS = new Set(["button", "textarea", "select", "summary"]);
  const passesA = (item) => {
    const tag = element.tag(item);
    if (CONTROL_TAGS.has(tag) || (tag === "input" && item.type !== "hidden") || isLink(item)) return true;
    return INTERACTIVE.has(explicitRole(item)) || hasTabStop(item) || isEditableHost(item);
  };
  /* Inside an editor only form controls and islands that are not editable are refs of their own. */
  const isPartOfEditor = (item) => is(item, HTMLElement) && html.editable(item) && !isEditableHost(item)
    && !(isLabelable(item) && passesA(item));

  const deepAt = (x, y) => {
    let at = page.at(document, x, y);
    while (at !== null && element.shadow(at) !== null) {
      const inner = rootAt(element.shadow(at), x, y);
      if (inner === null || inner === at) break;
      at = inner;
    }
    return at;
  };
  /* Only the topmost modal dialog takes input: the one that a point inside it still hits. */
  const topModal = (open) => open.findLast((dialog) => {
    const box = element.box(dialog);
    const at = deepAt(box.left + box.width / 2, box.top + box.height / 2);
    const nested = (other) => other !== dialog && contains(dialog, other) && contains(other, at);
    return at !== null && contains(dialog, at) && !open.some(nested);
  }) ?? open.at(-1);

  const isModal = (item) => element.tag(item) === "dialog" && element.matches(item, ":modal");
  /* Open modal dialogs, those in open shadow roots included. */
  const modalsIn = (root, query) => {
    const found = Array.from(query(root, "dialog:modal"));
    for (const item of query(root, "*")) {
      const shadow = element.shadow(item);
      if (shadow !== null) found.push(...modalsIn(shadow, fragmentQuery));
    }
    return found;
  };
  const documentQuery = (...given) => Document.prototype.querySelectorAll.call(...given);
  const fragmentQuery = (...given) => DocumentFragment.prototype.querySelectorAll.call(...given);

  /* Elements in flat-tree order that are not inert. Iterative, as pages nest deeper than a stack holds. Ends as soon as
     pass A alone has more than `most`; styles are asked for after that, so that a long page does without. */
  const collect = (start, most) => {
    const taken = [], others = []; // others: each with the nearest other element around it
    const open = start === null ? [] : [[[start].values(), false, null]];
    while (open.length > 0) {
      const [siblings, inside, outer] = open.at(-1);
      const { value: item, done } = siblings.next();
      if (done) open.pop();
      if (done || !isElement(item) || element.has(item, "inert")) continue;
      let within = inside, around = outer;
      if (passesA(item) && !isPartOfEditor(item)) {
        if (hasBox(item, 1) && isShown(item)) { taken.push(item); within = true; }
        if (taken.length > most) return [taken, []];
      } else if (!within) {
        around = { item, outer };
        others.push(around);
      }
      open.push([eachFlatChild(item), within, around]);
    }
    return [taken, pointersOf(others)];
  };
  /* The leaf-most elements of pass B among these. */
  const pointersOf = (others) => {
    for (const entry of others) {
      const { outer } = entry;
      entry.above = outer === null || outer.pointer ? outer : outer.above; // the nearest pointer around it
      entry.leaf = entry.pointer = isPointer(entry.item);
      if (entry.pointer) for (let up = entry.above; up !== null && up.leaf; up = up.above) up.leaf = false;
    }
    return others.filter((entry) => entry.leaf).map((entry) => entry.item);
  };
  const isPointer = (item) => style(item).cursor === "pointer" && hasBox(item, 8) && isShown(item) && !isPartOfEditor(item);

  /* A label, or what is in it, says the same as the ref of its control. */
  const isForControl = (item, given) => {
    for (let at = item; at !== null && isElement(at); at = flatParent(at)) {
      if (is(at, HTMLLabelElement)) return at.control !== null && given.has(at.control);
    }
    return false;
  };
  /* Whether a point hits this element: then no modal dialog is open elsewhere, as nothing outside of one is hit. Of a
     host the dialog in its shadow root may be meant, and what stands in a dialog is hit in any case. */
  const isFree = (item) => {
    if (node.root(item) !== document || element.shadow(item) !== null) return false;
    for (let at = item; at !== null && isElement(at); at = flatParent(at)) if (element.tag(at) === "dialog") return false;
    const box = element.box(item);
    return page.allAt(document, box.left + box.width / 2, box.top + box.height / 2).includes(item);
  };
  const PROBES = 5;
  const candidates = (most) => {
    const [first, others] = documentQuery(document, "dialog:modal").length > 0 ? [[], []] : collect(page.top(document), most);
    const modals = first.slice(0, PROBES).some(isFree) ? [] : modalsIn(document, documentQuery); // looks at each element
    const [taken, pointers] = modals.length > 0 ? collect(topModal(modals), most) : [first, others];
    const given = new Set(taken);
    const free = pointers.filter((item) => !isForControl(item, given));
    return [taken, free];
  };

  // ---- the observation -----------------------------------------------------------------------------------------

  const newNonce = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const STAMP = limits.attribute;
  let current = newNonce();
  let stamped = { nonce: "", items: [] };
  const forget = () => {
    for (const { item } of stamped.items) element.remove(item, STAMP);
    stamped = { nonce: "", items: [] };
  };
  /* A document that is left is over, also if the browser keeps it and brings it back. */
  addEventListener("pagehide", () => { forget(); current = newNonce(); }, { capture: true });

  const shownName = (ref) => [ref.name, ref.state.name_truncated === true];
  const entries = ([taken, free]) => [...taken.map((item) => ({ item, pass: "A" })), ...free.map((item) => ({ item, pass: "B" }))];
  /* `counted` false: those beyond the bound are not counted, and the total is then null. The first `before` are left
     out, unless all of them fit. */
  const observe = (nonce, counted, before) => {
    forget();
    const most = before + limits.refs;
    const found = entries(candidates(counted ? Infinity : most));
    const total = counted || found.length <= most ? found.length : null;
    const from = total !== null && total <= limits.refs ? 0 : before;
    return stampAll(nonce, found.slice(from, from + limits.refs), total, from);
  };
  const stampAll = (nonce, items, total, before) => {
    const refs = together(() => items.map(({ item, pass }) => describe(item, pass)));
    const rows = new Map();
    items.forEach((entry, index) => { entry.identity = identity(entry.item, entry.pass, shownName(refs[index]), rows); });
    items.forEach(({ item }, index) => element.set(item, STAMP, `${nonce}:${index + 1}`));
    stamped = { nonce, items };
    return { document: current, url: location.href, title: page.title(document), total, before, refs };
  };

  /* What a search goes through, and then the refs of those that it chose. */
  let searched = [];
  const elements = () => {
    const found = entries(candidates(Infinity)), rows = new Map();
    searched = found.slice(0, limits.searched);
    const described = together(() => searched.map(({ item, pass }) => ({ ...describe(item, pass), row: rowOf(item, rows) })));
    return { complete: found.length === searched.length, elements: described };
  };
  const observeChosen = (nonce, chosen) => {
    forget();
    const items = chosen.map((place) => searched[place]).filter(({ item }) => node.connected(item));
    searched = [];
    return stampAll(nonce, items, null, 0);
  };

  /* The elements that carry this nonce, in the order of their refs. */
  const stampedItems = (nonce) => (nonce === stamped.nonce ? stamped.items.map(({ item }) => item) : []);

  /* Resolve a ref, or say why not; in the order of the contract. */
  const resolve = (nonce, n) => {
    if (nonce !== stamped.nonce || !(n >= 1 && n <= stamped.items.length)) return { status: "stale_ref" };
    const { item, pass, identity: shown } = stamped.items[n - 1];
    if (!node.connected(item) || node.document(item) !== document || element.attribute(item, STAMP) !== `${nonce}:${n}`) return { status: "missing_node" };
    if (identity(item, pass, cut(nameOf(item), limits.name), new Map()) !== shown) return { status: "changed_element" };
    return { status: "ok", item };
  };

  /* Visible text of the main frame, open shadow roots included. */
  const text = () => {
    const body = page.body(document);
    const whole = is(body, HTMLElement) ? [html.inner(body), ...shadowTexts(body)].filter((part) => part !== "").join("\n") : "";
    return { text: whole.slice(0, limits.text), total: whole.length > limits.text ? Array.from(whole).length : null };
  };
  const shadowTexts = (top) => {
    const found = [];
    const stack = [top];
    while (stack.length > 0) {
      const item = stack.pop();
      const shadow = isElement(item) ? element.shadow(item) : null;
      if (shadow !== null) {
        for (const child of childrenOf(shadow)) if (is(child, HTMLElement) && !SKIPPED_TAGS.has(element.tag(child)) && isShown(child)) found.push(html.inner(child));
        stack.push(...childrenOf(shadow).reverse());
      }
      stack.push(...childrenOf(item).reverse());
    }
    return found;
  };

  return { nonce: () => current, observe, elements, observeChosen, stampedItems, text, resolve, roleOf, labels, valueOf, optionText, isDisabled, isReadonly,
    isShown, hasBox, passesA, isModal, isEditableHost, isTextual, deepAt, current: (n) => stamped.items[n - 1].item };
}
