"use strict";
// The page of one game: steps through it, plays variations out, asks for better moves.

const review = JSON.parse(document.getElementById("data").textContent);
const [WIDTH, HEIGHT] = review.size;
const N_MOVES = review.moves.length;
const view = new BoardView(byId("board"), WIDTH, HEIGHT);

const moves = review.moves.map((move) => ({ ...move, point: readPoint(move.at, WIDTH) }));
const mistakes = new Map(review.mistakes.map((mistake) => [mistake.number, mistake]));
const praise = new Map(review.good_moves.map((good) => [good.number, good]));

const state = {
  turn: 0,
  line: null, // a variation: {from, points, shown, owners, home}; home is the turn to go back to
  owners: false,
  candidates: true,
  drill: null, // {number, answered, cursor}
};

// Positions ---------------------------------------------------------------------------------------

const known = [];

function positionAt(turn) {
  while (known.length <= turn) {
    const next = known.length;
    const made = next ? known[next - 1].copy() : new Position(WIDTH, HEIGHT);
    if (next) made.play(colorOf(moves[next - 1].color), moves[next - 1].point);
    for (const [stones, color] of Object.entries(review.setups[next] || {})) {
      for (const point of readPoints(stones, WIDTH)) made.stones[point] = color;
    }
    known.push(made);
  }
  return known[turn];
}

function toPlay(turn) {
  return colorOf(review.positions[turn].to_play);
}

function points(number) {
  const text = number.toFixed(1).replace(/\.0$/, "");
  return text === "1" ? "1 point" : `${text} points`;
}

function isByChance(move) {  // some are mistakes by chances alone
  return byId("measure").value === "chance" || Boolean(mistakes.get(move.number)?.by_chance);
}

function grade(move) {
  return isByChance(move) ? move.chance_class : move.class;
}

function cost(move) {
  return isByChance(move) ? `${Math.round(100 * move.chance_lost)} % of chance` : points(move.loss);
}

// What is shown -----------------------------------------------------------------------------------

function show() {
  const { line, drill } = state;
  const position = positionAt(state.turn).copy();
  ["marks", "ghosts", "cursor"].forEach((layer) => view.clear(layer));
  let owners = review.positions[state.turn].owners;
  if (line) {
    let color = toPlay(line.from);
    line.points.slice(0, line.shown).forEach((point) => {
      position.play(color, point);
      color = 3 - color;
    });
    if (line.owners) owners = line.owners;
  }
  view.setStones(position);
  if (state.owners) view.setOwners(owners); else view.clear("owners");
  if (line) numberLine(position, line);
  else if (drill) showDrill(position, drill);
  else showMarks(position);
  showTurn(state.turn, N_MOVES);
  byId("show-owners").setAttribute("aria-pressed", state.owners);
  byId("show-candidates").setAttribute("aria-pressed", state.candidates);
  byId("drill").setAttribute("aria-pressed", Boolean(drill));
  writeNote();
  markNow();
  listMistakes();
  history.replaceState(null, "", `#${state.turn}`);
}

function numberLine(position, line) {
  line.points.slice(0, line.shown).forEach((point, index) => {
    if (point !== PASS && position.stones[point] !== EMPTY) {
      view.label("marks", point, index + 1, LABELS[position.stones[point]]);
    }
  });
}

function showMarks(position) {
  const { turn } = state;
  if (turn && moves[turn - 1].point !== PASS) view.ring("marks", moves[turn - 1].point, "last");
  const mistake = mistakes.get(turn);
  if (mistake && mistake.better !== "--") view.ring("marks", readPoint(mistake.better, WIDTH), "better", 0.36);
  if (!state.candidates) return;
  view.candidates(position, review.positions[turn]);
  if (turn < N_MOVES && moves[turn].point !== PASS) view.ring("marks", moves[turn].point, "next", 0.49);
}

function writeNote() {
  const { turn, line, drill } = state, note = byId("note"), lines = byId("lines");
  note.replaceChildren();
  lines.replaceChildren();
  const comment = review.comments[turn] || "";
  byId("comment").hidden = !comment || Boolean(drill);
  byId("comment").textContent = comment;
  if (drill) return writeDrill(note, lines);
  byId("standing").textContent = `Move ${turn}: ${standing(review.positions[turn])}`;
  if (turn) writeMove(note, moves[turn - 1], mistakes.get(turn));
  if (line) {
    note.append(element("p", `Variation, move ${line.shown} of ${line.points.length}.`));
    addButton(lines, "Back to the game", leaveLine);
    return;
  }
  const mistake = mistakes.get(turn);
  if (mistake) {
    addButton(lines, "Show the better line", showBetter);
    addButton(lines, "Show what follows", () => playLine(turn - 1, mistake.line_played, mistake.owners_played));
  }
  review.positions[turn].candidates.slice(0, 3).forEach((candidate, index) => {
    const name = positionAt(turn).vertex(readPoint(candidate.at, WIDTH));
    const made = addButton(lines, `${index ? "or" : "Expected:"} ${name}`, () => playLine(turn, candidate.pv));
    made.addEventListener("mouseenter", () => preview(turn, candidate.pv));
    made.addEventListener("mouseleave", () => view.clear("ghosts"));
  });
}

