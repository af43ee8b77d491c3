"use strict";
// Reading values off the figures, zooming, and switching series on and off. The drawing itself is
// there without any of this.
(() => {
  const root = document.documentElement;
  const fault = (message) => {
    root.dataset.errors = (root.dataset.errors ? root.dataset.errors + "\n" : "") + message;
  };
  window.addEventListener("error", (event) => fault(event.message));
  window.addEventListener("unhandledrejection", (event) => fault(String(event.reason)));

  const element = (name, attributes, parent) => {
    const made = document.createElementNS(parent.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  };
  const digits = (value, count = 4) => {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    const text = value !== 0 && (size < 1e-3 || size >= 1e6)
      ? value.toExponential(count - 1)
      : String(Number(value.toPrecision(count)));
    return text.replace(/-/g, "−");
  };

  // An axis as drawn, and what is shown of it after zooming.
  class Scale {
    constructor(text) {
      const [low, high, kind] = text.split(" ");
      this.log = kind === "log";
      this.whole = [this.inner(Number(low)), this.inner(Number(high))];
      this.shown = [...this.whole];
    }
    inner(value) { return this.log ? Math.log10(value) : value; }
    outer(value) { return this.log ? 10 ** value : value; }
    at(part) { return this.outer(this.shown[0] + part * (this.shown[1] - this.shown[0])); }
    part(value) {
      if (this.log && !(value > 0)) return undefined;
      return (this.inner(value) - this.shown[0]) / (this.shown[1] - this.shown[0]);
    }
    // Where the shown stretch begins and how long it is, in units of the whole.
    window() {
      const length = this.whole[1] - this.whole[0];
      return [(this.shown[0] - this.whole[0]) / length, (this.shown[1] - this.shown[0]) / length];
    }
    zoom(from, to) {
      const [low, high] = this.shown;
      const least = 1e-4 * (this.whole[1] - this.whole[0]);
      const next = [low + from * (high - low), low + to * (high - low)];
      if (next[1] - next[0] < least) return;
      this.shown = [Math.max(next[0], this.whole[0]), Math.min(next[1], this.whole[1])];
    }
    reset() { this.shown = [...this.whole]; }
    ticks(count) {
      const [low, high] = this.shown;
      if (this.log && high - low <= 3) {
        const round = this.round(low, high, high - low > 0.8 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        return round.length > 1 ? round : [low, high].map((v) => [this.outer(v), digits(this.outer(v))]);
      }
      const raw = (high - low) / count;
      const power = 10 ** Math.floor(Math.log10(raw));
      const step = Math.max([1, 2, 5, 10].find((s) => s * power >= 0.75 * raw) * power, this.log ? 1 : 0);
      const fine = Math.max(2, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / step)) + 1);
      const all = [];
      for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
        all.push([this.outer(k * step), digits(this.outer(k * step), this.log ? 1 : Math.min(fine, 8))]);
      }
      return all;
    }
    // Round numbers of a logarithmic axis.
    round(low, high, leading) {
      const all = [];
      for (let k = Math.floor(low); k <= high; k++) {
        for (const m of leading) {
          const at = Math.log10(m) + k;
          if (at >= low - 1e-9 && at <= high + 1e-9) all.push([m * 10 ** k, digits(m * 10 ** k, 1)]);
        }
      }
      return all;
    }
  }

  // What a panel says at a place: rows of [colour, text], and where in the frame its cursor stands.
  const nearest = (series, value, scale) => {
    let best = -1, distance = Infinity;
    series.x.forEach((x, k) => {
      if (x === null || series.y[k] === null) return;
      const d = Math.abs(scale.part(x) - scale.part(value));
      if (d < distance) [best, distance] = [k, d];
    });
    return best;
  };
  const withError = (value, error) => digits(value) + (error ? " ± " + digits(2 * error, 2) : "");
  const cell = ([low, high], count, value) => {
    const k = Math.floor((value - low) / (high - low) * count);
    return k >= 0 && k < count ? k : -1;
  };

  const readCell = (panel, x, y, map) => {
    const [i, j] = [cell(map.x, map.values.length, x), cell(map.y, map.values[0].length, y)];
    if (i < 0 || j < 0) return null;
    const middle = ([low, high], k, n) => digits(low + (high - low) * (k + 0.5) / n, 3);
    const at = [middle(map.x, i, map.values.length), middle(map.y, j, map.values[0].length)];
    const value = map.values[i][j] === null ? "no samples" : digits(map.values[i][j]);
    return { rows: [[null, `${panel.data.x.name || "x"} = ${at[0]}, ${panel.data.y.name || "y"} = ${at[1]}`], [null, value]] };
  };

  const readers = {
    lines(panel, x) {
      const rows = [], at = [];
      for (const [s, series] of panel.data.content.series.entries()) {
        if (panel.hidden(s)) continue;
        const k = nearest(series, x, panel.x);
        if (k < 0) continue;
        at.push([series.x[k], series.y[k]]);
        rows.push([panel.colour(s), `${series.name}: ${withError(series.y[k], series.error[k])}`]);
      }
      if (!at.length) return null;
      const middle = at.reduce((a, b) => Math.abs(panel.x.part(b[0]) - panel.x.part(x)) < Math.abs(panel.x.part(a[0]) - panel.x.part(x)) ? b : a);
      rows.unshift([null, `${panel.data.x.name || "x"} = ${digits(middle[0])}`]);
      return { rows, x: panel.x.part(middle[0]) };
    },
    heatmap(panel, x, y) { return readCell(panel, x, y, panel.data.content); },
    arrows(panel, x, y) {
      const { points, vectors, background } = panel.data.content;
      let best = -1, distance = Infinity;
      points.forEach((p, k) => {
        const d = Math.hypot(panel.x.part(p[0]) - panel.x.part(x), panel.y.part(p[1]) - panel.y.part(y));
        if (d < distance) [best, distance] = [k, d];
      });
      if (best < 0 || distance > 0.1) return null;
      const rows = [
        [null, `at (${points[best].map((v) => digits(v, 3)).join(", ")})`],
        [null, `arrow (${vectors[best].map((v) => digits(v)).join(", ")})`],
      ];
      const below = background && readCell(panel, points[best][0], points[best][1], background);
      if (below) rows.push([null, `density ${below.rows[1][1]}`]);
      return { rows };
    },
    "labelled-matrix"(panel, _x, _y, part) {
      const { rows, columns, values, errors } = panel.data.content;
      const [c, r] = [Math.floor(part[0] * columns.length), Math.floor(part[1] * rows.length)];
      if (!(values[r] && c >= 0 && c < columns.length)) return null;
      const error = errors && errors.data[r * columns.length + c];
      return { rows: [[null, `${rows[r]}, ${columns[c]}`], [null, withError(values[r][c], error)]] };
    },
    bars(panel, x) {
      const { labels, series } = panel.data.content;
      const k = Math.round(x);
      if (!(k in labels)) return null;
      const rows = [[null, labels[k]]];
      series.forEach((s, n) => {
        if (!panel.hidden(n)) rows.push([panel.colour(n), `${s.name}: ${withError(s.values[k], s.error[k])}`]);
      });
      return { rows, x: panel.x.part(k) };
    },
  };

  class Panel {
    constructor(svg, data, readout) {
      this.svg = svg;
      this.data = data;
      this.readout = readout;
      this.frame = svg.querySelector(".frame");
      this.plot = svg.querySelector(".plot");
      this.box = this.frame.dataset.box.split(" ").map(Number);
      this.kind = data.content.kind;
      if (this.frame.dataset.x) {
        this.x = new Scale(this.frame.dataset.x);
        this.y = new Scale(this.frame.dataset.y);
      }
      this.zooms = ["lines", "heatmap", "arrows"].includes(this.kind);
      if (this.zooms) svg.classList.add("zooms");
      this.groups = [...svg.querySelectorAll(".plot > .series")];
      this.overlay = element("g", {}, svg);
      this.place = [0.5, 0.5];
      this.listen();
    }
    hidden(k) { return this.groups[k]?.classList.contains("hidden"); }
    colour(k) { return this.groups[k] ? getComputedStyle(this.groups[k]).color : null; }
    // Parts of the frame's width and height, from its upper left corner.
    parts(event) {
      const bounds = this.svg.getBoundingClientRect();
      const view = this.svg.viewBox.baseVal;
      const at = [(event.clientX - bounds.left) / bounds.width * view.width, (event.clientY - bounds.top) / bounds.height * view.height];
      return [(at[0] - this.box[0]) / this.box[2], (at[1] - this.box[1]) / this.box[3]];
    }
    listen() {
      this.svg.addEventListener("pointermove", (event) => this.move(event));
      this.svg.addEventListener("pointerleave", () => { if (!this.start) this.hide(); });
      this.svg.addEventListener("blur", () => this.hide());
      this.svg.addEventListener("keydown", (event) => this.key(event));
      if (!this.zooms) return;
      this.svg.addEventListener("pointerdown", (event) => {
        // Fingers scroll the page; they read values by tapping.
        if (event.button !== 0 || event.pointerType === "touch") return;
        const at = this.parts(event);
        if (at.every((v) => v >= 0 && v <= 1)) {
          this.start = at;
          this.svg.setPointerCapture(event.pointerId);
          event.preventDefault();
        }
      });
      this.svg.addEventListener("pointerup", (event) => this.release(event));
      this.svg.addEventListener("dblclick", () => this.reset());
    }
    move(event) {
      const at = this.parts(event);
      if (this.start) return this.select(at);
      if (at.some((v) => v < 0 || v > 1)) return this.hide();
      this.show(at);
    }
    select(at) {
      const clamp = (v) => Math.min(1, Math.max(0, v));
      const [a, b] = [this.start, at.map(clamp)];
      const [x, y] = [Math.min(a[0], b[0]), Math.min(a[1], b[1])];
      this.hide();
      element("rect", {
        class: "select",
        x: this.box[0] + x * this.box[2], y: this.box[1] + y * this.box[3],
        width: Math.abs(a[0] - b[0]) * this.box[2], height: Math.abs(a[1] - b[1]) * this.box[3],
      }, this.overlay);
    }
    release(event) {
      if (!this.start) return;
      const clamp = (v) => Math.min(1, Math.max(0, v));
      const [a, b] = [this.start, this.parts(event).map(clamp)];
      this.start = null;
      this.hide();
      if (Math.abs(a[0] - b[0]) * this.box[2] < 6) return;
      this.x.zoom(Math.min(a[0], b[0]), Math.max(a[0], b[0]));
      // A flat selection zooms along x alone.
      if (Math.abs(a[1] - b[1]) * this.box[3] >= 12) {
        this.y.zoom(1 - Math.max(a[1], b[1]), 1 - Math.min(a[1], b[1]));
      }
      this.redraw();
    }
    reset() {
      this.x.reset();
      this.y.reset();
      this.redraw();
    }
    key(event) {
      const [x, y] = this.place;
      const step = event.shiftKey ? 0.1 : 0.02;
      const moves = {
        ArrowLeft: [x - step, y], ArrowRight: [x + step, y], ArrowUp: [x, y - step], ArrowDown: [x, y + step],
      };
      if (moves[event.key]) {
        this.show(moves[event.key].map((v) => Math.min(0.999, Math.max(0.001, v))));
      } else if (this.zooms && (event.key === "+" || event.key === "-")) {
        const half = event.key === "+" ? 0.25 : 1;
        this.x.zoom(x - half, x + half);
        this.y.zoom(1 - y - half, 1 - y + half);
        this.redraw();
      } else if (event.key === "Escape" || event.key === "0") {
        this.hide();
        if (this.zooms) this.reset();
      } else return;
      event.preventDefault();
    }
    show(at) {
      this.place = at;
      const [x, y] = [this.x?.at(at[0]), this.y?.at(1 - at[1])];
      const found = readers[this.kind](this, x, y, at);
      this.hide();
      if (!found) return;
      const part = found.x ?? at[0];
      const cursor = (d) => element("path", { class: "cursor", d }, this.overlay);
      const [left, top, width, height] = this.box;
      if (found.x !== undefined) cursor(`M${left + part * width} ${top}v${height}`);
      else cursor(`M${left + at[0] * width - 5} ${top + at[1] * height}h10m-5 -5v10`);
      this.readout.replaceChildren(...found.rows.map(([colour, text]) => {
        const row = document.createElement("div");
        if (colour) {
          const dot = document.createElement("i");
          dot.style.color = colour;
          row.append(dot);
        }
        row.append(text);
        return row;
      }));
      this.readout.hidden = false;
      const [bounds, around] = [this.svg.getBoundingClientRect(), this.readout.offsetParent.getBoundingClientRect()];
      const scale = bounds.width / this.svg.viewBox.baseVal.width;
      const spot = bounds.left - around.left + (left + part * width) * scale;
      const wide = this.readout.offsetWidth;
      const flipped = spot + wide + 14 > around.width;
      this.readout.style.left = `${Math.max(0, flipped ? spot - wide - 12 : spot + 12)}px`;
      this.readout.style.top = `${bounds.top - around.top + (top + Math.min(at[1], 0.6) * height) * scale}px`;
    }
    hide() {
      this.overlay.replaceChildren();
      this.readout.hidden = true;
    }
    // The plot keeps its drawing; its view and the numbers on the axes change.
    redraw() {
      const [left, top, width, height] = this.box;
      const [[x, wide], [y, high]] = [this.x.window(), this.y.window()];
      this.plot.setAttribute("viewBox", `${x * width} ${(1 - y - high) * height} ${wide * width} ${high * height}`);
      const zoomed = wide < 1 || high < 1;
      const labels = this.frame.querySelector(".labels");
      if (labels) labels.style.display = zoomed ? "none" : "";
      const grid = { stroke: "currentColor", "stroke-opacity": ".12" };
      this.original ??= ["x", "y"].map((axis) => [...this.frame.querySelector(`.ticks-${axis}`).childNodes]);
      const [xs, ys] = ["x", "y"].map((axis) => this.frame.querySelector(`.ticks-${axis}`));
      if (!zoomed) {
        xs.replaceChildren(...this.original[0]);
        ys.replaceChildren(...this.original[1]);
        return;
      }
      xs.replaceChildren();
      ys.replaceChildren();
      for (const [value, label] of this.x.ticks(Math.max(2, width / 70))) {
        const at = left + this.x.part(value) * width;
        element("line", { x1: at, x2: at, y1: top, y2: top + height, ...grid }, xs);
        element("text", { x: at, y: top + height + 15, "text-anchor": "middle" }, xs).textContent = label;
      }
      for (const [value, label] of this.y.ticks(Math.max(2, height / 42))) {
        const at = top + (1 - this.y.part(value)) * height;
        element("line", { x1: left, x2: left + width, y1: at, y2: at, ...grid }, ys);
        element("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, ys).textContent = label;
      }
    }
  }

  // Marks that are really on the page: the fewest of any panel, so that one empty panel shows.
  const drawn = (figure) => {
    const counts = [...figure.querySelectorAll("svg.panel")].map((svg) =>
      [...svg.querySelectorAll(".mark")].filter((mark) => {
        const box = mark.getBBox();
        return [box.x, box.y, box.width, box.height].every(Number.isFinite) && (mark.getAttribute("d") || "").length > 3;
      }).length);
    return counts.length ? Math.min(...counts) : 0;
  };

  const toggle = (key) => {
    const buttons = document.querySelectorAll(`.legend button[data-key="${key}"]`);
    const shown = buttons[0].getAttribute("aria-pressed") !== "true";
    for (const button of buttons) button.setAttribute("aria-pressed", String(shown));
    for (const group of document.querySelectorAll(`.plot > [data-key="${key}"]`)) group.classList.toggle("hidden", !shown);
  };

  const start = () => {
    // Folded parts have no boxes to count marks in.
    const folds = [...document.querySelectorAll("details:not([open])")];
    for (const fold of folds) fold.open = true;
    for (const figure of document.querySelectorAll("figure")) {
      const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
      const readout = document.createElement("div");
      readout.className = "readout";
      readout.hidden = true;
      readout.setAttribute("aria-live", "polite");
      figure.append(readout);
      figure.querySelectorAll("svg.panel").forEach((svg, k) => new Panel(svg, data.panels[k], readout));
      figure.dataset.marks = String(drawn(figure));
      for (const button of figure.querySelectorAll(".legend button")) {
        button.title = "show or hide in every figure";
        button.addEventListener("click", () => toggle(button.dataset.key));
      }
    }
    for (const fold of folds) fold.open = false;
    window.addEventListener("beforeprint", () => { for (const fold of folds) fold.open = true; });
    window.addEventListener("afterprint", () => { for (const fold of folds) fold.open = false; });
    root.classList.add("live");
    root.dataset.ready = String(document.querySelectorAll("figure").length);
  };
  try { start(); } catch (error) { fault(String(error)); }
})();
