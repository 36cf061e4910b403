// (budget, deepest, value) -> JSON text {"value": ...} of about `budget` UTF-8 bytes at most, whatever the value is.
// What JSON cannot say is told in words; what was left out is told by a mark beginning with "[cut".
async (budget, deepest, given) => {
  "use strict";
  let left = budget;
  const path = new Set(); // only what encloses the value: a shared reference is no cycle
  const nodeType = Object.getOwnPropertyDescriptor(Node.prototype, "nodeType").get;

  const isNode = (value) => {
    try {
      nodeType.call(value); // refuses what only looks like a node
      return true;
    } catch {
      return false;
    }
  };

  const text = (value) => {
    let end = 0;
    for (let cost = 2; end < value.length; end++) {
      const code = value.charCodeAt(end);
      cost += code < 32 || (code >= 0xd800 && code < 0xe000) ? 6 : code === 34 || code === 92 ? 2 : code < 128 ? 1 : 3;
      if (cost > left) break;
    }
    left -= end + 2;
    const shown = end === value.length ? value : value.slice(0, end);
    const mark = end === value.length ? "" : `[cut: ${end} of ${value.length} characters]`;
    return (shown.toWellFormed ? shown.toWellFormed() : shown) + mark;
  };

  const list = (values, total, depth) => {
    const told = [];
    for (const value of values) {
      if (left <= 0) {
        told.push(`[cut: ${told.length} of ${total} entries]`);
        break;
      }
      told.push(walk(value, depth + 1));
    }
    return told;
  };

  const read = (holder, key) => {
    try {
      return holder[key];
    } catch {
      return null; // a getter that throws
    }
  };

  const record = (value, depth) => {
    const told = Object.create(null);
    const keys = Object.keys(value);
    for (const [n, key] of keys.entries()) {
      if (left <= 0) {
        told["[cut]"] = `${n} of ${keys.length} keys`;
        break;
      }
      told[text(key)] = walk(read(value, key), depth + 1);
    }
    return told;
  };

  const named = (value, depth) => {
    const tag = Object.prototype.toString.call(value).slice(8, -1);
    if (value instanceof Error) return text(`${value.name}: ${value.message}`);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (value instanceof RegExp) return text(String(value));
    if (value instanceof Map) return { "[Map]": list(value, value.size, depth) };
    if (value instanceof Set) return { "[Set]": list(value, value.size, depth) };
    if (ArrayBuffer.isView(value) && value.length !== undefined) return { [`[${tag}]`]: list(value, value.length, depth) };
    if (value instanceof NodeList || value instanceof HTMLCollection) return list(value, value.length, depth);
    if (Array.isArray(value)) return list(value, value.length, depth);
    if (typeof value.toJSON === "function") return walk(value.toJSON(), depth + 1);
    const told = record(value, depth);
    return tag !== "Object" && Object.keys(told).length === 0 ? `[${tag}]` : told;
  };

  const walk = (value, depth) => {
    left -= 4;
    if (typeof value === "string") return text(value);
    if (typeof value === "bigint") return text(value.toString());
    if (typeof value === "boolean") return value;
    if (typeof value === "number") {
      left -= 12;
      return Number.isFinite(value) ? value : null;
    }
    if (typeof value !== "object" || value === null) return null;
    if (isNode(value)) return "ref: <Node>";
    if (path.has(value)) return "[Circular]";
    if (depth > deepest) return "[cut: nested too deep]";
    path.add(value);
    try {
      return named(value, depth);
    } catch {
      return null; // a proxy, a toJSON or an iterator that throws
    } finally {
      path.delete(value);
    }
  };

  const value = typeof given === "function" ? given() : given;
  return JSON.stringify({ value: walk(await value, 0) });
}
