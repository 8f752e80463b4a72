"use strict";
// The 3D view of a page: unpacks the library and the positions, draws atoms and cell, and plays the frames.
(() => {
  const unpacked = async (id) => {
    const text = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(text, (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  };

  let library = null;
  const loaded = () => {
    library ??= unpacked("viewer-library").then((data) => {
      const script = document.createElement("script");
      script.textContent = new TextDecoder().decode(data);
      document.head.append(script);
    });
    return library;
  };

  // Positions are 16-bit numbers between the lowest and the highest coordinate; each frame is stored as its
  // difference to the frame before.
  const positionsOf = (data, scene) => {
    const stored = new Uint16Array(data), size = 3 * scene.kinds.length;
    for (let k = size; k < stored.length; k++) stored[k] += stored[k - size];
    const step = scene.high.map((high, axis) => (high - scene.low[axis]) / 65535);
    return (frame, atom, axis) =>
      scene.low[axis] + step[axis] * stored[frame * size + axis * scene.kinds.length + atom];
  };

  const cornersOf = (cell, origin) => {
    const at = (i, j, k) => {
      const along = (axis) => origin[axis] + i * cell[0][axis] + j * cell[1][axis] + k * cell[2][axis];
      return { x: along(0), y: along(1), z: along(2) };
    };
    const edges = [];
    for (const one of [0, 1]) for (const two of [0, 1]) {
      edges.push([at(0, one, two), at(1, one, two)], [at(one, 0, two), at(one, 1, two)],
        [at(one, two, 0), at(one, two, 1)]);
    }
    return edges;
  };

  class View {
    constructor(box, scene, position) {
      Object.assign(this, { box, scene, position, frame: -1, size: 1, playing: false, shown: 0 });
      this.viewer = window.$3Dmol.createViewer(box.querySelector(".canvas"), { backgroundColor: "white" });
      this.atoms = scene.kinds.map((kind, serial) => ({
        elem: scene.species[kind].symbol, x: 0, y: 0, z: 0, serial, bonds: [], bondOrder: [],
        resi: scene.members[serial] ?? 0,
      }));
      this.model = this.viewer.addModel();
      this.model.addAtoms(this.atoms);
      this.atoms = this.model.selectedAtoms({});
      this.controls();
      this.show(0);
      this.viewer.zoomTo();
      this.viewer.rotate(-15, "y");
      this.viewer.rotate(15, "x");
      this.viewer.render();
      box.dataset.ready = "true";
    }

    controls() {
      const find = (name) => this.box.querySelector(name);
      this.slider = find(".frame");
      this.button = find(".play");
      this.slider.max = this.scene.labels.length - 1;
      this.slider.addEventListener("input", () => this.show(Number(this.slider.value)));
      this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
      find(".reset").addEventListener("click", () => { this.viewer.zoomTo(); this.viewer.render(); });
      find(".size").addEventListener("input", (event) => {
        this.size = Number(event.target.value);
        this.draw();
      });
      find(".coloured")?.addEventListener("change", (event) => {
        this.box.classList.toggle("by-group", event.target.value === "groups");
        this.draw();
      });
      find(".speed").addEventListener("input", (event) => { this.speed = Number(event.target.value); });
      this.speed = Number(find(".speed").value);
    }

    show(frame) {
      if (frame === this.frame) return;
      this.frame = frame;
      for (const [serial, atom] of this.atoms.entries()) {
        atom.x = this.position(frame, serial, 0);
        atom.y = this.position(frame, serial, 1);
        atom.z = this.position(frame, serial, 2);
      }
      const cell = this.scene.cells[Math.min(frame, this.scene.cells.length - 1)];
      if (cell && cell !== this.cell) {
        this.viewer.removeAllShapes();
        for (const [start, end] of cornersOf(cell, this.scene.origin)) {
          this.viewer.addLine({ start, end, color: "#666666" });
        }
      }
      this.cell = cell;
      this.slider.value = frame;
      this.box.querySelector("output").textContent = this.scene.labels[frame];
      this.box.dataset.frame = frame;
      this.draw();
    }

    draw() {
      // A new style is what makes the library build its geometry again.
      const byGroup = this.box.classList.contains("by-group");
      for (const { symbol, radius: one, color: own } of this.scene.species) {
        const radius = one * this.size;
        this.model.setStyle({ elem: symbol }, { sphere: { radius, color: own } });
        // Groups are residues of the library, which selects atoms by their numbers.
        for (const [resi, [, color]] of byGroup ? this.scene.groups.entries() : []) {
          this.model.setStyle({ elem: symbol, resi }, { sphere: { radius, color } });
        }
      }
      this.viewer.render();
    }

    play() {
      this.playing = true;
      this.button.textContent = "Pause";
      requestAnimationFrame((now) => this.next(now));
    }

    pause() {
      this.playing = false;
      this.button.textContent = "Play";
    }

    next(now) {
      if (!this.playing) return;
      if (now - this.shown >= 1000 / this.speed) {
        this.shown = now;
        this.show((this.frame + 1) % this.scene.labels.length);
      }
      requestAnimationFrame((later) => this.next(later));
    }
  }

  const start = async (box) => {
    const message = box.querySelector(".message");
    try {
      const scene = JSON.parse(box.querySelector("script.scene").textContent);
      const [data] = await Promise.all([unpacked(box.dataset.positions), loaded()]);
      box.view = new View(box, scene, positionsOf(data, scene));
      message.remove();
    } catch (error) {
      message.textContent = `The 3D view needs a browser with WebGL: ${error.message ?? error}`;
      box.dataset.ready = "failed";
    }
  };

  // A browser has few WebGL contexts, so a view starts when it is scrolled to.
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        watcher.unobserve(target);
        start(target);
      }
    }
  }, { rootMargin: "200px" });
  document.querySelectorAll(".view").forEach((box) => watcher.observe(box));
})();
