"use strict";
// Charts of a page as SVG. Dragging zooms along x, in all charts of the same group; a double click shows all.
(() => {
  const H = 280, LEFT = 78, RIGHT = 14, BOTTOM = 44, ROW = 16;
  const add = (parent, name, attributes, text) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    if (text !== undefined) one.textContent = text;
    parent.append(one);
    return one;
  };

  const ticksOf = (low, high, most) => {
    const rough = (high - low) / most, unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
    const large = Math.max(Math.abs(low), Math.abs(high));
    const plain = large < 1e6 && step >= 1e-4;
    return ticks.map((at) => [at, plain ? at.toFixed(digits) : Number(at.toPrecision(8)).toString()]);
  };

  class Chart {
    constructor(box) {
      this.box = box;
      this.data = JSON.parse(box.querySelector("script").textContent);
      // On a narrow screen the picture is narrow, so that letters keep their size.
      this.w = Math.max(340, Math.min(560, box.clientWidth));
      this.entries = this.data.series.length < 2 ? [] : this.entriesOf(this.data.series);
      this.top = 14 + (this.entries.length ? this.entries.at(-1).y : 0);
      this.svg = add(box, "svg", { viewBox: `0 0 ${this.w} ${H}`, role: "img", "aria-label": this.data.y });
      this.readout = document.createElement("output");
      box.append(this.readout);
      const xs = this.data.series.flatMap((one) => one.x);
      this.all = [Math.min(...xs), Math.max(...xs)];
      if (this.all[0] === this.all[1]) this.all = [this.all[0] - 0.5, this.all[1] + 0.5];
      this.hidden = new Set();
      this.draw(this.all);
      this.svg.addEventListener("pointerdown", (event) => this.begin(event));
      this.svg.addEventListener("pointermove", (event) => this.move(event));
      this.svg.addEventListener("pointerup", (event) => this.end(event));
      this.svg.addEventListener("pointerleave", () => { this.readout.textContent = ""; });
      this.svg.addEventListener("dblclick", () => this.zoom(null));
    }

    x(value) { return LEFT + (this.w - LEFT - RIGHT) * (value - this.range[0]) / (this.range[1] - this.range[0]); }

    y(value) { return H - BOTTOM - (H - this.top - BOTTOM) * (value - this.low) / (this.high - this.low); }

    draw(range) {
      this.range = range;
      const series = this.data.series.filter((_, k) => !this.hidden.has(k));
      const inside = [];
      for (const one of series) {
        one.y.forEach((value, k) => {
          if (value !== null && one.x[k] >= range[0] && one.x[k] <= range[1]) {
            const error = one.error?.[k] ?? 0;
            inside.push(value - error, value + error);
          }
        });
      }
      let low = inside.reduce((a, b) => Math.min(a, b), Infinity);
      let high = inside.reduce((a, b) => Math.max(a, b), -Infinity);
      if (!inside.length) [low, high] = [0, 1];
      const margin = high > low ? 0.06 * (high - low) : Math.max(1e-9, 0.01 * Math.abs(high));
      [this.low, this.high] = [low - margin, high + margin];
      this.svg.replaceChildren();
      this.axes();
      this.lines();
      this.legend();
    }

    axes() {
      for (const [at, label] of ticksOf(this.low, this.high, 5)) {
        add(this.svg, "line", { x1: LEFT, x2: this.w - RIGHT, y1: this.y(at), y2: this.y(at), class: "grid" });
        add(this.svg, "text", { x: LEFT - 6, y: this.y(at) + 4, "text-anchor": "end" }, label);
      }
      for (const [at, label] of ticksOf(...this.range, this.w < 450 ? 4 : 6)) {
        add(this.svg, "line", { x1: this.x(at), x2: this.x(at), y1: this.top, y2: H - BOTTOM, class: "grid" });
        add(this.svg, "text", { x: this.x(at), y: H - BOTTOM + 16, "text-anchor": "middle" }, label);
      }
      for (const [at, name] of this.data.marks ?? []) {
        if (at < this.range[0] || at > this.range[1]) continue;
        const mark = { x1: this.x(at), x2: this.x(at), y1: this.top, y2: H - BOTTOM, class: "mark" };
        add(add(this.svg, "line", mark), "title", {}, name);
      }
      add(this.svg, "text", { x: (LEFT + this.w - RIGHT) / 2, y: H - 8, "text-anchor": "middle" }, this.data.xLabel);
      // In the middle of the picture, not of the axis: a long label needs all of the height.
      const middle = { x: 14, y: H / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${H / 2})` };
      add(this.svg, "text", middle, this.data.y);
    }

    lines() {
      const clip = `clip-${Math.random().toString(36).slice(2)}`;
      add(add(this.svg, "clipPath", { id: clip }), "rect",
        { x: LEFT, y: this.top, width: this.w - LEFT - RIGHT, height: H - this.top - BOTTOM });
      const plot = add(this.svg, "g", { "clip-path": `url(#${clip})` });
      this.data.series.forEach((one, k) => {
        if (this.hidden.has(k)) return;
        let path = "", drawing = false;
        one.y.forEach((value, i) => {
          if (value === null) { drawing = false; return; }
          path += `${drawing ? "L" : "M"}${this.x(one.x[i]).toFixed(1)} ${this.y(value).toFixed(1)}`;
          drawing = true;
          const error = one.error?.[i];
          if (error) {
            const bar = { x1: this.x(one.x[i]), x2: this.x(one.x[i]), y1: this.y(value - error),
              y2: this.y(value + error), stroke: one.color };
            add(plot, "line", bar);
          }
          if (one.points || one.y.length < 3) {
            add(plot, "circle", { cx: this.x(one.x[i]), cy: this.y(value), r: 3, fill: one.color });
          }
        });
        if (!one.points) add(plot, "path", { d: path, stroke: one.color, class: "line" });
      });
    }

    // Places of the names of lines, in rows above the axes.
    entriesOf(series) {
      let x = LEFT, y = ROW;
      return series.map((one) => {
        const width = 30 + 7 * one.name.length;
        if (x > LEFT && x + width > this.w - RIGHT) [x, y] = [LEFT, y + ROW];
        x += width;
        return { x: x - width, y };
      });
    }

    legend() {
      this.entries.forEach(({ x, y }, k) => {
        const one = this.data.series[k];
        const entry = add(this.svg, "g", { class: this.hidden.has(k) ? "entry off" : "entry" });
        add(entry, "line", { x1: x, x2: x + 14, y1: y - 4, y2: y - 4, stroke: one.color, "stroke-width": 3 });
        add(entry, "text", { x: x + 18, y }, one.name);
        entry.addEventListener("pointerdown", (event) => {
          event.stopPropagation();
          this.hidden.has(k) ? this.hidden.delete(k) : this.hidden.add(k);
          this.draw(this.range);
        });
      });
    }

    at(event) {
      const box = this.svg.getBoundingClientRect();
      const along = ((event.clientX - box.left) / box.width * this.w - LEFT) / (this.w - LEFT - RIGHT);
      return this.range[0] + Math.min(1, Math.max(0, along)) * (this.range[1] - this.range[0]);
    }

    begin(event) {
      this.from = this.at(event);
      this.svg.setPointerCapture(event.pointerId);
    }

    move(event) {
      const now = this.at(event);
      this.svg.querySelectorAll(".chosen, .cursor").forEach((one) => one.remove());
      const here = { x1: this.x(now), x2: this.x(now), y1: this.top, y2: H - BOTTOM, class: "cursor" };
      add(this.svg, "line", here);
      if (this.from !== undefined) {
        const [left, right] = [this.from, now].sort((a, b) => a - b).map((one) => this.x(one));
        add(this.svg, "rect", { x: left, y: this.top, width: right - left, height: H - this.top - BOTTOM, class: "chosen" });
      }
      const values = this.data.series.map((one) => {
        let best = 0;
        one.x.forEach((x, k) => { if (Math.abs(x - now) < Math.abs(one.x[best] - now)) best = k; });
        return `${one.name ? `${one.name}: ` : ""}${one.y[best]?.toPrecision(6) ?? "-"} at ${one.x[best]}`;
      });
      this.readout.textContent = values.slice(0, 4).join("; ");
    }

    end(event) {
      const [low, high] = [this.from, this.at(event)].sort((a, b) => a - b);
      this.from = undefined;
      if (this.x(high) - this.x(low) > 5) this.zoom([low, high]);
    }

    zoom(range) {
      for (const one of charts) {
        if (one.box.dataset.group === this.box.dataset.group) one.draw(range ?? one.all);
      }
    }
  }

  const charts = [...document.querySelectorAll(".chart")].map((box) => new Chart(box));
})();
