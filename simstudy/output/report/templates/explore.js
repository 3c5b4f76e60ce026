// Draws parts of a study's tables. The address holds every choice that is not the usual one.
const $ = (selector) => document.querySelector(selector);
const [form, key, plots, tip, note] = ["form", "#key", "#plots", "#tip", "#note"].map($);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const stream = new Blob([bytes($("#content").textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
const { tables, method, names, title } = await new Response(stream).json();
const COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#2E8CC4", "#B07800", "#8C7B00", "#7F7F7F"];
const SHAPES = ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M-3.5,-3.5h7v7h-7z", "M0,-5l4.5,8h-9z",
  "M0,-5l5,5l-5,5l-5,-5z", "M0,5l4.5,-8h-9z", "M-1.5,-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z"];
const [NONE, ALL, MOST_POINTS, MOST_ROWS, MOST_PANELS, MOST_COLORS] = ["none", "all", 2000, 500, 30, 24];
const [PAIRS, ROLES] = ["method against method", ["x", "colour", "panels"]];
const [SOUND, DOUBTFUL] = ["without warnings", "with warnings or failures"];

for (const { values, packed = {} } of Object.values(tables)) {
  const limit = (multiple, sign) => multiple.map((times, row) => times === null ? null // of the MCSE
    : +(values.estimate[row] + sign * times * (values.mcse[row] || 1)).toPrecision(6));
  if (values._below) [values.lower, values.upper] = [limit(values._below, -1), limit(values._above, 1)];
  const finite = (value) => (Number.isNaN(value) ? null : value);
  for (const name in packed) values[name] = Array.from(new Float32Array(bytes(packed[name]).buffer), finite);
}

// What is chosen
let choice = new Map(), usual = new Map(), hidden = new Set();
const chosen = (name) => choice.get(name), isView = (name) => chosen("show") === name;
const table = () => tables[chosen("show")] ?? tables.replicates, isSummary = () => "_below" in table().values;
const place = (name) => table().factors.findIndex((factor) => factor.name === name);
const factorOf = (role) => table().factors[place(chosen(role))];
const levelOf = (role, row) => table().at[place(chosen(role))]?.[row] ?? 0;
const varying = () => table().factors.filter(({ name, levels }) => name !== "measure" && levels.length > 1);
const isMethod = ({ name }) => name === method || name === "difference of methods";
const isPaired = tables.replicates?.factors.find(isMethod)?.levels.length > 1;
const views = [...Object.keys(tables), ...(isPaired ? [PAIRS] : [])];
const filters = () => varying().filter((each) =>
  !ROLES.some((role) => chosen(role) === each.name) && !(isView(PAIRS) && isMethod(each)));

function menusOf() { // the options of each menu of a view, and the usual one
  const factors = varying(), few = factors.filter(({ levels }) => levels.length <= MOST_COLORS);
  const x = factors.find((each) => !isMethod(each)) ?? factors[0], ofMethods = factors.find(isMethod);
  const color = few.find(isMethod) ?? few.find((each) => each !== x);
  const listed = (some) => [NONE, ...some.map(({ name }) => name)];
  const colour = [listed(few), color === x ? NONE : color?.name], panels = [listed(factors)];
  const scale = [["automatic", "linear", "logarithmic x", "logarithmic y", "both logarithmic"]];
  const values = Object.keys(table().packed ?? {});
  const levels = ofMethods?.levels, others = [listed(factors.filter((each) => each !== ofMethods))];
  if (isView(PAIRS)) return { values: [values], x: [levels], y: [levels, levels[1]], panels: others, scale };
  if (!isSummary()) return { x: [values], y: [values, values[1]], colour, panels, scale };
  const measure = [table().factors[place("measure")].levels], order = [["as declared", "by value"]];
  return { measure, x: [listed(factors), x?.name], colour, panels, order, scale, marks: [[ALL, SOUND, DOUBTFUL]] };
}

function read() { // the address, as far as it names what is there
  const asked = new URLSearchParams(location.hash.slice(1));
  [choice, usual] = [new Map(), new Map()];
  const take = (name, options, first = options[0]) => {
    usual.set(name, first);
    choice.set(name, options.includes(asked.get(name)) ? asked.get(name) : first);
  };
  take("show", views);
  for (const [name, options] of Object.entries(menusOf())) take(name, ...options);
  if (chosen("colour") === chosen("x")) choice.set("colour", NONE);
  if ([chosen("x"), chosen("colour")].includes(chosen("panels"))) choice.set("panels", NONE);
  const { at, values, factors } = table(), measure = place("measure");
  const wanted = factors[measure]?.levels.indexOf(chosen("measure")); // of a row that is there
  const isThere = (_, i) => !isSummary() || (values.estimate[i] !== null && at[measure][i] === wanted);
  const row = Math.max(0, at[0]?.findIndex(isThere));
  for (const { name, levels } of filters()) take(`is.${name}`, [ALL, ...levels], levels[at[place(name)][row]]);
  hidden = new Set(asked.getAll("without").filter((level) => factorOf("colour")?.levels.includes(level)));
  if (address() !== (location.hash || "#")) history.replaceState(null, "", address()); // what has a meaning
}

const address = () => `#${new URLSearchParams([...[...choice].filter(([name, value]) => usual.get(name) !== value),
  ...[...hidden].map((level) => ["without", level])])}`;

function choose(name, value) {
  if (name === "colour" && chosen(name) !== value) hidden.clear();
  for (const role of ROLES) if (role !== name && chosen(role) === value) choice.set(role, NONE);
  choice.set(name, value);
  history.pushState(null, "", address());
  refresh();
}

// Elements
function make(name, attributes = {}, parent = null, words = "") {
  const space = /^(svg|g|path|line|text|polyline)$/.test(name) ? "2000/svg" : "1999/xhtml";
  const made = document.createElementNS(`http://www.w3.org/${space}`, name);
  for (const each in attributes) made.setAttribute(each, attributes[each]);
  if (words !== "") made.textContent = words;
  parent?.append(made);
  return made;
}

const labelOf = (name) => names[name] ?? table().factors[place(name)]?.label ?? name;
const format = (value) => (typeof value === "number" ? String(value).replace("-", "−") : value ?? "–");
const short = (value) => format(value && +value.toPrecision(4));
const sentences = (...some) => some.filter(Boolean).join(" ");
const meanOf = (points, name) => points.reduce((sum, point) => sum + point[name], 0) / points.length;

const grouped = (some, name) => // by a property, in ascending order
  new Map([...Map.groupBy(some, (each) => each[name])].sort(([a], [b]) => a - b));

function menus() {
  const focused = document.activeElement?.name;
  form.replaceChildren();
  const filtered = filters().map(({ name, label, levels }) => [`is.${name}`, [[ALL, ...levels]], label]);
  for (const [name, [options], label] of [["show", [views]], ...Object.entries(menusOf()), ...filtered]) {
    if (options.length < 2) continue;
    const box = make("label", {}, form, label ?? name), select = make("select", { name }, box);
    for (const value of options) make("option", { value }, select, label ? value : labelOf(value));
    select.value = chosen(name);
    select.addEventListener("change", () => choose(name, select.value));
  }
  form.elements[focused]?.focus();
}

function legend() { // a button for each level of the colour, which leaves it out
  const focused = [...key.querySelectorAll("button")].indexOf(document.activeElement);
  key.replaceChildren();
  (factorOf("colour")?.levels ?? []).forEach((level, at) => {
    const button = make("button", { "aria-pressed": !hidden.has(level) }, make("li", {}, key));
    const sample = make("svg", { viewBox: "-8 -6 16 12", "aria-hidden": "true" }, button);
    make("path", { d: SHAPES[at % SHAPES.length], fill: COLORS[at % COLORS.length] }, sample);
    button.append(` ${level}`);
    button.addEventListener("click", () =>
      choose("colour", chosen("colour"), hidden.delete(level) || hidden.add(level)));
    if (at === focused) button.focus();
  });
}

// Rows and points
function rows() {
  const { factors, at, n } = table(), color = factorOf("colour");
  const wanted = factors.map(({ name, levels }) =>
    levels.indexOf(name === "measure" ? chosen("measure") : chosen(`is.${name}`))); // -1 for all
  return [...Array(n).keys()].filter((row) => wanted.every((level, i) => level < 0 || at[i][row] === level)
    && !hidden.has(color?.levels[levelOf("colour", row)]));
}

function points() { // what is drawn
  const { values, at, texts, factors } = table(), of = (name, row) => values[name]?.[row] ?? null;
  const point = (row, more) => ({ row, panel: levelOf("panels", row), series: levelOf("colour", row), ...more });
  if (isSummary()) {
    const doubtful = (row) => Boolean(texts[of("warning", row)] || of("n_failed", row));
    const fits = (row) => chosen("marks") === ALL || doubtful(row) === (chosen("marks") === DOUBTFUL);
    return rows().filter(fits).map((row) => point(row, { x: levelOf("x", row), y: of("estimate", row),
      low: of("lower", row), high: of("upper", row), exact: of("exact", row), level: of("nominal", row),
      isHollow: doubtful(row) }));
  }
  if (!isView(PAIRS)) return rows().map((row) => point(row, { x: of(chosen("x"), row), y: of(chosen("y"), row) }));
  const i = place(method), [first, second] = ["x", "y"].map((role) => factors[i].levels.indexOf(chosen(role)));
  const same = (row) => [values.rep[row], ...at.map((codes, j) => (i === j ? "" : codes[row]))].join();
  const partner = new Map(rows().filter((row) => at[i][row] === second).map((row) => [same(row), row]));
  return rows().filter((row) => at[i][row] === first).map((row) =>
    point(row, { x: of(chosen("values"), row), y: of(chosen("values"), partner.get(same(row))) }));
}

// Axes: from values to shares of the length
const isLogarithmic = (axis) => ["both logarithmic", `logarithmic ${axis}`].includes(chosen("scale"));

function axisOf(values, isLog) {
  const move = isLog ? Math.log10 : (value) => value, moved = values.map(move).filter(Number.isFinite);
  const range = moved.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  const [low, high] = moved.length ? range : [0, 1], room = 0.05 * (high - low) || Math.abs(high) * 0.1 || 1;
  const share = (at) => (at - low + room) / (high - low + 2 * room), raw = (high - low + 2 * room) / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = isLog && raw > 0.2 ? Math.ceil(raw) : power * [1, 2, 5, 10].find((each) => each * power >= raw);
  const [start, end] = [Math.ceil((low - room) / step), Math.floor((high + room) / step)];
  const places = Array.from({ length: end - start + 1 }, (_, i) => (start + i) * step);
  const marks = places.map((at) => [share(at), short(isLog ? 10 ** at : at)]);
  return { share: (value) => share(move(value)), marks };
}

function levelAxis(some) { // of the factor on the x axis, as a quantity or as categories
  const factor = factorOf("x"), groups = grouped(some, "x"), used = [...groups.keys()];
  if (!factor) return { share: () => 0.5, marks: [] };
  const { numbers, levels } = factor, isSorted = chosen("order") === "by value";
  if (numbers && !isSorted) {
    const isWide = chosen("scale") === "automatic" && numbers.at(-1) > 20 * numbers[0];
    const { share } = axisOf(numbers, numbers[0] > 0 && (isLogarithmic("x") || isWide));
    const at = (level) => share(numbers[level]);
    return { share: at, marks: used.map((level) => [at(level), short(numbers[level])]), isQuantity: true };
  }
  if (isSorted) used.sort((a, b) => meanOf(groups.get(a), "y") - meanOf(groups.get(b), "y"));
  const at = (level) => (used.indexOf(level) + 0.5) / used.length;
  return { share: at, marks: used.map((level) => [at(level), levels[level]]) };
}

function titles() {
  if (isView(PAIRS)) return ["x", "y"].map((role) => `${labelOf(chosen("values"))}, ${chosen(role)}`);
  if (!isSummary()) return [labelOf(chosen("x")), labelOf(chosen("y"))];
  const y = sentences(!isView("estimates") && `${chosen("show")} of`, labelOf(chosen("measure")));
  return [chosen("x") === NONE ? "" : labelOf(chosen("x")), y];
}

// Drawing
function show() {
  menus();
  legend();
  const all = points(), fits = (value, axis) => value !== null && (value > 0 || !isLogarithmic(axis));
  const some = all.filter(({ x, y }) => fits(y, "y") && (isSummary() || fits(x, "x")));
  const every = (...of) => some.flatMap((point) => of.map((each) => point[each])).filter((each) => each != null);
  const levels = [...new Set(every("level"))].filter((level) => fits(level, "y")), lines = levels.slice(0, 3);
  const [across, up] = isView(PAIRS) ? [["x", "y"], ["x", "y"]] : [["x"], ["y", "low", "high", "exact"]];
  const x = isSummary() ? levelAxis(some) : axisOf(every(...across), isLogarithmic("x"));
  const y = axisOf([...every(...up), ...lines], isLogarithmic("y"));
  const open = filters().filter(({ name }) => chosen(`is.${name}`) === ALL).map(({ label }) => label);
  const panels = [...grouped(some, "panel")].slice(0, MOST_PANELS), isJoined = x.isQuantity && !open.length;
  const lost = all.length - some.length, many = panels.some(([, own]) => own.length > MOST_POINTS);
  const fixed = filters().filter(({ name }) => chosen(`is.${name}`) !== ALL);
  note.textContent = sentences(`${some.length} points.`, lost && `${lost} more have no value on these axes.`,
    open.length && `All levels of ${open.join(", ")} are drawn together.`,
    fixed.length && `At ${fixed.map(({ name, label }) => `${label} ${chosen(`is.${name}`)}`).join(", ")}.`,
    every("low").length && "Bars: 95% Monte Carlo intervals.",
    every("exact").length && "Level marks: exact theory.",
    lines.length && `Dashed: ${lines.every((level) => level === 0) ? "0" : "the nominal level"}.`,
    isView(PAIRS) && "Dashed: equality.",
    every("isHollow").includes(true) && "Hollow: with a warning or failed replicates.",
    many && `The first ${MOST_POINTS} points of a panel are drawn.`,
    isJoined && "Lines only join points.");
  const frames = panels.map(() => make("figure")), factor = factorOf("panels");
  plots.replaceChildren(...frames);
  panels.forEach(([at, inside], i) => {
    const heading = sentences(factor && `${factor.label} ${factor.levels[at]}`);
    plot(frames[i], inside, heading, { x, y, lines, isJoined });
  });
  list(some);
}

function plot(frame, inside, heading, { x, y, lines, isJoined }) {
  const width = Math.max(260, Math.min(frame.clientWidth, 760)), height = Math.min(420, 200 + width / 3);
  const slot = (width - 76) / (x.marks.length || 1), longest = Math.max(0, ...x.marks.map(([, words]) => words.length));
  const isTurned = isSummary() && !x.isQuantity && longest * 6.5 > slot;
  const [left, right, top] = [66, width - 10, heading ? 24 : 10], [xTitle, yTitle] = titles();
  const bottom = height - 46 - (isTurned ? Math.min(5 * longest, 80) : 0);
  const label = sentences(yTitle, xTitle && `against ${xTitle}`, heading && `at ${heading}`);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", tabindex: 0,
    "aria-label": `${label}; arrow keys go through the marks` }, frame);
  const across = (share) => left + share * (right - left), up = (share) => bottom - share * (bottom - top);
  const X = (value) => across(x.share(value)), Y = (value) => up(y.share(value));
  const line = (x1, y1, x2, y2, own, to = svg) => make("line", { x1, x2, y1, y2, stroke: "currentColor", ...own }, to);
  const print = (px, py, words, more) => make("text", { x: px, y: py, "text-anchor": "middle", ...more }, svg, words);
  print(left, 15, heading, { "font-weight": 600, "text-anchor": "start" });
  for (const [share, words] of y.marks) {
    line(left, up(share), right, up(share), { "stroke-opacity": 0.15 });
    print(left - 6, up(share) + 4, words, { "text-anchor": "end" });
  }
  let end = -Infinity;
  for (const [share, words] of x.marks) {
    const [px, py, half] = [across(share), bottom + 16, isTurned ? 6 : 3.3 * words.length];
    if (px - half < end) continue;
    end = px + half + 4;
    const turned = isTurned ? { "text-anchor": "end", transform: `rotate(-35 ${px} ${py})` } : {};
    print(px, py, words.length > 18 ? `${words.slice(0, 17)}…` : words, turned);
  }
  print(across(0.5), height - 6, xTitle);
  print(13, up(0.5), yTitle, { transform: `rotate(-90 13 ${up(0.5)})` });
  for (const level of lines) line(left, Y(level), right, Y(level), { "stroke-dasharray": "5 4", class: "level" });
  if (isView(PAIRS)) line(left, bottom, right, top, { "stroke-dasharray": "5 4" });
  const series = [...grouped(inside.slice(0, MOST_POINTS), "series")], size = isSummary() ? 1 : 0.6;
  const spread = isSummary() ? Math.min(x.isQuantity ? 5 : 12, slot / 2 / series.length) : 0;
  series.forEach(([at, own], rank) => {
    const stroke = COLORS[at % COLORS.length], moved = (rank - (series.length - 1) / 2) * spread;
    const placed = own.map((point) => [X(point.x) + moved, Y(point.y), point]).sort(([a], [b]) => a - b);
    const path = placed.map(([px, py]) => `${px},${py}`).join(" ");
    if (isJoined) make("polyline", { points: path, fill: "none", stroke, "stroke-opacity": 0.5 }, svg);
    for (const [px, py, point] of placed) {
      const { low, high, exact, isHollow } = point, move = `translate(${px},${py})`;
      const mark = make("g", { class: "mark", role: "img", tabindex: -1, "aria-label": tell(point) }, svg);
      const bar = (x1, y1, x2, y2, more) => line(x1, y1, x2, y2, { stroke, "stroke-width": 1.5, ...more }, mark);
      if (low != null && high != null && Number.isFinite(Y(low))) bar(px, Y(low), px, Y(high));
      if (exact != null && Number.isFinite(Y(exact))) line(px - 7, Y(exact), px + 7, Y(exact), {}, mark);
      const ink = { fill: isHollow ? "var(--page)" : stroke, stroke, "stroke-width": isHollow ? 1.5 : 0 };
      const shape = { d: SHAPES[at % SHAPES.length], transform: `${move} scale(${size})`, "fill-opacity": size };
      make("path", { ...shape, ...ink }, mark);
      if (isSummary()) make("path", { d: SHAPES[0], transform: `${move} scale(3)`, opacity: 0 }, mark); // for fingers
    }
  });
  follow(svg);
}

