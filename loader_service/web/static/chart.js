// Lines and stacked areas along time, as SVG. Gaps stay gaps: where nothing is known nothing is drawn.
import { el, replace, svg } from "./dom.js";

const LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 20, HEIGHT = 150;

export class Chart {
  // series: [{ key, label, tone, show }]; stacked: parts of one whole; most: the top of the axis, else the largest value.
  constructor({ title, series, stacked = false, most = null, show, at = ago }) {
    Object.assign(this, { series, stacked, most, show, at });
    this.picture = svg("svg", { role: "img", "aria-label": title, height: HEIGHT });
    this.legend = el("div", { class: "legend" });
    this.element = el("section", { class: "card chart" }, el("div", { class: "row" }, el("h2", { class: "grow" }, title)), this.legend, this.picture);
    this.picture.addEventListener("pointermove", (event) => this.look(event));
    this.picture.addEventListener("pointerleave", () => { this.place = null; this.draw(); });
    this.place = null;
    this.columns = { t: [] };
    new ResizeObserver(() => this.draw()).observe(this.picture);
  }

  set(columns) {
    this.columns = columns;
    this.draw();
  }

  look(event) {
    const box = this.picture.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT - RIGHT);
    const times = this.columns.t;
    if (times.length < 2) return;
    const time = times[0] + Math.min(1, Math.max(0, share)) * (times.at(-1) - times[0]);
    this.place = times.reduce((best, each, place) => (Math.abs(each - time) < Math.abs(times[best] - time) ? place : best), 0);
    this.draw();
  }

  draw() {
    const width = this.picture.clientWidth || 600;
    const { t } = this.columns;
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    if (t.length < 2) {
      replace(this.picture, svg("text", { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle" }, "a moment…"));
      return;
    }
    const stack = this.stacked ? this.stacks() : null;
    const values = this.series.flatMap(({ key }) => (stack ? stack[key].map((each) => each && each[1]) : this.columns[key]));
    const top = this.most ?? nice(Math.max(0, ...values.filter((each) => each !== null && each !== undefined)));
    const x = (time) => LEFT + ((time - t[0]) / (t.at(-1) - t[0] || 1)) * (width - LEFT - RIGHT);
    const y = (value) => TOP + (1 - Math.min(1, value / (top || 1))) * (HEIGHT - TOP - BOTTOM);
    replace(this.picture, this.axes(width, top, x, y), this.series.map((each) => this.drawn(each, x, y, stack)), this.cross(x));
    this.tell();
  }

  stacks() {
    const base = this.columns.t.map(() => 0), found = {};
    for (const { key } of this.series) {
      found[key] = this.columns[key].map((value, place) => {
        if (value === null || value === undefined) return null;
        const from = base[place];
        base[place] += value;
        return [from, base[place]];
      });
    }
    return found;
  }

  axes(width, top, x, y) {
    const lines = [0, 0.5, 1].map((share) => [
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(top * share), y2: y(top * share) }),
      svg("text", { x: LEFT - 6, y: y(top * share) + 4, "text-anchor": "end" }, this.show(top * share)),
    ]);
    const { t } = this.columns;
    const times = [0, 0.5, 1].map((share) => {
      const time = t[0] + share * (t.at(-1) - t[0]);
      return svg("text", { x: x(time), y: HEIGHT - 5, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, this.at(time));
    });
    return [...lines, ...times];
  }

  drawn({ key, tone }, x, y, stack) {
    const { t } = this.columns;
    const runs = [];
    t.forEach((time, place) => {
      const value = stack ? stack[key][place] : this.columns[key][place];
      if (value === null || value === undefined) { runs.push([]); return; }
      if (!runs.length) runs.push([]);
      runs.at(-1).push([x(time), stack ? y(value[1]) : y(value), stack ? y(value[0]) : y(0)]);
    });
    const kept = runs.filter((run) => run.length);
    const upper = (run) => run.map(([at, high], place) => `${place ? "L" : "M"}${at.toFixed(1)} ${high.toFixed(1)}`).join("");
    const lower = (run) => [...run].reverse().map(([at, , low]) => `L${at.toFixed(1)} ${low.toFixed(1)}`).join("");
    const area = kept.map((run) => `${upper(run)}${lower(run)}Z`).join("");
    if (stack) return svg("path", { class: `stack c-${tone}`, d: area });
    return [this.series.length === 1 && svg("path", { class: `area c-${tone}`, d: area }), svg("path", { class: `line c-${tone}`, d: kept.map(upper).join("") })];
  }

  cross(x) {
    if (this.place === null || this.place >= this.columns.t.length) return [];
    const at = x(this.columns.t[this.place]);
    return [svg("line", { class: "cross", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM })];
  }

  tell() {
    const place = this.place ?? this.columns.t.length - 1;
    const when = this.place === null ? null : el("span", {}, this.at(this.columns.t[place]));
    replace(this.legend, this.series.map(({ key, label, tone }) =>
      el("span", {}, el("i", { class: `c-${tone}` }), `${label} `, el("b", {}, this.show(this.columns[key][place])))), when);
  }
}

function nice(value) {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((each) => each * unit).find((each) => each >= value * 1.02) ?? value;
}

function ago(seconds) {
  if (seconds > -1) return "now";
  return seconds > -100 ? `${Math.round(-seconds)} s ago` : `${Math.round(-seconds / 60)} min ago`;
}

// Lines over frames rather than time, with a cursor that others move.
export class Plot extends Chart {
  constructor(title, plot, show) {
    const series = plot.lines.slice(0, 8).map((_, place) => ({ key: `l${place}`, label: plot.lines.length > 1 ? `${place}` : "value", tone: `${place}` }));
    super({ title, series, show, at: (frame) => `frame ${Math.round(frame)}` });
    const known = plot.lines.flat().filter((each) => each !== null);
    this.low = known.length ? Math.min(...known) : 0;
    this.high = known.length ? Math.max(...known) : 0;
    if (this.low === this.high) { this.low -= 1; this.high += 1; }
    const span = this.high - this.low;
    this.most = 1;
    this.show = (share) => (share === null || share === undefined ? "–" : show(this.low + share * span));
    const columns = { t: plot.at };
    plot.lines.slice(0, 8).forEach((line, place) => { columns[`l${place}`] = line.map((each) => (each === null ? null : (each - this.low) / span)); });
    this.set(columns);
  }

  seek(frame) {
    const { t } = this.columns;
    this.place = t.reduce((best, each, place) => (Math.abs(each - frame) < Math.abs(t[best] - frame) ? place : best), 0);
    this.draw();
  }
}
