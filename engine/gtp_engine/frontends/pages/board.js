"use strict";
// A Go board: its rules, as far as playing moves over needs them, its picture as SVG, and what else
// pages with a board have in common.
// Points are numbers, row * width + column from the top left; PASS is -1. Colors: 1 Black, 2 White.

const EMPTY = 0, BLACK = 1, WHITE = 2, PASS = -1;
const COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ";
const OWNERSHIP = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
const LABELS = ["on-wood", "on-black", "on-white"];

const byId = (name) => document.getElementById(name);
const colorOf = (name) => (name === "black" ? BLACK : WHITE);
const nameOf = (color) => (color === BLACK ? "Black" : "White");

class Position {
  constructor(width, height, stones = null) {
    this.width = width;
    this.height = height;
    this.stones = stones ? stones.slice() : new Array(width * height).fill(EMPTY);
  }

  copy() {
    return new Position(this.width, this.height, this.stones);
  }

  neighbors(point) {
    const col = point % this.width, found = [];
    if (col > 0) found.push(point - 1);
    if (col < this.width - 1) found.push(point + 1);
    if (point >= this.width) found.push(point - this.width);
    if (point + this.width < this.stones.length) found.push(point + this.width);
    return found;
  }

  // The stones of a chain if it has no liberty; an empty list if it has one.
  stifled(point) {
    const color = this.stones[point], chain = [point], seen = new Set(chain);
    for (const stone of chain) {
      for (const near of this.neighbors(stone)) {
        if (this.stones[near] === EMPTY) return [];
        if (this.stones[near] === color && !seen.has(near)) {
          seen.add(near);
          chain.push(near);
        }
      }
    }
    return chain;
  }

  play(color, point) {
    if (point === PASS) return;
    this.stones[point] = color;
    for (const near of this.neighbors(point)) {
      if (this.stones[near] === 3 - color) {
        for (const stone of this.stifled(near)) this.stones[stone] = EMPTY;
      }
    }
    for (const stone of this.stifled(point)) this.stones[stone] = EMPTY;
  }

  vertex(point) {
    if (point === PASS) return "pass";
    return COLUMNS[point % this.width] + (this.height - Math.floor(point / this.width));
  }
}

// Two letters a point as in SGF; "--" is a pass.
function readPoint(text, width) {
  if (text === "--") return PASS;
  return (text.charCodeAt(1) - 97) * width + text.charCodeAt(0) - 97;
}