function tell({ row, x, y, low, high, exact }) {
  const { values, at, texts } = table(), of = (name) => values[name]?.[row], warning = texts[of("warning")];
  const where = varying().map(({ name, label, levels }) => `${label} ${levels[at[place(name)][row]]}`);
  if (!isSummary()) return [...where, `replicate ${of("rep")}`, `${short(x)}, ${short(y)}`].join("; ");
  return [...where, `${labelOf(chosen("measure"))} ${short(y)} (MCSE ${short(of("mcse"))})`,
    low !== null && `${short(low)} to ${short(high)}`, exact !== null && `exact ${short(exact)}`,
    of("n_rep") && `${of("n_rep")} replicates`, of("n_failed") && `${of("n_failed")} failed`,
    warning && `warning: ${warning}`].filter(Boolean).join("; ");
}

function follow(svg) { // a mark tells its numbers: under the pointer, by touch, or by arrow keys
  const marks = [...svg.querySelectorAll(".mark")];
  const open = ({ target }) => {
    const mark = target.closest(".mark"), box = (mark ?? svg).getBoundingClientRect();
    Object.assign(tip, { hidden: !mark, textContent: mark?.getAttribute("aria-label") ?? "" });
    const left = Math.min(box.right, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.cssText = `left: ${Math.max(8, left) + scrollX}px; top: ${box.bottom + 4 + scrollY}px`;
  };
  for (const name of ["pointerover", "pointerdown", "focusin"]) svg.addEventListener(name, open);
  for (const name of ["pointerleave", "focusout"]) svg.addEventListener(name, () => (tip.hidden = true));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") tip.hidden = true;
    if (!step || !marks.length) return;
    event.preventDefault();
    const at = marks.indexOf(document.activeElement);
    marks[at < 0 ? 0 : (at + step + marks.length) % marks.length].focus();
  });
}

