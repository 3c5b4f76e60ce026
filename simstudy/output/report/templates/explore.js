"use strict";
(() => {
  const data = JSON.parse(document.getElementById("content").textContent);
  const [form, key, plots, said] = ["form", "#key", "#plots", "#said"].map((at) => document.querySelector(at));
  const factors = data.factors, measure = factors.length - 1;
  const COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C7B00", "#7F7F7F"];
  const SHAPES = ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M-3.5,-3.5h7v7h-7z", "M0,-5l4.5,8h-9z", "M0,-5l5,5l-5,5l-5,-5z"];
  const column = Object.fromEntries(data.values.map((name, at) => [name, data.columns[at]]));
  const varying = factors.map((_, at) => at).filter((at) => at !== measure && factors[at].levels.length > 1);
  const ROLES = { x: "on the x axis", color: "colour", panel: "panels" };
  const NONE = "none", ALL = "all";
  const MOST_ROWS = 500;  // of the table

  const quantity = varying.find((at) => factors[at].numbers);
  const first = { x: quantity ?? varying[0], color: undefined, panel: undefined };
  const named = varying.filter((at) => at !== first.x);
  const coloured = named.filter((at) => factors[at].levels.length <= COLORS.length);
  first.color = coloured.findLast((at) => !factors[at].numbers) ?? coloured[0];  // methods come last
  const choice = new URLSearchParams();

  function usual() {
    choice.set("measure", factors[measure].levels[0]);
    for (const role in ROLES) choice.set(role, first[role] === undefined ? NONE : factors[first[role]].name);
    // levels of a row that exists: in a design that is not crossed the first of each may not meet
    const row = Math.max(0, column.estimate.findIndex((value, at) => value !== null && data.places[measure][at] === 0));
    for (const at of varying) choice.set(`is.${factors[at].name}`, factors[at].levels[data.places[at][row]]);
  }

  function read() {  // the address, as far as it names what is there
    usual();
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      const options = allowed(name);
      if (options && options.includes(value)) choice.set(name, value);
    }
  }

  function allowed(name) {
    if (name === "measure") return factors[measure].levels;
    if (name in ROLES) return [NONE, ...varying.filter((at) => name !== "color" || factors[at].levels.length <= COLORS.length).map((at) => factors[at].name)];
    const factor = factors.find((each) => name === `is.${each.name}`);
    return factor && [ALL, ...factor.levels];
  }

  const place = (role) => varying.find((at) => factors[at].name === choice.get(role));
  const isFree = (at) => Object.keys(ROLES).some((role) => place(role) === at);

  function element(name, attributes = {}, text = "", parent = null, space = "http://www.w3.org/1999/xhtml") {
    const made = document.createElementNS(space, name);
    for (const each in attributes) made.setAttribute(each, attributes[each]);
    if (text !== "") made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }
  const draw = (name, attributes, parent, text = "") => element(name, attributes, text, parent, "http://www.w3.org/2000/svg");

  function menus() {
    const chosen = document.activeElement && document.activeElement.name;
    form.replaceChildren();
    menu("measure", "measure");
    for (const role in ROLES) menu(role, ROLES[role]);
    for (const at of varying) if (!isFree(at)) menu(`is.${factors[at].name}`, factors[at].label);
    if (chosen && form.elements[chosen]) form.elements[chosen].focus();
  }

  function menu(name, label) {
    const box = element("label", {}, label, form), select = element("select", { name }, "", box);
    const words = (value) => name in ROLES && value !== NONE ? factors.find((each) => each.name === value).label : value;
    for (const value of allowed(name)) {
      if (value === NONE && name === "x") continue;
      const option = element("option", { value }, words(value), select);
      option.selected = value === choice.get(name);
    }
    select.addEventListener("change", () => {
      choice.set(name, select.value);
      for (const role in ROLES) if (name in ROLES && role !== name && choice.get(role) === select.value) choice.set(role, NONE);
      location.hash = choice.toString();
    });
  }

  function rows() {
    const wanted = factors.map((factor, at) => {
      if (at === measure) return factor.levels.indexOf(choice.get("measure"));
      if (!varying.includes(at) || isFree(at)) return -1;
      return factor.levels.indexOf(choice.get(`is.${factor.name}`));  // -1 for all
    });
    const found = [];
    for (let row = 0; row < data.places[measure].length; row++) {
      if (column.estimate[row] !== null && wanted.every((level, at) => level < 0 || data.places[at][row] === level)) found.push(row);
    }
    return found;
  }

  const short = (value) => Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3) ? value.toExponential(1) : String(+value.toPrecision(4));

  function ticks(least, most, n = 5) {
    const raw = (most - least) / n || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((each) => each * power >= raw);
    const made = [];
    for (let at = Math.ceil(least / step); at * step <= most + 1e-9 * step; at++) made.push(at * step);
    return made;
  }

  function scaleOf(at) {  // the position of a level, in [0, 1], and what is written below the axis
    if (at === undefined) return { of: () => 0.5, marks: [] };
    const { numbers, levels } = factors[at], used = levels.map((_, level) => level);
    if (!numbers) return { of: (level) => (level + 0.5) / levels.length, marks: used.map((level) => [(level + 0.5) / levels.length, levels[level]]) };
    const isLog = numbers[0] > 0 && numbers.at(-1) / numbers[0] > 20, move = isLog ? Math.log : (value) => value;
    const least = move(numbers[0]), width = move(numbers.at(-1)) - least || 1;
    const of = (level) => 0.04 + 0.92 * (move(numbers[level]) - least) / width;
    return { of, marks: used.map((level) => [of(level), short(numbers[level])]) };
  }

  function show() {
    menus();
    const found = rows(), [x, color, panel] = Object.keys(ROLES).map(place);
    const level = (at, row) => at === undefined ? 0 : data.places[at][row];
    const open = varying.filter((at) => !isFree(at) && choice.get(`is.${factors[at].name}`) === ALL);
    const values = found.flatMap((row) => ["estimate", "lower", "upper", "exact"].map((name) => column[name]?.[row] ?? null)).filter((value) => value !== null);
    let least = Math.min(...[Infinity], ...chunked(values, Math.min)), most = Math.max(...[-Infinity], ...chunked(values, Math.max));
    const room = 0.04 * (most - least) || Math.abs(most) * 0.1 || 1;
    [least, most] = [least - room, most + room];
    said.textContent = found.length ? `${found.length} estimates of ${choice.get("measure")}` + (open.length ? `; all levels of ${open.map((at) => factors[at].label).join(", ")} are drawn together` : "") : "No estimates with this choice.";
    key.replaceChildren();
    if (color !== undefined) factors[color].levels.forEach((text, at) => {
      const item = element("li", {}, "", key), sample = draw("svg", { viewBox: "-8 -6 16 12", "aria-hidden": "true" }, item);
      draw("path", { d: SHAPES[at % SHAPES.length], fill: COLORS[at] }, sample);
      item.append(` ${text}`);
    });
    plots.replaceChildren();
    const scale = scaleOf(x), groups = new Map();
    for (const row of found) groups.set(level(panel, row), [...(groups.get(level(panel, row)) ?? []), row]);
    for (const at of [...groups.keys()].sort((a, b) => a - b)) plot(groups.get(at), panel === undefined ? "" : `${factors[panel].label} ${factors[panel].levels[at]}`, { x, color, scale, least, most, open });
    table(found);
  }

  function chunked(values, of) {  // the ends of long lists, whose arguments would be too many
    const parts = [];
    for (let at = 0; at < values.length; at += 10000) parts.push(of(...values.slice(at, at + 10000)));
    return parts;
  }

  function plot(some, title, { x, color, scale, least, most, open }) {
    const [width, height, left, right, top, bottom] = [440, 300, 56, 8, title ? 22 : 8, 42];
    const frame = element("figure", {}, "", plots);
    const axis = x === undefined ? "" : factors[x].label;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${choice.get("measure")} against ${axis || "nothing"}${title ? `, ${title}` : ""}: ${some.length} estimates` }, frame);
    const X = (share) => left + share * (width - left - right), Y = (value) => height - bottom - (value - least) / (most - least) * (height - top - bottom);
    if (title) draw("text", { x: left, y: 14, "font-weight": "600" }, svg, title);
    for (const value of ticks(least, most)) {
      draw("line", { x1: left, x2: width - right, y1: Y(value), y2: Y(value), class: "axis" }, svg);
      draw("text", { x: left - 6, y: Y(value) + 4, "text-anchor": "end" }, svg, short(value));
    }
    let end = -Infinity;
    for (const [at, text] of scale.marks) {
      const half = 3.2 * Math.min(text.length, 14);
      if (X(at) - half < end + 4) continue;
      end = X(at) + half;
      draw("text", { x: X(at), y: height - bottom + 16, "text-anchor": "middle" }, svg, text.length > 14 ? `${text.slice(0, 13)}…` : text);
    }
    draw("text", { x: X(0.5), y: height - 6, "text-anchor": "middle" }, svg, axis);
    const series = new Map();
    for (const row of some) {
      const at = color === undefined ? 0 : data.places[color][row];
      series.set(at, [...(series.get(at) ?? []), row]);
    }
    const n = series.size, spread = x !== undefined && !factors[x].numbers ? Math.min(10, 60 / n) : Math.min(4, 16 / n);
    [...series.keys()].sort((a, b) => a - b).forEach((at, rank) => {
      const ink = COLORS[at], moved = (rank - (n - 1) / 2) * spread;
      const points = series.get(at).map((row) => [X(x === undefined ? 0.5 : scale.of(data.places[x][row])) + moved, row]).sort((a, b) => a[0] - b[0]);
      if (x !== undefined && factors[x].numbers && !open.length) draw("polyline", { points: points.map(([px, row]) => `${px},${Y(column.estimate[row])}`).join(" "), fill: "none", stroke: ink, "stroke-opacity": 0.5 }, svg);
      for (const [px, row] of points) {
        const mark = draw("g", {}, svg), [low, high, exact] = ["lower", "upper", "exact"].map((name) => column[name]?.[row] ?? null);
        if (low !== null && high !== null) draw("line", { x1: px, x2: px, y1: Y(low), y2: Y(high), stroke: ink, "stroke-width": 1.5 }, mark);
        if (exact !== null) draw("line", { x1: px - 7, x2: px + 7, y1: Y(exact), y2: Y(exact), stroke: "currentColor" }, mark);
        draw("path", { d: SHAPES[at % SHAPES.length], transform: `translate(${px},${Y(column.estimate[row])})`, fill: ink }, mark);
        draw("title", {}, mark, words(row).join(", "));
      }
    });
  }

  const words = (row) => [...varying.map((at) => `${factors[at].label} ${factors[at].levels[data.places[at][row]]}`), ...data.values.map((name) => `${name} ${column[name][row] ?? "–"}`)];

  function table(found) {
    const [head, body] = ["thead", "tbody"].map((name) => document.querySelector(`main ${name}`));
    head.replaceChildren();
    body.replaceChildren();
    const line = element("tr", {}, "", head);
    for (const at of varying) element("th", { scope: "col" }, factors[at].label, line);
    for (const name of data.values) element("th", { scope: "col", class: "number" }, name, line);
    for (const row of found.slice(0, MOST_ROWS)) {
      const cells = element("tr", {}, "", body);
      for (const at of varying) element("td", {}, factors[at].levels[data.places[at][row]], cells);
      for (const name of data.values) element("td", { class: "number" }, String(column[name][row] ?? "–"), cells);
    }
  }

  const refresh = () => { read(); show(); };
  addEventListener("hashchange", refresh);
  refresh();
})();