function writeMove(note, move, mistake) {
  const name = positionAt(0).vertex(move.point), kind = grade(move);
  const sentence = element("p", `${nameOf(colorOf(move.color))} ${name}`);
  if (kind !== null) {
    const words = mistake ? `, better is ${positionAt(0).vertex(readPoint(mistake.better, WIDTH))}` : "";
    sentence.append(" loses ", element("span", cost(move), `grade c${kind}`), ` (${review.class_names[kind]})${words}.`);
  } else if (move.is_best) {
    sentence.append(element("span", ": the best move.", "grade good"));
  }
  note.append(sentence);
  const good = praise.get(move.number);
  if (good) note.append(element("p", good.text, "good"));
  if (mistake) mistake.reasons.forEach((reason) => note.append(element("p", reason)));
}

// Variations --------------------------------------------------------------------------------------

// The turn of the game at which one is, also while a variation from there or before is shown.
function turnInGame() {
  return state.line?.home ?? state.turn;
}

function playLine(from, text, owners = null) {
  state.line = { from, points: readPoints(text, WIDTH), shown: 1, owners, home: turnInGame() };
  state.turn = from;
  show();
}

function showBetter() {
  const mistake = mistakes.get(turnInGame());
  if (mistake) playLine(mistake.number - 1, mistake.line_better, mistake.owners_better);
}

function leaveLine() {
  state.turn = turnInGame();
  state.line = null;
  show();
}

function candidateAt(point) {
  return state.candidates && review.positions[state.turn].candidates.find((each) => readPoint(each.at, WIDTH) === point);
}

function preview(from, text) {
  view.preview(positionAt(from), toPlay(from), text);
}

// Going through the game --------------------------------------------------------------------------

function go(turn) {
  state.line = null;
  state.drill = null;
  state.turn = Math.max(0, Math.min(N_MOVES, turn));
  show();
}

function step(by) {
  const { line } = state;
  if (!line) return go(state.turn + by);
  line.shown = Math.max(0, Math.min(line.points.length, line.shown + by));
  show();
}

function wanted() {
  const whose = byId("whose").value;
  return review.mistakes.filter((mistake) => whose === "both" || mistake.color === whose);
}

function goMistake(by) {
  const numbers = wanted().map((mistake) => mistake.number);
  const next = by > 0 ? numbers.find((number) => number > turnInGame())
    : numbers.reverse().find((number) => number < turnInGame());
  if (next !== undefined) go(next);
}

function listMistakes() {
  const list = byId("mistakes");
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.number : null;
  list.replaceChildren(...wanted().map((mistake) => {
    const move = moves[mistake.number - 1], row = document.createElement("li");
    const kind = grade(move) ?? 4;
    const made = addButton(row, `${mistake.number}. ${nameOf(colorOf(mistake.color))} ${positionAt(0).vertex(move.point)} `, () => go(mistake.number));
    made.append(element("span", `−${cost(move)}`, `grade c${kind}`));
    made.dataset.number = mistake.number;
    made.setAttribute("aria-current", mistake.number === state.turn && !state.drill);
    return row;
  }));
  if (!list.children.length) list.append(element("li", "None worth a word."));
  if (focused) list.querySelector(`[data-number="${focused}"]`)?.focus();
}

// The drill ---------------------------------------------------------------------------------------

function startDrill(number = null) {
  const numbers = wanted().map((mistake) => mistake.number);
  if (!numbers.length) return;
  const chosen = number ?? numbers.find((each) => each >= turnInGame()) ?? numbers[0];
  state.line = null;
  state.turn = chosen - 1;
  state.drill = { number: chosen, answered: null, cursor: Math.floor(WIDTH * HEIGHT / 2) };
  show();
  document.activeElement?.blur();  // Enter is the answer from here on, and not that button
}