function readPoints(text, width) {
  const points = [];
  for (let at = 0; at < text.length; at += 2) points.push(readPoint(text.slice(at, at + 2), width));
  return points;
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function starLines(size) {
  if (size < 7) return [];
  const edge = size > 12 ? 3 : 2;
  return size % 2 ? [edge, (size - 1) / 2, size - 1 - edge] : [edge, size - 1 - edge];
}

// The picture. A unit is the distance between two lines; point 0 is at (1, 1).
class BoardView {
  constructor(root, width, height) {
    this.root = root;
    this.width = width;
    this.height = height;
    root.setAttribute("viewBox", `0 0 ${width + 1} ${height + 1}`);
    root.append(svg("rect", { class: "wood", width: width + 1, height: height + 1, rx: 0.2 }));
    root.append(this.grid());
    this.layers = {};
    for (const name of ["owners", "stones", "marks", "ghosts", "cursor"]) {
      this.layers[name] = svg("g", { class: name });
      root.append(this.layers[name]);
    }
  }

  grid() {
    const group = svg("g", { class: "grid" }), { width, height } = this;
    for (let col = 0; col < width; col++) {
      group.append(svg("line", { x1: col + 1, x2: col + 1, y1: 1, y2: height }));
      for (const y of [0.38, height + 0.72]) group.append(this.text(col + 1, y, COLUMNS[col], 0.38, "edge"));
    }
    for (let row = 0; row < height; row++) {
      group.append(svg("line", { y1: row + 1, y2: row + 1, x1: 1, x2: width }));
      for (const x of [0.32, width + 0.68]) group.append(this.text(x, row + 1, height - row, 0.38, "edge"));
    }
    for (const col of starLines(width)) {
      for (const row of starLines(height)) {
        group.append(svg("circle", { class: "star", cx: col + 1, cy: row + 1, r: 0.11 }));
      }
    }
    return group;
  }

  at(point) {
    return [(point % this.width) + 1, Math.floor(point / this.width) + 1];
  }

  text(x, y, words, size, kind) {
    const made = svg("text", { x, y: y + size * 0.36, "font-size": size, class: kind });
    made.textContent = words;
    return made;
  }

  clear(layer) {
    this.layers[layer].replaceChildren();
  }

  stone(layer, point, color) {
    const [cx, cy] = this.at(point);
    this.layers[layer].append(
      svg("circle", { class: color === BLACK ? "black" : "white", cx, cy, r: 0.47 }));
  }

  label(layer, point, words, kind, size = 0.44) {
    const [x, y] = this.at(point);
    this.layers[layer].append(this.text(x, y, words, size, kind));
  }

  ring(layer, point, kind, r = 0.3) {
    const [cx, cy] = this.at(point);
    this.layers[layer].append(svg("circle", { class: kind, cx, cy, r }));
  }

  setStones(position) {
    this.clear("stones");
    position.stones.forEach((color, point) => {
      if (color !== EMPTY) this.stone("stones", point, color);
    });
  }

  // A square on each point that is somebody's: as large as it is sure.
  setOwners(text) {
    this.clear("owners");
    for (let point = 0; point < text.length; point++) {
      const owner = OWNERSHIP.indexOf(text[point]) / 32 - 1, side = 0.9 * Math.abs(owner);
      if (side < 0.2) continue;
      const [x, y] = this.at(point);
      this.layers.owners.append(svg("rect", {
        class: owner > 0 ? "blacks" : "whites",
        x: x - side / 2, y: y - side / 2, width: side, height: side,
      }));
    }
  }

  // The moves that a search looked at, with the points that each loses against the best one.
  candidates(position, found) {
    const best = found.candidates[0], sign = found.to_play === "black" ? 1 : -1;
    found.candidates.forEach((candidate, index) => {
      const point = readPoint(candidate.at, this.width);
      if (point === PASS || position.stones[point] !== EMPTY) return;
      this.ring("marks", point, index ? "spot" : "spot best", 0.45);
      const loss = sign * (candidate.lead - best.lead);
      const figure = loss.toFixed(Math.abs(loss) < 9.95 ? 1 : 0).replace("-", "−");
      this.label("marks", point, index ? figure : "best", "on-wood", index ? 0.34 : 0.32);
    });
  }

  // A line as numbered stones, without playing it.
  preview(position, color, line) {
    const board = position.copy();
    this.clear("ghosts");
    readPoints(line, this.width).forEach((point, index) => {
      if (point !== PASS && board.stones[point] === EMPTY) {
        this.stone("ghosts", point, color);
        this.label("ghosts", point, index + 1, LABELS[color]);
      }
      board.play(color, point);
      color = 3 - color;
    });
  }

  // The point under a pointer, or null beside the board.
  pointAt(event) {
    const box = this.root.getBoundingClientRect();
    const scale = Math.min(box.width / (this.width + 1), box.height / (this.height + 1));
    const left = box.left + (box.width - scale * (this.width + 1)) / 2;
    const top = box.top + (box.height - scale * (this.height + 1)) / 2;
    const col = Math.round((event.clientX - left) / scale) - 1;
    const row = Math.round((event.clientY - top) / scale) - 1;
    const isOn = col >= 0 && col < this.width && row >= 0 && row < this.height;
    return isOn ? row * this.width + col : null;
  }
}

// What pages with a board have in common ----------------------------------------------------------

function standing(found) {
  const { lead } = found, who = lead > 0 ? "Black" : "White";
  const score = Math.abs(lead) < 0.05 ? "Even" : `${who} leads by ${Math.abs(lead).toFixed(1)}`;
  return `${score}, Black wins ${Math.round(100 * found.winrate)} %`;
}

function element(name, words, kind = "") {
  const made = document.createElement(name);
  made.textContent = words;
  if (kind) made.className = kind;
  return made;
}

function addButton(where, words, act) {
  const made = element("button", words);
  made.addEventListener("click", act);
  where.append(made);
  return made;
}

// The buttons and the slider that lead through a game; returns what keys do the same.
function bindMoves(go, step, last) {
  byId("first").addEventListener("click", () => go(0));
  byId("last").addEventListener("click", () => go(last()));
  byId("back").addEventListener("click", () => step(-1));
  byId("forward").addEventListener("click", () => step(1));
  byId("turn").addEventListener("input", (event) => go(Number(event.target.value)));
  return {
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), PageUp: () => step(-10), PageDown: () => step(10),
    Home: () => go(0), End: () => go(last()),
  };
}

function showTurn(turn, last) {
  byId("turn").max = last;
  byId("turn").value = turn;
  byId("turn").setAttribute("aria-valuetext", `move ${turn} of ${last}`);
}

// Calls what a key stands for at the time, unless it is typed into a field or moves a slider.
function bindKeys(functionsByKey) {
  document.addEventListener("keydown", (event) => {
    const { key, target } = event, isSlider = target.type === "range";
    const isField = ["SELECT", "INPUT"].includes(target.tagName) && target.type !== "file";
    const isTyped = isField && key !== "Escape" && !(isSlider && key.length === 1);
    const act = functionsByKey()[key];
    if (!act || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "Enter" && target.tagName === "BUTTON") return;
    event.preventDefault();
    act();
  });
}

// Calls for each move of a mouse over the board, and with null where it leaves.
function bindMouse(root, show) {
  root.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") show(event); });
  root.addEventListener("pointerleave", () => show(null));
}