// What is seen, as a table and as files
function cells(some) {
  const { values, at, texts } = table(), columns = varying();
  const own = Object.keys(values);
  const value = (name, row) => (name === "warning" ? texts[values[name][row]] : values[name][row]) ?? "";
  const level = ({ name, levels }, row) => levels[at[place(name)][row]];
  return [[...columns.map(({ label }) => label), ...own],
    ...some.map(({ row }) => [...columns.map((each) => level(each, row)), ...own.map((name) => value(name, row))])];
}

function list(some) {
  const [head, ...body] = cells(some.slice(0, MOST_ROWS)).map((texts, at) => {
    const row = make("tr");
    for (const words of texts) make(at ? "td" : "th", {}, row, format(words));
    return row;
  });
  $("main thead").replaceChildren(head);
  $("main tbody").replaceChildren(...body);
}

function picture() { // title, key and all panels as one SVG on white
  const corner = plots.getBoundingClientRect(), kept = [...key.querySelectorAll("[aria-pressed=true]")];
  const { width } = corner, across = Math.floor(width / 160), below = 40 + 16 * Math.ceil(kept.length / across);
  const height = Math.ceil(corner.height + below + 24), style = "color: #111; font: 11px sans-serif; background: #fff";
  const all = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, style });
  make("text", { x: 8, y: 18, "font-weight": 600 }, all, title);
  kept.forEach((button, i) => {
    const [x, y] = [16 + 160 * (i % across), 36 + 16 * Math.floor(i / across)];
    make("g", { transform: `translate(${x},${y - 4})` }, all).append(button.querySelector("path").cloneNode());
    make("text", { x: x + 10, y }, all, button.textContent.trim());
  });
  for (const svg of plots.querySelectorAll("svg")) {
    const box = svg.getBoundingClientRect(), [x, y] = [box.left - corner.left, box.top - corner.top + below];
    make("g", { transform: `translate(${x},${y})` }, all).append(svg.cloneNode(true));
  }
  make("text", { x: 8, y: height - 10 }, all, note.textContent);
  return { width, height, words: new XMLSerializer().serializeToString(all).replaceAll("var(--page)", "#fff") };
}

function save(parts, ending, type) {
  const download = `${chosen("measure") ?? "replicates"}.${ending}`;
  make("a", { href: URL.createObjectURL(new Blob(parts, { type })), download }).click();
}

$("#svg").addEventListener("click", () => save([picture().words], "svg", "image/svg+xml"));
$("#csv").addEventListener("click", () => {
  const quoted = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  save(cells(points()).map((row) => `${row.map(quoted).join(",")}\n`), "csv", "text/csv");
});
$("#png").addEventListener("click", async () => {
  const { width, height, words } = picture(), image = new Image();
  const canvas = make("canvas", { width: 2 * width, height: 2 * height });
  image.src = `data:image/svg+xml,${encodeURIComponent(words)}`;
  await image.decode();
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save([blob], "png", "image/png"));
});
$("#link").addEventListener("click", () => navigator.clipboard.writeText(location.href)
  .then(() => (note.textContent = "The link is copied."), () => (note.textContent = location.href)));

const refresh = () => { read(); show(); };
addEventListener("hashchange", refresh);
addEventListener("resize", () => plots.width !== innerWidth && show(plots.width = innerWidth));
refresh();