function showDrill(position, drill) {
  if (state.turn && moves[state.turn - 1].point !== PASS) view.ring("marks", moves[state.turn - 1].point, "last");
  if (drill.answered === null) {
    view.ring("cursor", drill.cursor, "aim", 0.4);
    return;
  }
  const mistake = mistakes.get(drill.number);
  for (const [point, kind] of [[drill.answered, "aim"], [readPoint(mistake.better, WIDTH), "better"]]) {
    if (point !== PASS) view.ring("marks", point, kind, 0.4);
  }
}

function writeDrill(note, lines) {
  const { drill } = state, mistake = mistakes.get(drill.number), color = nameOf(colorOf(mistake.color));
  byId("standing").textContent = `Move ${drill.number}: ${color} to play. Your move?`;
  if (drill.answered === null) {
    note.append(element("p", "Tap a point, or move the ring with the arrow keys and press Enter."));
  } else {
    const name = positionAt(0).vertex(drill.answered), loss = mistake.answers[drill.answered];
    const played = moves[drill.number - 1], isPlayed = drill.answered === played.point;
    const isGood = !isPlayed && loss <= mistake.nearly, isUnsure = mistake.unsure.includes(drill.answered);
    const verdict = isUnsure ? `${name} was not looked at closely: it may be as good, or not.`
      : loss === undefined ? `${name} is not a legal move here.`
        : isGood ? (loss < 0.1 ? `${name}: right, the best move.` : `${name}: good, within ${points(loss)} of the best.`)
          : isPlayed ? `${name} is what was played; it loses ${cost(played)}.`
            : `${name} loses ${points(loss)}.`;
    note.append(element("p", verdict, isUnsure ? "grade" : isGood ? "grade good" : "grade c1"));
    if (isUnsure || loss !== undefined) {
      note.append(element("p", `Best is ${positionAt(0).vertex(readPoint(mistake.better, WIDTH))}.`));
      mistake.reasons.forEach((reason) => note.append(element("p", reason)));
    }
    addButton(lines, "Again", () => startDrill(drill.number));
    addButton(lines, "Show the better line", () => { go(drill.number); showBetter(); });
  }
  const numbers = wanted().map((each) => each.number), next = numbers.find((each) => each > drill.number);
  if (next) addButton(lines, "Next", () => startDrill(next));
  addButton(lines, "Back to the game", () => go(drill.number));
}

function answer(point) {
  if (state.drill.answered !== null || positionAt(state.turn).stones[point] !== EMPTY) return;
  state.drill.answered = point;
  show();
}

// The chart ---------------------------------------------------------------------------------------

const CHART_HEIGHT = 100;
const dots = new Map();  // by number of the mistake
let now;

function drawChart() {
  const chart = byId("chart"), most = Math.max(10, ...review.positions.map((each) => Math.min(60, Math.abs(each.lead))));
  const y = (lead) => CHART_HEIGHT / 2 * (1 - Math.max(-1, Math.min(1, lead / most)));
  chart.setAttribute("viewBox", `0 0 ${Math.max(1, N_MOVES)} ${CHART_HEIGHT}`);
  chart.append(svg("line", { class: "zero", x1: 0, x2: N_MOVES, y1: y(0), y2: y(0) }));
  for (const lead of [most / 2, -most / 2]) chart.append(svg("line", { class: "step", x1: 0, x2: N_MOVES, y1: y(lead), y2: y(lead) }));
  const path = (values) => values.map((value, turn) => `${turn},${value.toFixed(1)}`).join(" ");
  chart.append(svg("polyline", { class: "chance", points: path(review.positions.map((each) => CHART_HEIGHT * (1 - each.winrate))) }));
  chart.append(svg("polyline", { class: "score", points: path(review.positions.map((each) => y(each.lead))) }));
  const wide = N_MOVES / 130;
  for (const mistake of review.mistakes) {
    const dot = svg("ellipse", { cx: mistake.number, cy: y(review.positions[mistake.number].lead), rx: wide, ry: 2.6 });
    dots.set(mistake.number, dot);
    chart.append(dot);
  }
  now = svg("line", { class: "now", y1: 0, y2: CHART_HEIGHT });
  chart.append(now);
  byId("chart-legend").textContent = `Solid: score, Black ahead above the middle, White below (to ${Math.round(most)} points). Dashed: Black's chance to win.`;
  const follow = (event) => {
    const box = chart.getBoundingClientRect();
    go(Math.round((event.clientX - box.left) / box.width * N_MOVES));
  };
  chart.addEventListener("pointerdown", follow);
  chart.addEventListener("pointermove", (event) => { if (event.buttons) follow(event); });
}

function markNow() {
  for (const [number, dot] of dots) dot.setAttribute("class", `c${grade(moves[number - 1]) ?? 4}`);
  now.setAttribute("x1", state.turn);
  now.setAttribute("x2", state.turn);
}

// Figures -----------------------------------------------------------------------------------------

function writeFigures() {
  const head = document.createElement("tr");
  head.append(...["player", "moves", "points a move", "best move", ...review.class_names].map((words) => {
    const cell = element("th", words);
    cell.scope = "col";
    return cell;
  }));
  byId("figures-head").append(head);
  for (const [color, player] of Object.entries(review.players)) {
    for (const [phase, figures] of [...Object.entries(player.phases), ["all", player.all]]) {
      if (!figures.moves) continue;
      const row = document.createElement("tr"), name = element("th", `${nameOf(colorOf(color))}, ${review.phase_names[phase] || "all"}`);
      name.scope = "row";
      const best = `${Math.round(100 * figures.best_moves / figures.moves)} %`;
      row.append(name, ...[figures.moves, figures.points_a_move.toFixed(2), best, ...figures.classes].map((value) => element("td", value)));
      byId("figures").append(row);
    }
  }
  if (review.good_moves.length) byId("praise").append(element("h2", "Well played"));
  for (const good of review.good_moves) {
    addButton(byId("praise"), `${good.number}. ${nameOf(colorOf(good.color))}: ${good.text}`, () => go(good.number));
  }
}

// People ------------------------------------------------------------------------------------------

function describeGame() {
  const { game } = review, player = (name, rank, color) => `${name || color}${rank ? ` (${rank})` : ""}`;
  const title = `${player(game.black, game.black_rank, "Black")} and ${player(game.white, game.white_rank, "White")}`;
  byId("title").textContent = title;
  byId("facts").textContent = [game.date, game.result, `${WIDTH}x${HEIGHT}`, game.rules, `komi ${game.komi}`,
    game.handicap > 1 ? `handicap ${game.handicap}` : ""].filter(Boolean).join(" · ");
  byId("made").textContent = `Made with ${review.net}, ${review.visits} visits a position, ${review.deep_visits} at the mistakes.`;
}

function keys(moveKeys) {
  const { drill } = state, moveCursor = (by) => () => {
    const next = drill.cursor + by;
    if (next >= 0 && next < WIDTH * HEIGHT) { drill.cursor = next; show(); }
  };
  return drill && drill.answered === null ? {
    ArrowLeft: moveCursor(-1), ArrowRight: moveCursor(1), ArrowUp: moveCursor(-WIDTH), ArrowDown: moveCursor(WIDTH),
    Enter: () => answer(drill.cursor), Escape: () => go(drill.number),
  } : {
    ...moveKeys, n: () => goMistake(1), p: () => goMistake(-1), b: showBetter,
    t: () => byId("show-owners").click(), c: () => byId("show-candidates").click(), d: () => byId("drill").click(),
    Escape: () => (state.drill ? go(state.drill.number) : leaveLine()),
  };
}

function begin() {
  describeGame();
  drawChart();
  writeFigures();
  const moveKeys = bindMoves(go, step, () => N_MOVES);
  bindKeys(() => keys(moveKeys));
  byId("next-mistake").addEventListener("click", () => goMistake(1));
  byId("previous-mistake").addEventListener("click", () => goMistake(-1));
  byId("show-owners").addEventListener("click", () => { state.owners = !state.owners; show(); });
  byId("show-candidates").addEventListener("click", () => { state.candidates = !state.candidates; show(); });
  byId("drill").addEventListener("click", () => (state.drill ? go(state.drill.number) : startDrill()));
  for (const name of ["whose", "measure"]) byId(name).addEventListener("change", show);
  const root = byId("board");
  root.addEventListener("click", (event) => {
    const point = view.pointAt(event);
    if (point === null) return;
    if (state.drill) return answer(point);
    if (state.line) return step(1);
    const chosen = candidateAt(point);
    if (chosen) playLine(state.turn, chosen.pv);
  });
  bindMouse(root, (event) => {
    const chosen = event && !state.line && !state.drill && candidateAt(view.pointAt(event));
    if (chosen) preview(state.turn, chosen.pv); else view.clear("ghosts");
  });
  const asked = Number(location.hash.slice(1));
  state.turn = Number.isInteger(asked) && asked > 0 ? Math.min(N_MOVES, asked) : 0;
  byId("whose").value = review.player || "both";
  show();
}

begin();
